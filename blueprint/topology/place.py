"""Places the services of a topology on real nodes, as Fuel-CCP (CCP) did.

CCP's rules (docs/topology.md): a key under `nodes` is a regular expression that is matched with the beginning of a
node's name. Each matching key adds its roles to the node. A service may run on each node with a role that lists the
service. `replicas` sets the number of instances, by default 1; a DaemonSet has one instance per node.

This module also checks patterns, roles and replicas; validate.py checks services and quorums. Errors that CCP ignored
are reported too. Errors are not raised; they are findings of the placement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Literal

from blueprint.topology.config_lines import config_lines
from blueprint.topology.shapes import Placement, ServicePlacement, Topology, TopologyFinding, TopologyLine
from blueprint.topology.validate import judge
from text.quoting import first_of
from text.suggestion import did_you_mean

NAMED = 6
"""Names of nodes in a message."""
MOST_FINDINGS = 500
"""Maximum number of findings of a topology, because the search for similar names is slow."""

_Sources = dict[str, dict[str, list[tuple[str, str]]]]
"""Maps a service, then a node, to each pair (key under `nodes`, role) that places the service on the node."""


def place(topology: Topology, nodes: Sequence[str]) -> Placement:
    """Applies a topology to nodes: returns the nodes and number of instances of each service, and all findings.

    `nodes`: names of the real nodes.
    """
    found = matches(topology, nodes)
    sources = _sources(topology, found)
    services = {name: _placed(topology, name, sources[name]) for name in sorted(sources) if _is_defined(topology, name)}
    configs = tuple(config_lines(topology, found))
    findings = chain(
        topology.findings,
        _judge_configs(configs, "error"),
        _judge_keys(topology, found),
        _judge_roles(topology),
        _judge_doubles(sources),
        _judge_replicas(topology, services, sources),
        judge(topology, found, services),
        _judge_configs(configs, "warning"),
    )
    return Placement(services, tuple(dict.fromkeys(islice(findings, MOST_FINDINGS))), topology.known, configs)


def roles_by_node(topology: Topology, nodes: Sequence[str]) -> dict[str, set[str]]:
    """Returns the roles of each node in a topology, by node, in the order of `nodes`; an empty set for no role."""
    roles: dict[str, set[str]] = {node: set() for node in nodes}
    for key, matched in matches(topology, nodes).items():
        for node in matched:
            roles[node].update(topology.nodes[key].roles)
    return roles


def services_by_node(topology: Topology, nodes: Sequence[str]) -> dict[str, set[str]]:
    """Returns the services that each node may run, by node, in the order of `nodes`.

    The services have their names in the topology file.
    """
    services: dict[str, set[str]] = {node: set() for node in nodes}
    for name, placed in place(topology, nodes).services.items():
        for node in placed.hosts:
            services[node].add(name)
    return services


def matches(topology: Topology, nodes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Returns the names of the nodes that each key under `nodes` matches. Keys and names are sorted as in CCP."""
    ordered = sorted(set(nodes))
    return {
        key: tuple(node for node in ordered if topology.nodes[key].pattern.match(node))
        for key in sorted(topology.nodes)
    }


def _sources(topology: Topology, matches: dict[str, tuple[str, ...]]) -> _Sources:
    sources: _Sources = {}
    for key, matched in matches.items():
        for role in topology.nodes[key].roles:
            for service in topology.roles.get(role, ()):
                hosts = sources.setdefault(service, {})
                for node in matched:
                    hosts.setdefault(node, []).append((key, role))
    return sources


def _is_defined(topology: Topology, service: str) -> bool:
    return topology.definition_of(service) in topology.known.services


def _placed(topology: Topology, service: str, hosts: dict[str, list[tuple[str, str]]]) -> ServicePlacement:
    name = topology.definition_of(service)
    kind = topology.known.services[name].kind
    replicas = len(hosts) if kind == "DaemonSet" else topology.replicas.get(service, 1)
    return ServicePlacement(tuple(sorted(hosts)), replicas, kind, name)


def _judge_configs(configs: Sequence[TopologyLine], severity: Literal["error", "warning"]) -> Iterator[TopologyFinding]:
    """Yields the findings of one severity. Errors come first, so that the limit of findings hides none."""
    for line in configs:
        if line.rule and (severity == "error") == (line.fate == "refused"):
            yield TopologyFinding(line.rule, severity, line.key, line.sentence)


def _judge_keys(topology: Topology, matches: dict[str, tuple[str, ...]]) -> Iterator[TopologyFinding]:
    for key, matched in matches.items():
        if not matched:
            message = f"'{key}' matches no node; write a pattern that matches the names of your nodes, or remove it"
            yield TopologyFinding("pattern-matches-nothing", "error", f"nodes.{key}", message)
        partly = [node for node in matched if not topology.nodes[key].pattern.fullmatch(node)]
        if partly:
            whole = f"({key})" if "|" in key else key
            message = (
                f"'{key}' is matched from the beginning of a name only, and so also matches {first_of(partly, NAMED)}; "
                f"write '{whole}$' to exclude such names, '{whole}.*' to include them"
            )
            yield TopologyFinding("matched-by-prefix", "warning", f"nodes.{key}", message)


def _judge_roles(topology: Topology) -> Iterator[TopologyFinding]:
    used: set[str] = set()
    for key, entry in topology.nodes.items():
        used.update(entry.roles)
        for role in dict.fromkeys(entry.roles):
            if topology.roles and role not in topology.roles:
                hint = did_you_mean(role, topology.roles)
                message = f"role '{role}' is not defined{hint}; write roles.{role} with its services, or remove it"
                yield TopologyFinding("undefined-role", "error", f"nodes.{key}.roles", message)
    for role in topology.roles:
        if topology.nodes and role not in used:
            message = f"no node has the role '{role}', so it places nothing; give it to nodes, or remove it"
            yield TopologyFinding("unused-role", "warning", f"roles.{role}", message)


def _judge_doubles(sources: _Sources) -> Iterator[TopologyFinding]:
    """Yields a finding for nodes on which a service is placed more than once. CCP counted such a node twice."""
    for service, hosts in sorted(sources.items()):
        ways: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for node, found in sorted(hosts.items()):
            if len(found) > 1:
                ways.setdefault(tuple(found), []).append(node)
        for found, doubled in ways.items():
            keys, roles = sorted({key for key, _ in found}), sorted({role for _, role in found})
            if len(roles) > 1:
                where = first_of(doubled, NAMED)
                message = f"roles {', '.join(roles)} all place {service} on {where}; name it in one of them"
                yield TopologyFinding("node-counted-twice", "error", f"roles.{roles[0]}", message)
            else:
                what = f"role {roles[0]} places a service on {first_of(doubled, NAMED)} more than once"
                message = f"{what}; write the role under one key, and each service in it once"
                yield TopologyFinding("role-given-twice", "warning", f"nodes.{keys[0]}.roles", message)


def _judge_replicas(
    topology: Topology, services: dict[str, ServicePlacement], sources: _Sources
) -> Iterator[TopologyFinding]:
    for service, count in topology.replicas.items():
        key = f"replicas.{service}"
        placed = services.get(service)
        if service not in sources:
            standing_in = [name for name in services if topology.definition_of(name) == service]
            hint = f" (replicas are counted by name: did you mean {', '.join(standing_in)}?)" if standing_in else ""
            hint = hint or did_you_mean(service, sources)
            message = f"no role of any node names {service}{hint}; name it in a role that nodes have, or remove this"
            yield TopologyFinding("replicas-of-unplaced", "error", key, message)
        elif placed and placed.kind == "DaemonSet":
            message = f"{service} runs once on each of its nodes, {len(placed.hosts)} here; remove this line"
            yield TopologyFinding("replicas-of-daemonset", "error", key, message)
        elif placed and count > len(placed.hosts):
            nodes = f"{len(placed.hosts)} ({first_of(placed.hosts, NAMED)})" if placed.hosts else "none"
            message = (
                f"asks for {count} instances of {service}, but the nodes that may run it are {nodes}; "
                f"give its role to {count - len(placed.hosts)} more, or write {max(len(placed.hosts), 1)}"
            )
            yield TopologyFinding("too-many-replicas", "error", key, message)
