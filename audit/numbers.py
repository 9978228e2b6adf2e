"""Where every number of a stack comes from: a row of the reference architecture, the stack file, or its override."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from audit.plan import PlanFile
from audit.positions import StackFile
from audit.result import Audit
from policy.facts.placement_map import Placed


@dataclass(frozen=True)
class Number:
    """A number as the resources have it, and who says so."""

    what: str
    value: int
    origin: str
    """What decided it: `row`, `override`, `topology`, `servers` or `program`."""
    source: str
    line: int | None = None
    """Of the stack file, where it stands there."""


def numbers(audit: Audit, file: StackFile, plan: PlanFile) -> Iterator[Number]:
    """Instances of each workload, then nodes of each pool."""
    placement = audit.placement
    if placement is None:
        return
    for placed in sorted(placement.placed, key=lambda each: each.name):
        yield _instances(audit, placed, file, plan)
    servers = file.line("quorate:servers")
    origin = "servers" if servers else "program"
    said = "the servers of the stack file, by their roles" if servers else "the program"
    for pool, count in sorted(Counter(node.pool for node in placement.nodes).items()):
        yield Number(f"nodes of pool {pool}" if pool else "nodes of no pool", count, origin, said, servers)


def _instances(audit: Audit, placed: Placed, file: StackFile, plan: PlanFile) -> Number:
    what = f"{'members' if placed.quorum else 'instances'} of {placed.name}"
    row = f"row {placed.row} of architecture {audit.architecture}: {plan.sources.get(placed.service, '')}"
    key = f"quorate:services.{placed.service}.replicas"
    if line := file.line(key):
        return Number(what, placed.count, "override", f"{key}, over {row}", line)
    if placed.service not in plan.sources:
        servers = file.line("quorate:servers") if placed.quorum == "etcd" else None
        if servers:
            return Number(what, placed.count, "servers", "one on each server of role master: 004, 5.5.4", servers)
        return Number(what, placed.count, "program", "the program; no row of a reference architecture")
    if line := file.line("quorate:topology"):
        return Number(what, placed.count, "topology", f"the topology file, for {row}", line)
    if placed.everywhere:
        return Number(
            what, placed.count, "row", f"one on each node that may run it; {row}", file.line("quorate:servers")
        )
    return Number(what, placed.count, "row", row, file.line("quorate:architecture"))
