"""Says of each line of a Fuel-CCP topology what it became in a stack: the page of `quorate topology`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blueprint.openstack.projects.ccp import CcpService
from blueprint.topology.databases import DATABASE, Databases, databases
from blueprint.topology.place import NAMED, matches
from blueprint.topology.rows import by_row
from blueprint.topology.shapes import Placement, Topology, TopologyLine
from text.plural import pluralize
from text.quoting import first_of


def report(topology: Topology, placement: Placement, nodes: Sequence[str], ending: str) -> tuple[TopologyLine, ...]:
    """Returns what each line of a topology became, section by section.

    `nodes`: names of the real nodes. `ending`: the ending of names of Galera clusters in a stack, such as -mysqld.
    """
    own = databases(topology, placement, ending)
    return (
        *_services(topology, placement, own),
        *_nodes(topology, matches(topology, nodes)),
        *_roles(topology, placement, own),
        *_replicas(topology, placement, own),
        *placement.configs,
        *_unread(topology),
    )


def left_out(placement: Placement, definition: CcpService) -> str | None:
    """Returns why a stack does not run a service, and what takes its place; None if the stack runs it."""
    if definition.not_needed:
        return definition.not_needed
    if not definition.agents:
        return None
    known, rows = placement.known, by_row(placement)
    here = [agent for agent in definition.agents if known.agents[agent] in rows]
    said = [f"{' and '.join(here)} on every node {'take' if len(here) > 1 else 'takes'} its place"] if here else []
    for agent in (agent for agent in definition.agents if agent not in here):
        row = known.follows.get(known.agents[agent], known.agents[agent])
        needed = next(name for name, each in known.services.items() if each.architecture == row)
        said.append(f"{agent} needs {needed}: place it, or nothing does this part of its work")
    return "; ".join(said)


def _services(topology: Topology, placement: Placement, own: Databases) -> Iterator[TopologyLine]:
    for name, service in topology.services.items():
        yield _service(f"services.{name}.service_def", name, topology, placement, own)
        project = topology.known.projects.get(service.definition, "")
        for abstraction, target in service.mapping.items():
            key = f"services.{name}.mapping.{abstraction}"
            if abstraction == DATABASE and project in own.projects:
                text = f"quorate:projects.{project}.mapping.database: {own.projects[project]}"
                yield TopologyLine(key, "becomes", text)
            else:
                what = "one Galera" if abstraction == DATABASE else "one RabbitMQ"
                yield TopologyLine(key, "same", f"every project uses {what}, which {target} is")


def _nodes(topology: Topology, found: Mapping[str, Sequence[str]]) -> Iterator[TopologyLine]:
    for key in topology.nodes:
        if found[key]:
            yield TopologyLine(f"nodes.{key}", "becomes", f"the roles of {first_of(found[key], NAMED)}")
        else:
            yield TopologyLine(f"nodes.{key}", "refused", "matches no node")


def _roles(topology: Topology, placement: Placement, own: Databases) -> Iterator[TopologyLine]:
    used = {role for entry in topology.nodes.values() for role in entry.roles}
    for role, names in topology.roles.items():
        for name in dict.fromkeys(names):
            if role in used:
                yield _service(f"roles.{role}.{name}", name, topology, placement, own)
            else:
                yield TopologyLine(f"roles.{role}.{name}", "left out", "no node has the role")


def _service(key: str, name: str, topology: Topology, placement: Placement, own: Databases) -> TopologyLine:
    definition = topology.known.services.get(topology.definition_of(name))
    if definition is None:
        return TopologyLine(key, "refused", "has no definition")
    if definition.use_instead:
        return TopologyLine(key, "refused", f"is retired upstream; use {definition.use_instead}")
    if definition.not_built:
        return TopologyLine(key, "refused", f"is not built yet; remove it: {definition.not_built}", rule="not-built")
    if reason := left_out(placement, definition):
        return TopologyLine(key, "left out", reason)
    placed = placement.services.get(name)
    where = f" (on {first_of(placed.hosts, NAMED)})" if placed and placed.hosts else ""
    return TopologyLine(key, "becomes", f"{_what(name, topology, definition, own)}{where}")


def _what(name: str, topology: Topology, definition: CcpService, own: Databases) -> str:
    if name in own.clusters:
        return f"{own.clusters[name]}, a Galera of its own"
    if definition.beside:
        return f"a part of {definition.beside}, beside which it runs"
    return definition.replaced_by or definition.architecture or topology.definition_of(name)


def _replicas(topology: Topology, placement: Placement, own: Databases) -> Iterator[TopologyLine]:
    for name, count in topology.replicas.items():
        key, placed = f"replicas.{name}", placement.services.get(name)
        definition = topology.known.services.get(topology.definition_of(name))
        if placed is None or definition is None or placed.kind == "DaemonSet":
            yield TopologyLine(key, "refused", "is not a number of instances that the topology places")
        elif left_out(placement, definition):
            yield TopologyLine(key, "left out", "a stack does not run it")
        else:
            yield TopologyLine(
                key, "becomes", f"{pluralize(count, 'instance')} of {_what(name, topology, definition, own)}"
            )


def _unread(topology: Topology) -> Iterator[TopologyLine]:
    for name in topology.unread:
        fate = topology.known.configs.section(name)
        yield TopologyLine(name, "left out", fate.left_out if fate and fate.left_out else "")
