"""`quorate topology`: shows which services Fuel-CCP topologies place on which nodes, and the topologies' errors.

Each file is an environment; several environments share the nodes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from blueprint.patterns import expand
from blueprint.topology import Placement, Topology, TopologyError, TopologyFinding, judge_together, place, read_topology


def show(files: Sequence[Path], nodes: Sequence[str], *, as_json: bool) -> int:
    """Prints the services that topologies place on nodes, and the findings. Returns 1 if a finding is an error."""
    environments = [_read(file, nodes) for file in files]
    findings = list(environments[0][1].findings)
    if len(environments) > 1:
        findings = [
            TopologyFinding(f.rule, f.severity, f"{topology.path}: {f.key}", f.message)
            for topology, placement in environments
            for f in placement.findings
        ] + judge_together(environments)
    print(_as_json(environments, findings) if as_json else _as_text(environments, findings))
    return 1 if any(finding.severity == "error" for finding in findings) else 0


def expand_nodes(text: str) -> list[str]:
    """Returns the node names of a comma-separated list; `node[1-3]` is three names.

    Raises ValueError if it is invalid.
    """
    names = [name for part in re.split(r",(?![^\[]*\])", text) for name in expand(part.strip())]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if not all(names) or any(" " in name for name in names):
        raise ValueError(f"'{text}' has an empty name or a blank in it; write node1,node2")
    if twice:
        raise ValueError(f"{', '.join(twice)} is repeated; write each node once")
    return names


def _read(file: Path, nodes: Sequence[str]) -> tuple[Topology, Placement]:
    try:
        topology = read_topology(file)
    except TopologyError as error:
        topology = error.topology
    return topology, place(topology, nodes)


def _as_json(environments: Sequence[tuple[Topology, Placement]], findings: Iterable[TopologyFinding]) -> str:
    placed = [
        {name: {"hosts": list(s.hosts), "replicas": s.replicas} for name, s in placement.services.items()}
        for _, placement in environments
    ]
    head: dict[str, object] = {"services": placed[0]}
    if len(placed) > 1:
        files = [str(topology.path) for topology, _ in environments]
        head = {"environments": {file: {"services": services} for file, services in zip(files, placed, strict=True)}}
    listed = [{"rule": f.rule, "severity": f.severity, "key": f.key, "message": str(f)} for f in findings]
    return json.dumps(head | {"findings": listed}, indent=2)


def _as_text(environments: Sequence[tuple[Topology, Placement]], findings: Iterable[TopologyFinding]) -> str:
    lines: list[str] = []
    for topology, placement in environments:
        rows = [("SERVICE", "KIND", "REPLICAS", "NODES")]
        rows += [(name, s.kind, str(s.replicas), ", ".join(s.hosts)) for name, s in placement.services.items()]
        name, kind, count = (max(len(row[column]) for row in rows) for column in range(3))
        lines += [f"{topology.path} (namespace {topology.namespace})"]
        lines += [f"{row[0]:{name}}  {row[1]:{kind}}  {row[2]:{count}}  {row[3]}" for row in rows]
        lines += [""]
    ranked = sorted(findings, key=lambda finding: finding.severity)
    lines += [f"{f.severity}: {f} [{f.rule}]" for f in ranked]
    refused = any(finding.severity == "error" for finding in ranked)
    count = "1 finding" if len(ranked) == 1 else f"{len(ranked)} findings"
    return "\n".join([*lines, f"{'refused' if refused else 'accepted'}, {count}"])
