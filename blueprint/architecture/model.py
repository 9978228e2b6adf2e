"""The reference architectures: their model and their loader.

A reference architecture says for every OpenStack service how many instances it has, which nodes are kept for it, who
may share them, and where the seed says so. This module owns the form of those files; what a file must not contradict
is in architecture_checks.py, what the servers at hand can carry in placement.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import yaml
from pydantic import Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from blueprint.architecture import checks
from blueprint.architecture.hardware import Hardware
from blueprint.problems import InvalidStackError, Problem
from blueprint.source import Count, Facts, Source, Text
from blueprint.stackfile import explain, reader

NAMES = ("100", "300", "500", "1000")
"""The architectures that come with Quorate, smallest first."""

FOLDER = Path(__file__).parent


class ArchitectureError(InvalidStackError):
    """An architecture that cannot be used as written; `problems` has every reason."""


class Row(Facts):
    """One line of the placement table, with what the text adds to it."""

    row: Text
    """The name as it stands in the table."""
    service: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
    instances: Count | None
    """None: one on every node of its pools."""
    at_least: bool = False
    """The text says "at least" so many."""
    minimum_workers: Count | None = None
    """Worker threads that each instance must have."""
    dedicated_nodes: Annotated[int, Field(ge=0)] = 0
    shareable: bool
    load_balancer: bool
    load_balancer_kind: Literal["proxysql"] | None = None
    """Where the load balancer must be of a special kind."""
    footprint: Literal["light", "heavy"]
    quorum: bool = False
    monitoring: bool = False
    """Runs on nodes of role monitoring where a stack has them."""
    node_role: Literal["controller", "compute", "storage"] = "controller"
    admits: tuple[Text, ...] = ()
    """Whom its own nodes admit: "light", "any" or services by name; empty: nobody."""
    runs_on: Annotated[tuple[Text, ...], Field(min_length=1)]
    """The pools it may run on, its home first; a service with nodes of its own has its own pool alone."""
    apart_from: tuple[Text, ...] = ()
    """Services that never share a node with it."""
    everywhere: bool = False
    """One on every node of its pools."""
    replaced_by: Text | None = None
    """What took its place; the row then has no workload."""
    today: Text | None = None
    """What runs in this row now, where that is not what the seed names."""
    in_table: bool = True
    """False: a service that the seed's table does not have."""
    table_instances: int | None
    """The table's own cells: None where the table has a dot, or where the cell is lost."""
    table_shareable: bool | None
    table_load_balancer: bool | None
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]
    note: str = ""
    """Where table and text disagree: which was followed, and why."""

    @property
    def owner(self) -> bool:
        """Whether nodes are kept for it: a pool of its own name."""
        return self.dedicated_nodes > 0

    def admits_guest(self, guest: Row) -> bool:
        """Whether the guest may run on this service's own nodes."""
        light = guest.footprint == "light" and "light" in self.admits
        return light or "any" in self.admits or guest.service in (self.service, *self.admits)


class Retired(Facts):
    """A service that upstream no longer has."""

    service: Text
    replaced_by: Text
    why: Text
    source: Source


class Architecture(Facts):
    """A reference architecture, for up to `computes` compute nodes."""

    name: Text
    computes: Count
    dedicated_total: Annotated[int, Field(ge=0)]
    source: Source
    note: str = ""
    rows: Annotated[tuple[Row, ...], Field(min_length=1)]
    retired: tuple[Retired, ...] = ()
    hardware: Hardware | None = None
    """The lab that it was tested on; a file of a user's own may leave it out."""

    def row(self, service: str) -> Row:
        """The row of a service; KeyError where it has none."""
        for row in self.rows:
            if row.service == service:
                return row
        known = ", ".join(row.service for row in self.rows)
        raise KeyError(f"architecture {self.name} has no service '{service}'; it has {known}")

    @property
    def owners(self) -> tuple[Row, ...]:
        """The rows that nodes are kept for."""
        return tuple(row for row in self.rows if row.owner)


def for_computes(computes: int) -> str:
    """The name of the smallest architecture that is not smaller than so many computes."""
    sizes = {name: load_architecture(name).computes for name in NAMES}
    for name, size in sizes.items():
        if computes <= size:
            return name
    raise _error(
        "quorate:architecture",
        f"{computes} computes are more than the largest reference architecture has ({max(sizes.values())}); "
        "divide them over several stacks, or write the path of an architecture of your own",
    )


def load_architecture(name_or_path: str) -> Architecture:
    """An architecture by its name ("100", "300", "500", "1000"), or a user's own file of the same form.

    Raises ArchitectureError with every problem of the file.
    """
    if name_or_path in NAMES:
        return _load_ours(name_or_path)
    return _load(Path(name_or_path))


@cache
def _load_ours(name: str) -> Architecture:
    return _load(FOLDER / f"{name}.yaml")


def _load(path: Path) -> Architecture:
    data = _read(path)
    architecture, errors = _parse(data)
    problems = checks.shape(str(path), data, errors)
    if architecture is not None:
        problems += checks.sense(str(path), architecture)
    else:
        # What stands beside a broken row is judged as well: one run, all problems.
        rest, _ = _parse(explain.without_broken(data, errors))
        problems += checks.sense(str(path), rest, whole=False) if rest is not None else []
    if architecture is None or problems:
        raise ArchitectureError(problems)
    return architecture


def _read(path: Path) -> dict[str, Any]:
    try:
        loader = reader.LOADER(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        # Of two equal keys YAML takes the last in silence.
        problems = checks.twins(str(path), node)
        data: object = loader.construct_document(node) if node else None  # pyright: ignore[reportUnknownMemberType]
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is no text"
        names = ", ".join(f'"{name}"' for name in NAMES)
        raise _error(str(path), f"cannot be read: {reason}; write {names} or the path of a YAML file") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _error(str(path), f"is no YAML: {error}; mend it there") from None
    if not isinstance(data, dict):
        raise _error(str(path), f"is no mapping; write it in the form of {FOLDER / '100.yaml'}")
    if problems:
        raise ArchitectureError(problems)
    return cast("dict[str, Any]", data)


def _parse(data: dict[str, Any]) -> tuple[Architecture | None, Sequence[ErrorDetails]]:
    try:
        # Through JSON: strict mode takes a list for a tuple only from there.
        return Architecture.model_validate_json(reader.to_json(data)), ()
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _error(key: str, message: str) -> ArchitectureError:
    return ArchitectureError([Problem(key, message)])
