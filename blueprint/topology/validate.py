"""Checks a topology's placement for quorums at risk, missing dependencies and retired services.

Fuel-CCP (CCP) accepted most of these. docs/topology.md lists the rules with their severity and source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blueprint.topology.definitions import Catalogue
from blueprint.topology.document import as_section
from blueprint.topology.shapes import Placement, ServicePlacement, Topology, TopologyFinding
from text.suggestion import did_you_mean

_Services = Mapping[str, ServicePlacement]
_CLUSTER_SIZE = 3
"""Default of the key `percona.cluster_size` in CCP (source 004, 2.2.6 Galera, Cluster size)."""


def judge(topology: Topology, matches: Mapping[str, Sequence[str]], services: _Services) -> Iterator[TopologyFinding]:
    """Yields the findings about the services of one topology.

    `matches`: the nodes that each key under `nodes` matches.
    """
    known = topology.known
    yield from _judge_definitions(topology, known)
    yield from _judge_retired(topology, known)
    yield from _judge_unasked(topology, services, known)
    yield from _judge_mappings(topology, known)
    yield from _judge_dependencies(topology, services, known)
    yield from _judge_local_dependencies(topology, services, known)
    for name, placed in services.items():
        yield from _judge_quorum(name, placed, known)
        if placed.definition == "galera":
            yield from _judge_cluster_size(topology, matches, name, placed)


def judge_together(environments: Sequence[tuple[Topology, Placement]]) -> list[TopologyFinding]:
    """Returns the conflicts between several topologies (environments) that are deployed on one Kubernetes cluster.

    Source 004, 2.1 Deploying Multiple Parallel Environments: services of different namespaces may share a node, except
    services on the host network, which would use the same ports, bridges and sockets.
    """
    findings: list[TopologyFinding] = []
    namespaces: dict[str, Topology] = {}
    held: dict[tuple[str, str], tuple[Topology, str]] = {}
    meetings: dict[tuple[str, str, str], list[str]] = {}
    for topology, placement in environments:
        earlier = namespaces.setdefault(topology.namespace, topology)
        if earlier is not topology:
            message = f"{topology.path} has the namespace of {earlier.path}, {topology.namespace}; give each its own"
            findings.append(TopologyFinding("same-namespace", "error", "kubernetes.namespace", message))
        for name, placed in placement.services.items():
            if not topology.known.services[placed.definition].host_network:
                continue
            for node in placed.hosts:
                other, _ = held.setdefault((placed.definition, node), (topology, name))
                if other is not topology:
                    meetings.setdefault((name, str(other.path), str(topology.path)), []).append(node)
    for (name, first, second), nodes in meetings.items():
        message = (
            f"{name} uses the node's own network and would run for both {first} and {second} on {', '.join(nodes)}; "
            "give each environment nodes of its own for it"
        )
        findings.append(TopologyFinding("environments-meet", "error", f"nodes of {name}", message))
    return findings


def _judge_definitions(topology: Topology, known: Catalogue) -> Iterator[TopologyFinding]:
    """Yields a finding for each service without a definition, which CCP ignored without a message."""
    for role, names in topology.roles.items():
        for name in dict.fromkeys(names):
            if name in known.services or name in topology.services:
                continue
            stem, colon, count = name.partition(":")
            if name in known.abstractions:
                advice = f"write services.{name}.service_def, for example {known.abstractions[name][0]}"
            elif colon and count.strip().isdigit():
                advice = f"write {stem} here and replicas.{stem}: {count.strip()}"
            else:
                advice = f"write a service that CCP has{did_you_mean(name, [*topology.services, *known.services])}"
            yield TopologyFinding("undefined-service", "error", f"roles.{role}", f"{name} has no definition; {advice}")
    for name, service in topology.services.items():
        if service.definition not in known.services:
            hint = did_you_mean(service.definition, known.services)
            message = f"{service.definition} is not a definition that CCP has{hint}; write one, such as galera"
            yield TopologyFinding("undefined-service", "error", f"services.{name}.service_def", message)


def _judge_retired(topology: Topology, known: Catalogue) -> Iterator[TopologyFinding]:
    """Yields a finding for each retired service: a warning if another service gets its nodes, otherwise an error."""
    named = [(f"roles.{role}", name) for role, names in topology.roles.items() for name in dict.fromkeys(names)]
    named = [(key, name) for key, name in named if name not in topology.services]
    named += [(f"services.{name}.service_def", service.definition) for name, service in topology.services.items()]
    for key, name in named:
        definition = known.services.get(name)
        if definition and definition.use_instead:
            message = f"{name} is retired upstream and cannot be placed; remove it and use {definition.use_instead}"
            yield TopologyFinding("retired-service", "error", key, message)
        elif definition and definition.replaced_by:
            message = f"{name} is replaced by {definition.replaced_by}, which gets its nodes and count; or remove it"
            yield TopologyFinding("replaced-service", "warning", key, message)


def _judge_unasked(topology: Topology, services: _Services, known: Catalogue) -> Iterator[TopologyFinding]:
    """Yields a finding for each service whose key of `configs` is not true. A stack file may ask for it too."""
    for name, placed in services.items():
        key = known.services[placed.definition].asked_by
        if key and not asks_for(topology, key):
            role = next(role for role, names in topology.roles.items() if name in names)
            message = f"{name} runs only if configs.{key} is true; write this, or remove {name}"
            yield TopologyFinding("unasked-service", "warning", f"roles.{role}", message)


def asks_for(topology: Topology, key: str) -> bool:
    """Whether a key of the file's own configs is true."""
    value: object = topology.configs
    for part in key.split("."):
        value = (as_section(value) or {}).get(part)
    return value is True


def _judge_mappings(topology: Topology, known: Catalogue) -> Iterator[TopologyFinding]:
    for name, service in topology.services.items():
        for abstraction, target in service.mapping.items():
            if target not in topology.services and target not in known.services:
                hint = did_you_mean(target, [*topology.services, *known.services])
                message = f"{target} is not a service{hint}; write services.{target}.service_def, or map to another"
                yield TopologyFinding(
                    "undefined-dependency", "error", f"services.{name}.mapping.{abstraction}", message
                )


def _judge_dependencies(topology: Topology, services: _Services, known: Catalogue) -> Iterator[TopologyFinding]:
    """Yields a finding for each service that another one waits for and that the topology does not place.

    A service without a definition is an error, as in CCP. A defined one is a warning, because it may already exist.
    """
    running = {placed.definition for placed in services.values()}
    dependents: dict[str, list[str]] = {}
    for name, placed in services.items():
        named = topology.services.get(name)
        for need in known.services[placed.definition].needs:
            target = named.mapping.get(need, need) if named else need
            if target not in services and target not in running:
                dependents.setdefault(target, []).append(name)
    for need, names in sorted(dependents.items()):
        who = f"{', '.join(names)} {'wait' if len(names) > 1 else 'waits'} for it"
        behind = known.abstractions.get(need, ())
        stand_in = next((definition for definition in behind if definition in services), None)
        if need in topology.services or need in known.services:
            message = f"{need} is placed nowhere and {who}; name it in a role that nodes have"
            yield TopologyFinding("unplaced-dependency", "warning", f"roles.{need}", message)
        elif stand_in:
            message = f"{need} is not mapped; {stand_in} is placed and used in its place: write service_def: {stand_in}"
            yield TopologyFinding("implied-dependency", "warning", f"services.{need}", message)
        elif behind:
            message = f"{need} is not defined and {who}; write service_def: {behind[0]} here, and name it in a role"
            yield TopologyFinding("undefined-dependency", "error", f"services.{need}", message)


def _judge_local_dependencies(topology: Topology, services: _Services, known: Catalogue) -> Iterator[TopologyFinding]:
    for name, placed in services.items():
        for need in known.services[placed.definition].needs_local:
            beside = {node for other in services.values() if other.definition == need for node in other.hosts}
            alone = [node for node in placed.hosts if node not in beside]
            if alone:
                role = next(role for role, names in topology.roles.items() if name in names)
                message = (
                    f"{name} waits for {need} on its own node, but {', '.join(alone)} has none; place it there too"
                )
                yield TopologyFinding("unplaced-dependency", "warning", f"roles.{role}", message)


def _judge_quorum(name: str, placed: ServicePlacement, known: Catalogue) -> Iterator[TopologyFinding]:
    """Yields findings for a quorum with one or two members, with an even number, or with all members on one node."""
    quorum = known.services[placed.definition].quorum
    if not quorum:
        return
    members, key = placed.replicas, f"replicas.{name}"
    losses = (members - 1) // 2
    what = name if name == quorum else f"{name} ({quorum})"
    if members == 1:
        message = f"{what} has one member and no quorum: its node's loss stops it; write 3 and give it 3 nodes"
        yield TopologyFinding("single-member", "warning", key, message)
    elif losses == 0:
        message = f"{what} has two members, and losing either one loses the quorum; write 3 and give it 3 nodes"
        yield TopologyFinding("no-quorum", "error", key, message)
    elif members % 2 == 0:
        message = f"{what} has {members} members and tolerates {losses} lost, as {members - 1} do; write an odd number"
        yield TopologyFinding("even-members", "warning", key, message)
    if members > 1 and len(placed.hosts) == 1:
        message = f"all {members} members of {what} are on {placed.hosts[0]}; give its role to {members} nodes"
        yield TopologyFinding("members-on-one-node", "error", key, message)


def _judge_cluster_size(
    topology: Topology, matches: Mapping[str, Sequence[str]], name: str, placed: ServicePlacement
) -> Iterator[TopologyFinding]:
    """Yields a finding if a Galera's `percona.cluster_size` differs from its number of members (`replicas`).

    Members wait until that many have started. The size is set in the configs of the file, of the service, or of keys
    under `nodes` that match a node, in increasing precedence. If neither size nor number is set, CCP's defaults (3 and
    1) differ, and the finding is a warning.
    """
    named = topology.services.get(name)
    written = _size_in(named.configs if named else {}) or _size_in(topology.configs)
    sizes: dict[object, None] = {}
    for node in placed.hosts:
        keys = [key for key in sorted(topology.nodes) if node in matches[key]]
        own = [size for key in keys if (size := _size_in(topology.nodes[key].configs)) is not None]
        sizes[own[-1] if own else written] = None
    for size in sizes:
        if (size or _CLUSTER_SIZE) == placed.replicas:
            continue
        by_default = size is None and placed.replicas == 1
        where = "by default" if size is None else "by configs.percona.cluster_size"
        message = (
            f"the member count of {name} is {placed.replicas} and its cluster size {size or _CLUSTER_SIZE} {where}; "
            f"write the same number in replicas.{name} and configs.percona.cluster_size"
        )
        yield TopologyFinding("cluster-size", "warning" if by_default else "error", f"replicas.{name}", message)


def _size_in(configs: Mapping[object, object]) -> object:
    return (as_section(configs.get("percona")) or {}).get("cluster_size")
