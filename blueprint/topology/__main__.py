"""`python -m blueprint.topology FILE… --nodes node1,node2 [--json]`: shows what a topology places on nodes.

Exit status: 0 where the topology is accepted (warnings may stand), 1 where it is refused, 2 for wrong arguments.
Several files are environments that share the nodes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from blueprint.patterns import expand
from blueprint.topology import Finding, Placement, Topology, TopologyError, judge_together, place, read_topology


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m blueprint.topology",
        description="Shows what a Fuel-CCP topology places on nodes, and everything that is wrong with it.",
    )
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help="several are environments on these nodes")
    parser.add_argument("--nodes", type=_nodes, required=True, help="names with commas between; node[1-3] is three")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args(arguments)
    environments = [_read(file, options.nodes) for file in options.files]
    findings = list(environments[0][1].findings)
    if len(environments) > 1:
        findings = [
            Finding(f.rule, f.severity, f"{topology.path}: {f.key}", f.message)
            for topology, placement in environments
            for f in placement.findings
        ] + judge_together(environments)
    print(_as_json(environments, findings) if options.json else _as_text(environments, findings))
    return 1 if any(finding.severity == "error" for finding in findings) else 0


def _nodes(text: str) -> list[str]:
    """Names of nodes; brackets as in a stack file. Raises argparse's error for what is none."""
    try:
        names = [name for part in re.split(r",(?![^\[]*\])", text) for name in expand(part.strip())]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    twice = [name for name, count in Counter(names).items() if count > 1]
    if not all(names) or any(" " in name for name in names):
        raise argparse.ArgumentTypeError(f"'{text}' has an empty name or a blank in it; write node1,node2")
    if twice:
        raise argparse.ArgumentTypeError(f"{', '.join(twice)} stands twice; write each node once")
    return names


def _read(file: Path, nodes: Sequence[str]) -> tuple[Topology, Placement]:
    try:
        topology = read_topology(file)
    except TopologyError as error:
        topology = error.topology
    return topology, place(topology, nodes)


def _as_json(environments: Sequence[tuple[Topology, Placement]], findings: Iterable[Finding]) -> str:
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


def _as_text(environments: Sequence[tuple[Topology, Placement]], findings: Iterable[Finding]) -> str:
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


if __name__ == "__main__":
    sys.exit(main())
