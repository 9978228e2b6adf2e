"""`quorate topology`: shows what Fuel-CCP topologies become on some nodes, line by line, and the topologies' errors.

Each file is an environment; several environments share the nodes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from blueprint import topology_settings
from blueprint.patterns import expand
from blueprint.stackfile.further_clusters import GALERA
from blueprint.topology import (
    Placement,
    Topology,
    TopologyError,
    TopologyFinding,
    TopologyLine,
    judge_together,
    place,
    read_topology,
    report,
)
from commands.plan import topology_stack
from console.errors import UserError
from text.plural import pluralize
from text.quoting import printable


@dataclass(frozen=True)
class ReadTopology:
    """A topology on the nodes, and what each of its lines became."""

    topology: Topology
    placement: Placement
    lines: tuple[TopologyLine, ...]
    findings: tuple[TopologyFinding, ...]

    @property
    def refused(self) -> bool:
        """Whether no stack can be made of the topology."""
        return any(finding.severity == "error" for finding in self.findings)


def show(files: Sequence[Path], nodes: Sequence[str], *, as_json: bool) -> int:
    """Prints what topologies become on nodes, and the findings. Returns 1 if a stack cannot have one of them."""
    environments = [_read(file, nodes) for file in files]
    findings = list(environments[0].findings)
    if len(environments) > 1:
        findings = [
            TopologyFinding(f.rule, f.severity, f"{each.topology.path}: {f.key}", f.message)
            for each in environments
            for f in each.findings
        ] + judge_together([(each.topology, each.placement) for each in environments])
    print(_as_json(environments, findings) if as_json else _as_text(environments, findings))
    return 1 if any(finding.severity == "error" for finding in findings) else 0


def write_stack(files: Sequence[Path], nodes: Sequence[str]) -> int:
    """Prints the stack file of a topology. Raises UserError, with all that is refused, if it cannot be a stack's."""
    if len(files) > 1:
        raise UserError("--to-stack makes one stack of one FILE, and a stack is one environment; write one FILE")
    (environment,) = (_read(file, nodes) for file in files)
    if environment.refused:
        raise UserError("\n".join(str(finding) for finding in environment.findings if finding.severity == "error"))
    print(topology_stack.stack_file(files[0], nodes, environment.placement.configs), end="")
    return 0


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


def _read(file: Path, nodes: Sequence[str]) -> ReadTopology:
    try:
        topology = read_topology(file)
    except TopologyError as error:
        topology = error.topology
    placement = place(topology, nodes)
    wrong = (
        TopologyFinding("bad-config-value", "error", problem.key, problem.message)
        for problem in topology_settings.problems(placement.configs)
    )
    lines = report(topology, placement, nodes, f"-{GALERA.definition}")
    absent = (TopologyFinding(line.rule, "error", line.key, line.text) for line in lines if line.rule == "not-built")
    return ReadTopology(topology, placement, lines, (*placement.findings, *wrong, *absent))


def _as_json(environments: Sequence[ReadTopology], findings: Iterable[TopologyFinding]) -> str:
    shown: list[dict[str, object]] = [
        {
            "services": {
                name: {"hosts": list(s.hosts), "replicas": s.replicas} for name, s in each.placement.services.items()
            },
            "lines": [{"key": line.key, "fate": line.fate, "text": line.text} for line in each.lines],
        }
        for each in environments
    ]
    head: dict[str, object] = shown[0]
    if len(shown) > 1:
        files = [str(each.topology.path) for each in environments]
        head = {"environments": dict(zip(files, shown, strict=True))}
    listed = [{"rule": f.rule, "severity": f.severity, "key": f.key, "message": str(f)} for f in findings]
    return json.dumps(head | {"findings": listed}, indent=2)


def _as_text(environments: Sequence[ReadTopology], findings: Iterable[TopologyFinding]) -> str:
    text: list[str] = []
    for each in environments:
        rows = [("SERVICE", "KIND", "REPLICAS", "NODES")]
        rows += [(name, s.kind, str(s.replicas), ", ".join(s.hosts)) for name, s in each.placement.services.items()]
        text += [f"{each.topology.path} (namespace {each.topology.namespace})", *_table(rows), ""]
        text += [*_table([("LINE", "FATE", "WHAT"), *((line.key, line.fate, line.text) for line in each.lines)]), ""]
    ranked = sorted(findings, key=lambda finding: finding.severity)
    text += [f"{f.severity}: {f} [{f.rule}]" for f in ranked]
    refused = any(finding.severity == "error" for finding in ranked)
    return "\n".join([*text, f"{'refused' if refused else 'accepted'}, {pluralize(len(ranked), 'finding')}"])


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Returns the rows as lines with aligned columns, the last as it is. Texts of a file are made printable."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        printable("  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]), kept="")
        for row in rows
    ]
