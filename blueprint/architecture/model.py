"""The reference architectures as models: how many instances each service has, and which services may share its nodes.

This module defines the form of an architecture file. loader.py reads a file, constraints.py checks it, and the planner
applies it to the servers of a stack.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from blueprint.architecture.hardware import Hardware
from blueprint.source import Count, Facts, Source, Text


class Row(Facts):
    """One line of the placement table, with what the text adds to it."""

    row: Text
    """The name as written in the table."""
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
    """Other services that its dedicated nodes admit: "light", "any" or names; empty: none."""
    runs_on: Annotated[tuple[Text, ...], Field(min_length=1)]
    """The pools it may run on, its home first; a service with nodes of its own has its own pool alone."""
    apart_from: tuple[Text, ...] = ()
    """Services that never share a node with it."""
    beside: tuple[Text, ...] = ()
    """Services that run on every node with an instance of it."""
    everywhere: bool = False
    """One on every node of its pools."""
    replaced_by: Text | None = None
    """The service that replaced it; the row then has no workload."""
    today: Text | None = None
    """What runs in this row now, if it differs from what source 004 names."""
    in_table: bool = True
    """False: a service that source 004's table does not have."""
    table_instances: int | None
    """The table's own cells: None where the table has a dot, or where the cell is lost."""
    table_shareable: bool | None
    table_load_balancer: bool | None
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]
    note: str = ""
    """Where table and text disagree: which was followed, and why."""

    @property
    def owner(self) -> bool:
        """Whether the row has dedicated nodes, and so a pool named after its service."""
        return self.dedicated_nodes > 0

    def admits_guest(self, guest: Row) -> bool:
        """Whether the guest may run on this service's dedicated nodes."""
        light = guest.footprint == "light" and "light" in self.admits
        return light or "any" in self.admits or guest.service in (self.service, *self.admits)


class Light(Facts):
    """What one instance of a service with a light footprint requests at most: millicores and MiB."""

    cpu_m: Count
    memory_mi: Count
    source: Source


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
    light: Light
    rows: Annotated[tuple[Row, ...], Field(min_length=1)]
    retired: tuple[Retired, ...] = ()
    hardware: Hardware | None = None
    """The lab that it was tested on; a file of a user's own may leave it out."""

    def row(self, service: str) -> Row:
        """Returns the row of a service. Raises KeyError if there is none."""
        for row in self.rows:
            if row.service == service:
                return row
        known = ", ".join(row.service for row in self.rows)
        raise KeyError(f"architecture {self.name} has no service '{service}'; it has {known}")

    @property
    def owners(self) -> tuple[Row, ...]:
        """The rows with dedicated nodes."""
        return tuple(row for row in self.rows if row.owner)
