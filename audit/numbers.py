"""Lists the numbers of a stack with their sources, and compares each service's row in the architecture with the plan.

Numbers are instances of workloads and nodes of pools. The source of a number is a row of the reference architecture,
the stack file, or the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass

from audit.plan import PlanFile, PlannedService
from audit.positions import StackFile
from audit.result import Audit
from policy.facts.placement.placement_map import Placed


@dataclass(frozen=True)
class Number:
    """A number of instances or nodes in the resources, and the source that determines it."""

    what: str
    value: int
    origin: str
    """The kind of source that determines the number: `row`, `override`, `topology`, `servers` or `program`."""
    source: str
    line: int | None = None
    """Line of the stack file that sets the number; None if the stack file does not contain it."""


@dataclass(frozen=True)
class Cell:
    """A value of a service in the reference architecture's table, and the planned value."""

    table: str
    planned: str
    differs: bool
    """Whether the table has a value and the plan differs from it."""


@dataclass(frozen=True)
class TableRow:
    """A service's row in the architecture's table, beside the planned values for the same columns."""

    service: str
    row: str
    in_table: bool
    """Whether the architecture's table has a row for the service."""
    cells: tuple[Cell, ...]
    source: str
    replaced_by: str | None
    """The service that replaces this retired service, which is not deployed; None for a service that is not retired."""


def numbers(audit: Audit, file: StackFile, plan: PlanFile) -> Iterator[Number]:
    """Yields the number of instances of each workload, then the number of nodes of each pool."""
    placement = audit.placement
    if placement is None:
        return
    for placed in sorted(placement.placed, key=lambda each: each.name):
        yield _instances(audit, placed, file, plan)
    servers = file.line("quorate:servers")
    origin = "servers" if servers else "program"
    source = "the servers of the stack file, by their roles" if servers else "the program"
    for pool, count in sorted(Counter(node.pool for node in placement.nodes).items()):
        yield Number(f"nodes of pool {pool}" if pool else "machines of no pool", count, origin, source, servers)


def table_rows(plan: PlanFile) -> list[TableRow]:
    """Returns the rows of the reference architecture's table with the planned values, in the order of the table."""
    return [_table_row(service) for service in plan.services.values()]


def _instances(audit: Audit, placed: Placed, file: StackFile, plan: PlanFile) -> Number:
    what = f"{'members' if placed.quorum else 'instances'} of {placed.name}"
    planned = plan.services.get(placed.service)
    row = f"row {placed.row} of architecture {audit.architecture}: {planned.source if planned else ''}"
    key = f"quorate:services.{placed.service}.replicas"
    if line := file.line(key):
        return Number(what, placed.count, "override", f"{key}, over {row}", line)
    if planned is None:
        servers = file.line("quorate:servers") if placed.quorum == "etcd" else None
        if servers:
            return Number(
                what,
                placed.count,
                "servers",
                "one on each server of role etcd, or else of role master: 004, 5.5.4",
                servers,
            )
        return Number(what, placed.count, "program", "the program; no row of a reference architecture")
    if line := file.line("quorate:topology"):
        return Number(what, placed.count, "topology", f"the topology file, for {row}", line)
    if placed.everywhere:
        return Number(
            what, placed.count, "row", f"one on each node that may run it; {row}", file.line("quorate:servers")
        )
    return Number(what, placed.count, "row", row, file.line("quorate:architecture"))


def _table_row(service: PlannedService) -> TableRow:
    pairs = zip(astuple(service.table), astuple(service.planned), strict=True)
    cells = tuple(
        Cell(_text(table), _text(planned), differs=table is not None and table != planned) for table, planned in pairs
    )
    in_table = not service.table.are_empty
    return TableRow(service.name, service.row, in_table, cells, service.source, service.replaced_by)


def _text(value: bool | int | None) -> str:
    """Returns the text of a table cell: yes or no, a number, or a dash for None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else str(value)
