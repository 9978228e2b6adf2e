"""`plan(settings)`: which instance of which service may run where, and what is missing.

Deterministic: the same settings give the same plan, byte for byte; renaming machines changes nothing but names; adding
a compute moves no control-plane service. The plan decides all placement; components build what it says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from blueprint import pools, quorum, witness
from blueprint.architecture import Architecture, ArchitectureError, Row, for_computes, load_architecture
from blueprint.explain import did_you_mean
from blueprint.inventory import FEATURE, Machine, machines
from blueprint.models import Override, Settings
from blueprint.nodes import COMPUTE, CONTROLLER, MASTER, MONITORING, STORAGE, Node
from blueprint.problems import Problem, Refused
from blueprint.sizing import load_sizing
from blueprint.witness import Assignment

VERSION = 1
"""Of plan.json. Rises when a reader of the old form would misread the new one."""


@dataclass(frozen=True)
class ServicePlan:
    """A row of the architecture in this stack: how many instances, on which pools."""

    name: str
    row: str
    instances: int
    dedicated_nodes: int
    shareable: bool
    load_balancer: bool
    pools: tuple[str, ...]
    """Pools it may run on, its home first."""
    everywhere: bool
    quorum: bool
    apart_from: tuple[str, ...]
    replaced_by: str | None
    override: Override
    source: str

    @property
    def pool(self) -> str:
        """Its home: the pool it owns, or the first that admits it."""
        return self.pools[0]


@dataclass(frozen=True)
class Plan:
    """Everything that the components need to know, decided."""

    settings: Settings
    architecture: Architecture
    hosts: tuple[Machine, ...]
    """Servers of role virt: they carry virtual machines, and are nodes only where they are computes as well."""
    nodes: tuple[Node, ...]
    services: tuple[ServicePlan, ...]
    witness: tuple[Assignment, ...]
    warnings: tuple[str, ...]

    @property
    def masters(self) -> tuple[Node, ...]:
        """The Kubernetes masters, each a member of etcd."""
        return tuple(node for node in self.nodes if node.pool == MASTER)

    def pool(self, name: str) -> tuple[Node, ...]:
        """The nodes of a pool."""
        return tuple(node for node in self.nodes if node.pool == name)

    def to_json(self) -> str:
        """plan.json: stable order, a final newline."""
        document = {
            "version": VERSION,
            "architecture": self.architecture.name,
            "profile": self.settings.profile,
            "release": self.settings.release,
            "target": self.settings.target,
            "warnings": list(self.warnings),
            "nodes": [_node(node) for node in self.nodes],
            "services": [_service(service) for service in self.services],
            "witness": [{"service": a.service, "node": a.node, "server": a.server} for a in self.witness],
        }
        return json.dumps(document, indent=1) + "\n"

    def write(self, path: Path) -> None:
        """Writes plan.json whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        unfinished.write_text(self.to_json(), encoding="utf-8")
        unfinished.replace(path)


def plan(settings: Settings) -> Plan:
    """The plan of a stack. Raises Refused with everything that does not fit."""
    inventory = machines(settings)
    architecture = _architecture(settings, inventory)
    problems = _override_problems(settings, architecture)
    problems += quorum.problems(settings, architecture, inventory)
    nodes, shortage = pools.deal(inventory, architecture, _dedicated(settings, architecture))
    problems += shortage
    services = tuple(_service_plan(row, settings, nodes) for row in architecture.rows)
    assignments: tuple[Assignment, ...] = ()
    if not shortage:
        sizes = {service: by_profile[settings.profile] for service, by_profile in load_sizing().items()}
        alive = [service for service in services if not service.replaced_by]
        assignments, unplaced = witness.find(alive, nodes, sizes)
        problems += unplaced
    if problems:
        raise Refused(problems)
    hosts = tuple(machine for machine in inventory if "virt" in machine.roles)
    warnings = _warnings(settings, architecture, nodes)
    return Plan(settings, architecture, hosts, nodes, services, assignments, warnings)


def _architecture(settings: Settings, inventory: tuple[Machine, ...]) -> Architecture:
    computes = sum("compute" in machine.roles for machine in inventory)
    try:
        return load_architecture(settings.architecture or for_computes(computes))
    except ArchitectureError as error:
        raise Refused([Problem("quorate:architecture", str(problem)) for problem in error.problems]) from None


def _override(settings: Settings, service: str) -> Override:
    return settings.services.get(service, Override())


def _instances(row: Row, settings: Settings) -> int:
    return _override(settings, row.service).replicas or row.instances or 0


def _dedicated(settings: Settings, architecture: Architecture) -> dict[str, int]:
    """Nodes each owner wants: the row's, and one for every replica that a stack adds."""
    return {row.service: max(row.dedicated_nodes, _instances(row, settings)) for row in architecture.owners}


def _service_plan(row: Row, settings: Settings, nodes: tuple[Node, ...]) -> ServicePlan:
    there = {node.pool for node in nodes}
    runs_on = row.runs_on
    if row.monitoring and not row.owner and MONITORING in there:
        runs_on = (MONITORING,)
    # Surplus pools count only where the stack has such nodes; a home stays, so that what is missing is said of it.
    usable = tuple(pool for pool in runs_on if pool in there) or runs_on[:1]
    owned = sum(node.dedicated_to == row.service for node in nodes)
    instances = sum(node.pool in usable for node in nodes) if row.everywhere else _instances(row, settings)
    return ServicePlan(
        name=row.service,
        row=row.row,
        instances=0 if row.replaced_by else instances,
        dedicated_nodes=owned,
        shareable=row.shareable,
        load_balancer=row.load_balancer,
        pools=usable,
        everywhere=row.everywhere,
        quorum=row.quorum,
        apart_from=row.apart_from,
        replaced_by=row.replaced_by,
        override=_override(settings, row.service),
        source="; ".join(str(source) for source in row.sources),
    )


def _override_problems(settings: Settings, architecture: Architecture) -> list[Problem]:
    rows: Mapping[str, Row] = {row.service: row for row in architecture.rows}
    found: list[Problem] = []
    for name, override in settings.services.items():
        key = f"quorate:services.{name}"
        if name not in rows:
            known = sorted(rows)
            found.append(Problem(key, f"no such service{did_you_mean(name, known)}; write one of: {', '.join(known)}"))
        elif rows[name].replaced_by:
            found.append(Problem(key, f"is retired; {rows[name].replaced_by} does its work, write that instead"))
        elif rows[name].everywhere and override.replicas is not None:
            found.append(
                Problem(
                    f"{key}.replicas", "it runs once on every node of its pools; take replicas away, add nodes instead"
                )
            )
    return found


def _warnings(settings: Settings, architecture: Architecture, nodes: tuple[Node, ...]) -> tuple[str, ...]:
    found = list(quorum.warnings(settings, nodes))
    if FEATURE in settings.features and any(node.virtual for node in nodes):
        found.append(
            "reduced footprint: control-plane nodes are virtual machines beside tenants' machines; expect bad "
            "performance and a larger attack surface (seed 000, Performance Impact and Security Impact)"
        )
    computes = sum(node.pool == COMPUTE for node in nodes)
    if computes > architecture.computes:
        found.append(
            f"{computes} computes outgrow architecture {architecture.name}, meant for {architecture.computes}; "
            "plan the move to the next size"
        )
    if not computes:
        found.append("no server has the role compute: nothing will run tenants' machines")
    if not any(node.pool == STORAGE for node in nodes):
        found.append("no node has the role storage: the Ceph cluster has no OSD and stores nothing")
    spare = [node.name for node in nodes if node.pool == CONTROLLER]
    if spare:
        found.append(f"controllers beyond the dedicated ones, shared by all that may share: {', '.join(spare)}")
    return tuple(found)


def _node(node: Node) -> dict[str, object]:
    return {
        "name": node.name,
        "server": node.server,
        "roles": list(node.roles),
        "pool": node.pool,
        "dedicatedTo": node.dedicated_to,
        "rack": node.rack,
        "address": node.address,
        "virtual": node.virtual,
    }


def _service(service: ServicePlan) -> dict[str, object]:
    return {
        "name": service.name,
        "row": service.row,
        "instances": service.instances,
        "dedicatedNodes": service.dedicated_nodes,
        "shareable": service.shareable,
        "loadBalancer": service.load_balancer,
        "pool": service.pool,
        "pools": list(service.pools),
        "source": service.source,
        "replacedBy": service.replaced_by,
    }


if __name__ == "__main__":
    import sys

    from blueprint import check

    sys.exit(check.show_plan(sys.argv[1:]))
