"""Defines the form of an architecture file: each service's instances, nodes, and services that may share its nodes.

loader.py reads an architecture file, constraints.py checks it, and the planner applies it to the servers of a stack.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from blueprint.architecture.hardware import Hardware
from blueprint.source import Count, DataModel, Source, Text


class Row(DataModel):
    """One row of a reference architecture: a service, with its line in source document 004's placement table.

    The text of the document adds some of the values.
    """

    row: Text
    """The name of the row, as written in source document 004's table."""
    service: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
    instances: Count | None
    """Number of instances; None for one instance on every node of the pools in `runs_on`."""
    at_least: bool = False
    """Whether `instances` is a minimum: source document 004 says "at least", or that the service scales by adding
    instances."""
    minimum_workers: Count | None = None
    """Minimum number of worker threads of each instance; None without such a requirement."""
    dedicated_nodes: Annotated[int, Field(ge=0)] = 0
    shareable: bool
    load_balancer: bool
    load_balancer_kind: Literal["proxysql"] | None = None
    """The special kind of load balancer that the service requires; None if any load balancer is enough."""
    footprint: Literal["light", "heavy"]
    quorum: bool = False
    monitoring: bool = False
    """Whether the service runs on nodes with the role monitoring, if a stack has such nodes."""
    node_role: Literal["controller", "compute", "storage"] = "controller"
    admits: tuple[Text, ...] = ()
    """Other services that may run on this service's dedicated nodes: "light", "any", names of services, or none."""
    runs_on: Annotated[tuple[Text, ...], Field(min_length=1)]
    """The pools that the service may run on, its home pool first.

    A service with dedicated nodes has only its own pool.
    """
    apart_from: tuple[Text, ...] = ()
    """Services that must not share a node with this service."""
    beside: tuple[Text, ...] = ()
    """Services that must run on every node that has an instance of this service."""
    everywhere: bool = False
    """Whether one instance of the service runs on every node of the pools in `runs_on`."""
    replaced_by: Text | None = None
    """The service that replaces this retired service, which then has no workload; None if it is not retired."""
    today: Text | None = None
    """The program that runs in place of the one that source document 004 names; None if it is the same."""
    in_table: bool = True
    """Whether source document 004's table has a line for the service."""
    table_instances: int | None
    """The cells of the table, here and in the next two fields: None for a dot in the table or a lost cell."""
    table_shareable: bool | None
    table_load_balancer: bool | None
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]
    note: str = ""
    """If the document's table and text contradict each other: which of them the row follows, and why."""

    @property
    def owner(self) -> bool:
        """Whether the row has dedicated nodes, which form a pool named after its service."""
        return self.dedicated_nodes > 0

    def admits_guest(self, guest: Row) -> bool:
        """Whether the service of row `guest` may run on the nodes that are dedicated to this row's service."""
        light = guest.footprint == "light" and "light" in self.admits
        return light or "any" in self.admits or guest.service in (self.service, *self.admits)


class Light(DataModel):
    """The maximum requests of one instance of a service with a light footprint, in millicores and MiB."""

    cpu_m: Count
    memory_mi: Count
    source: Source


class Retired(DataModel):
    """A service of source document 004 that OpenStack no longer has, with its replacement and the reason."""

    service: Text
    replaced_by: Text
    why: Text
    source: Source


class Architecture(DataModel):
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
    """The hardware of the lab on which the architecture was tested; optional in a user's own file."""

    def row(self, service: str) -> Row:
        """Returns the row of a service. Raises KeyError if there is none."""
        for row in self.rows:
            if row.service == service:
                return row
        known = ", ".join(row.service for row in self.rows)
        raise KeyError(f"architecture {self.name} has no service '{service}'; it has {known}")

    def without(self, services: Collection[str]) -> Architecture:
        """Returns the architecture of a stack that does not run these services, and dedicates no nodes to them."""

        def others(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name for name in names if name not in services)

        rows = tuple(
            row.model_copy(update={"beside": others(row.beside), "apart_from": others(row.apart_from)})
            for row in self.rows
            if row.service not in services
        )
        freed = sum(row.dedicated_nodes for row in self.rows if row.service in services)
        return self.model_copy(update={"rows": rows, "dedicated_total": self.dedicated_total - freed})

    @property
    def owners(self) -> tuple[Row, ...]:
        """The rows whose services have dedicated nodes."""
        return tuple(row for row in self.rows if row.owner)
