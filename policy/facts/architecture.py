"""The parts of a reference architecture that policy rules compare a stack with: its rows, each with a service.

Quorate's own files are read without validation: the tests validate them with the blueprint's models, and loading
pydantic costs a third of a second in every preview. The blueprint validates a user's own file first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from files import yaml_reader

CEPH = ("ceph-mon", "ceph-osd", "radosgw")
"""Services of Ceph, which a stack with an external Ceph does not run (source 004, 2.3)."""
FOLDER = Path(__file__).resolve().parents[2] / "blueprint" / "architecture"

_SERVER, _L2_AGENT, _CONTROLLER = "neutron-server", "neutron-l2-agent", "ovn-controller"
_AGENTS = ("neutron-dhcp-agent", "neutron-l3-agent", "neutron-metadata-agent")
_CENTRAL = {"ovn-nb": True, "ovn-sb": True, "ovn-northd": False}
"""Services of OVN beside Neutron's server, three instances of each, with whether they are a quorum
(docs/openstack.md#ovn)."""
_RELAY, _COMPUTES_EACH = "ovn-sb-relay", 50
"""The relays of OVN's southbound database, and the computes for each (docs/openstack.md#ovn)."""

T = TypeVar("T")


@dataclass(frozen=True)
class RequiredRow:
    """One row of a reference architecture's placement table: a service with its number of instances and its nodes.

    blueprint/architecture/model.py documents the fields.
    """

    row: str
    service: str
    instances: int | None
    shareable: bool
    load_balancer: bool
    footprint: str
    runs_on: tuple[str, ...]
    sources: tuple[str, ...]
    """Sections of the source documents that require the row, each as "<document>, <section>": `004, 5.3.12`."""
    at_least: bool = False
    minimum_workers: int | None = None
    dedicated_nodes: int = 0
    load_balancer_kind: str | None = None
    quorum: bool = False
    monitoring: bool = False
    node_role: str = "controller"
    admits: tuple[str, ...] = ()
    apart_from: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    everywhere: bool = False
    replaced_by: str | None = None

    @property
    def owner(self) -> bool:
        """Whether the service has dedicated nodes: a pool with its name."""
        return self.dedicated_nodes > 0

    def admits_guest(self, guest: RequiredRow) -> bool:
        """Whether the service of row `guest` may run on the nodes that are dedicated to this row's service."""
        light = guest.footprint == "light" and "light" in self.admits
        return light or "any" in self.admits or guest.service in (self.service, *self.admits)


@dataclass(frozen=True)
class LightFootprint:
    """The maximum requests of one instance of a service with a light footprint, in millicores and MiB."""

    cpu_m: int
    memory_mi: int


@dataclass(frozen=True)
class RequiredArchitecture:
    """A reference architecture, for up to `computes` compute nodes."""

    name: str
    computes: int
    dedicated_total: int
    light: LightFootprint
    rows: tuple[RequiredRow, ...]

    def without_ceph(self) -> RequiredArchitecture:
        """Returns what the architecture requires of a stack whose Ceph cluster is not its own: no row of Ceph."""
        rows = tuple(row for row in self.rows if row.service not in CEPH)
        freed = sum(row.dedicated_nodes for row in self.rows if row.service in CEPH)
        return replace(self, rows=rows, dedicated_total=self.dedicated_total - freed)

    def with_ovn(self) -> RequiredArchitecture:
        """Returns what the architecture requires of a stack with OVN, whose programs replace Neutron's agents."""

        def others(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(_CONTROLLER if each == _L2_AGENT else each for each in names if each not in _AGENTS)

        servers = [row for row in self.rows if row.service == _SERVER]
        if not servers:
            return self
        rows = tuple(
            replace(
                row,
                service=_CONTROLLER if row.service == _L2_AGENT else row.service,
                admits=others(row.admits),
                beside=others(row.beside),
            )
            for row in self.rows
            if row.service not in _AGENTS
        )
        central = tuple(
            RequiredRow(
                name, name, 3, True, False, "light", servers[0].runs_on, ("project, docs/openstack.md",), quorum=votes
            )
            for name, votes in _CENTRAL.items()
        )
        return replace(self, rows=(*rows, *central, *self._relays(servers[0].runs_on)))

    def _relays(self, pools: tuple[str, ...]) -> tuple[RequiredRow, ...]:
        """Returns the row of the relays of OVN's southbound database, if its three members would serve too many.

        The pools of Neutron's server come first, then those of other controllers that are open to light services.
        """
        wanted = math.ceil(self.computes / _COMPUTES_EACH)
        if wanted <= 3:
            return ()
        row = RequiredRow(_RELAY, _RELAY, wanted, True, False, "light", pools, ("project, docs/openstack.md",))
        others = [
            each.service
            for each in self.owners
            if each.service not in pools
            and not each.monitoring
            and each.node_role == "controller"
            and each.admits_guest(row)
        ]
        usable = (*pools, *others)
        nodes = sum(each.dedicated_nodes for each in self.owners if each.service in usable)
        return (replace(row, instances=min(wanted, nodes), at_least=True, runs_on=usable),)

    @property
    def owners(self) -> tuple[RequiredRow, ...]:
        """The rows whose services have dedicated nodes."""
        return tuple(row for row in self.rows if row.owner)


def is_built_in(name: str) -> bool:
    """Whether Quorate includes a reference architecture with this name, such as "300"."""
    return name in (path.stem for path in FOLDER.glob("*.yaml"))


@cache
def built_in(name: str) -> RequiredArchitecture:
    """Returns a reference architecture that Quorate includes, by its name, such as "300"."""
    return _read(FOLDER / f"{name}.yaml")


def read_all() -> None:
    """Reads all reference architectures that Quorate includes into the cache of `built_in`."""
    for path in FOLDER.glob("*.yaml"):
        built_in(path.stem)


def own(path: Path) -> RequiredArchitecture:
    """Reads a user's own architecture file. Raises ArchitectureError with every problem if the file is invalid."""
    from blueprint.architecture.loader import load_architecture  # noqa: PLC0415 - loads pydantic only if needed

    load_architecture(str(path))
    return _read(path)


def _read(path: Path) -> RequiredArchitecture:
    written: dict[str, Any] = yaml_reader.load(path.read_text(encoding="utf-8"))
    rows = tuple(
        _of(RequiredRow, {**each, "sources": [_section(one) for one in each["sources"]]}) for each in written["rows"]
    )
    return _of(RequiredArchitecture, {**written, "light": _of(LightFootprint, written["light"]), "rows": rows})


def _section(source: dict[str, str]) -> str:
    return f"{source['seed']}, {source['section']}"


def _of(kind: type[T], written: dict[str, Any]) -> T:
    """Creates an instance of dataclass `kind`.

    Keys of `written` that are not fields are ignored; lists become tuples.
    """
    names = {each.name for each in fields(kind)}  # pyright: ignore[reportArgumentType] - only dataclasses are given
    values = {key: value for key, value in written.items() if key in names}
    lists = {key: tuple(cast("list[str]", value)) for key, value in values.items() if isinstance(value, list)}
    return kind(**values | lists)
