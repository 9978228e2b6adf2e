"""Checks an architecture file. Each reported problem names a row of the file and the text to write instead.

`shape` reports keys and values of a wrong form. `sense` reports contradictions between rows: counts that do not add up,
pools whose owner does not admit a service, services that must be apart but share a pool, more instances than nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, cast

from pydantic_core import ErrorDetails

from blueprint.architecture.model import Architecture, Row
from blueprint.model_errors import expected
from blueprint.problems import Problem, shown
from text.plural import pluralize
from text.suggestion import did_you_mean

COMMON_POOLS = ("controller", "monitoring", "compute", "storage")
"""Pools that are not dedicated to one service: spare controllers, monitoring, compute and storage nodes."""
QUORUM = 3
"""The minimum number of members with which a quorum keeps its majority when one member fails."""


def shape(file: str, data: Mapping[str, Any], errors: Sequence[ErrorDetails]) -> list[Problem]:
    """Converts pydantic's errors about an architecture file (`data`) to problems that name the file's keys."""
    return [_shape(file, data, error) for error in errors]


def _shape(file: str, data: Mapping[str, Any], error: ErrorDetails) -> Problem:
    loc, kind = error["loc"], error["type"]
    if kind == "extra_forbidden":
        return Problem(_key(file, data, loc), "is not known; leave it out, or write the key that was meant")
    if kind == "missing":
        return Problem(_key(file, data, loc), "is missing; write it (docs/architectures.md says what it means)")
    return Problem(_key(file, data, loc), f"{shown(error['input'])} does not fit; write {expected(error)}")


def _key(file: str, data: Mapping[str, Any], loc: Sequence[int | str]) -> str:
    """Returns the key of an error for a message, such as `own.yaml, row keystone-all, instances`.

    For a row without a name, the key contains the row's number, from 1.
    """
    if len(loc) > 1 and loc[0] == "rows" and isinstance(loc[1], int):
        row = data["rows"][loc[1]]
        name = cast("dict[str, Any]", row).get("row") if isinstance(row, dict) else None
        return ", ".join([file, f"row {name or loc[1] + 1}", *_dotted(loc[2:])])
    return ", ".join([file, *_dotted(loc)])


def _dotted(loc: Sequence[int | str]) -> list[str]:
    return [".".join(str(part) for part in loc)] if loc else []


def sense(file: str, architecture: Architecture, *, whole: bool = True) -> list[Problem]:
    """Returns problems for contradictions in an architecture file.

    `whole`: all rows could be read, so that a name of a service without a row is an error.
    """
    problems: list[Problem] = []
    rows = architecture.rows
    if whole:
        problems += _total(file, architecture)
        problems += _retired(file, architecture)
    problems += _unique(file, "row", [row.row for row in rows])
    problems += _unique(file, "service", [row.service for row in rows])
    by_service = {row.service: row for row in rows}
    for row in rows:
        key = f"{file}, row {row.row}"
        problems += [Problem(key, message) for message in _own(row)]
        problems += [Problem(key, message) for message in _pools(row, by_service)]
        if whole:
            problems += [Problem(key, message) for message in _names(row, by_service)]
            problems += [Problem(key, message) for message in _room(row, by_service)]
            problems += [Problem(key, message) for message in _beside(row, by_service)]
    problems += _apart(file, rows)
    return problems


def _total(file: str, architecture: Architecture) -> Iterator[Problem]:
    total = sum(row.dedicated_nodes for row in architecture.rows)
    if total != architecture.dedicated_total:
        wrong = f"is {architecture.dedicated_total}, the rows dedicate {total}"
        yield Problem(f"{file}, dedicated_total", f"{wrong}; write {total}, or fix dedicated_nodes of a row")


def _retired(file: str, architecture: Architecture) -> Iterator[Problem]:
    entries = {entry.service: entry.replaced_by for entry in architecture.retired}
    alive = {row.service for row in architecture.rows if row.replaced_by is None}
    for row in architecture.rows:
        if row.replaced_by is not None and entries.get(row.service) != row.replaced_by:
            wrong = f"is replaced by {row.replaced_by}, `retired` does not say so"
            yield Problem(f"{file}, row {row.row}", f"{wrong}; write the same under `retired`, with the reason")
        if row.replaced_by is None and row.service in entries:
            wrong = "is under `retired`, its row is not"
            yield Problem(f"{file}, row {row.row}", f"{wrong}; write replaced_by: {entries[row.service]} in the row")
    for entry in architecture.retired:
        if entry.replaced_by not in alive:
            wrong = f"'{entry.replaced_by}' is not a service that runs{did_you_mean(entry.replaced_by, sorted(alive))}"
            yield Problem(f"{file}, retired {entry.service}", f"{wrong}; write one of: {', '.join(sorted(alive))}")


def _unique(file: str, what: str, names: Sequence[str]) -> Iterator[Problem]:
    for name, count in Counter(names).items():
        if count > 1:
            yield Problem(f"{file}, {what} {name}", f"is listed {count} times; write each {what} once")


def _own(row: Row) -> Iterator[str]:
    """Yields a message for each contradiction between values of one row."""
    if row.everywhere and row.instances is not None:
        yield f"runs everywhere and has {row.instances} instances; write instances: null, or everywhere: false"
    if not row.everywhere and row.instances is None:
        yield "has no number of instances; write one, or everywhere: true"
    if row.everywhere and row.owner:
        yield "runs everywhere and has dedicated nodes; write dedicated_nodes: 0"
    if row.owner and row.runs_on != (row.service,):
        yield f"has dedicated nodes and runs on {', '.join(row.runs_on)}; write runs_on: [{row.service}]"
    if row.owner and row.shareable != bool(row.admits):
        yield _sharing(row)
    if not row.owner and row.admits and not row.everywhere:
        yield "admits others, and has no nodes of its own; write dedicated_nodes, or leave admits out"
    if not row.owner and not row.everywhere and not row.shareable:
        yield "may not share a node, and has none of its own; write dedicated_nodes, or shareable: true"
    if row.quorum and row.instances is not None and row.instances < QUORUM:
        yield f"keeps a quorum with {row.instances} instances, which cannot lose one; write {QUORUM} or more"
    if len(set(row.runs_on)) < len(row.runs_on):
        yield "names a pool twice in runs_on; write each once"


def _sharing(row: Row) -> str:
    if row.shareable:
        return "is shareable and admits no service; write admits: [light], [any] or services, or shareable: false"
    return f"is not shareable and admits {', '.join(row.admits)}; write shareable: true, or leave admits out"


def _names(row: Row, by_service: Mapping[str, Row]) -> Iterator[str]:
    """Yields a message for each service or pool that the row names and that does not exist."""
    services = sorted(by_service)
    for name in row.admits:
        if name not in ("light", "any", *services):
            hint = did_you_mean(name, services)
            yield f"admits '{name}', which is not a service{hint}; write light, any or a service"
    for name in row.apart_from:
        if name not in services:
            yield f"is apart from '{name}', which is not a service{did_you_mean(name, services)}; write a service"
    for name in row.beside:
        if name not in services:
            yield f"must be beside '{name}', which is not a service{did_you_mean(name, services)}; write a service"
    pools = [*(service for service in services if by_service[service].owner), *COMMON_POOLS]
    for name in row.runs_on:
        if name not in pools:
            yield f"runs on '{name}', which is not a pool{did_you_mean(name, pools)}; write one of: {', '.join(pools)}"


def _pools(row: Row, by_service: Mapping[str, Row]) -> Iterator[str]:
    """Yields a message for each pool in the row's runs_on whose dedicated nodes do not admit the row's service."""
    for pool in row.runs_on:
        for owner in _owners(pool, by_service):
            if not owner.admits_guest(row):
                admitted = ", ".join(owner.admits) or "no other service"
                yield (
                    f"runs on {pool}, whose nodes admit {admitted} while it is {row.footprint}; remove {pool} from its "
                    f"runs_on, or write {row.service} into admits of row {owner.row}"
                )


def _owners(pool: str, by_service: Mapping[str, Row]) -> Iterator[Row]:
    owner = by_service.get(pool)
    if owner is not None and owner.owner:
        yield owner
    # A common pool is not dedicated, but a service that runs on all of its nodes and may not share excludes others too.
    if pool in COMMON_POOLS:
        yield from (row for row in by_service.values() if row.everywhere and not row.shareable and pool in row.runs_on)


def _room(row: Row, by_service: Mapping[str, Row]) -> Iterator[str]:
    """Yields a message if the row has more instances than dedicated nodes in the pools that it runs on.

    The planner checks rows that run on a common pool, whose size depends on the stack.
    """
    if row.instances is None or any(pool in COMMON_POOLS for pool in row.runs_on):
        return
    nodes = sum(by_service[pool].dedicated_nodes for pool in row.runs_on if pool in by_service)
    if row.instances > nodes:
        wrong = (
            f"has {row.instances} instances, one per node, and {pluralize(nodes, 'node')} ({', '.join(row.runs_on)})"
        )
        yield f"{wrong}; write fewer instances, more dedicated_nodes, or a further pool into runs_on"


def _beside(row: Row, by_service: Mapping[str, Row]) -> Iterator[str]:
    """Yields a message for each service in the row's `beside` that can be absent from a node of the row.

    The planner checks common pools, whose size depends on the stack.
    """
    for other in (by_service[name] for name in row.beside if name in by_service):
        if away := [pool for pool in row.runs_on if pool not in other.runs_on]:
            wrong = f"must be beside {other.row}, which does not run on {', '.join(away)}"
            yield f"{wrong}; write the same pools into runs_on of both"
        elif other.instances is not None and not any(pool in COMMON_POOLS for pool in other.runs_on):
            nodes = sum(by_service[pool].dedicated_nodes for pool in other.runs_on if pool in by_service)
            if other.instances < nodes:
                wrong = (
                    f"must be beside {other.row}, which has {pluralize(other.instances, 'instance')} on {nodes} nodes"
                )
                yield f"{wrong}; write {nodes} instances, or a pool of {other.instances} nodes into runs_on of both"


def _apart(file: str, rows: Sequence[Row]) -> Iterator[Problem]:
    for one, other in combinations(rows, 2):
        if other.service in one.apart_from or one.service in other.apart_from:
            common = [pool for pool in one.runs_on if pool in other.runs_on]
            if common:
                wrong = f"must be apart from {other.row}, and both run on {', '.join(common)}"
                yield Problem(f"{file}, row {one.row}", f"{wrong}; remove it from runs_on of one of them")
