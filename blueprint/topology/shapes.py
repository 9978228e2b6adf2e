"""Data types of Fuel-CCP topologies: findings, the topology as written, and the placement of its services.

Frozen data without checks. document.py and sections.py fill a Topology, place.py converts it to a Placement.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from blueprint.problems import InvalidStackError, Problem

Kind = Literal["Deployment", "StatefulSet", "DaemonSet"]
"""The kind of workload in CCP's service definition. CCP ran a DaemonSet as one instance per matching node."""


@dataclass(frozen=True)
class Finding:
    """An error or warning about a topology. A topology with an error is refused."""

    rule: str
    """Stable name of what was found, such as `no-quorum`; docs/topology.md lists them all."""
    severity: Literal["error", "warning"]
    key: str
    """The key concerned, such as `roles.controller` or `replicas.etcd`, or the path of the file."""
    message: str
    """What is wrong and what to write instead. `str(finding)` puts the key in front."""

    def __str__(self) -> str:
        return f"{self.key}: {self.message}"


@dataclass(frozen=True)
class NodeKey:
    """One entry under `nodes`: a pattern, with roles and configs for the nodes it matches (source 004, 1.4.6 nodes)."""

    pattern: re.Pattern[str]
    """Matched at the beginning of a node's name only, as in CCP: `node1` matches node10 too."""
    roles: tuple[str, ...]
    configs: Mapping[object, object]


@dataclass(frozen=True)
class NamedService:
    """One entry under `services`: a service under a name that the operator chose (source 004, 1.4.6 services)."""

    definition: str
    mapping: Mapping[str, str]
    """Maps an abstraction to the service that provides it for this service, such as `database` to `keystone-db`."""
    configs: Mapping[object, object]


@dataclass(frozen=True)
class Topology:
    """A topology as written, with included files merged, before it is applied to real nodes."""

    path: Path
    namespace: str = "ccp"
    """`kubernetes.namespace`; each environment on a cluster needs its own (source 004, 2.1)."""
    nodes: Mapping[str, NodeKey] = field(default_factory=dict[str, NodeKey])
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    replicas: Mapping[str, int] = field(default_factory=dict[str, int])
    services: Mapping[str, NamedService] = field(default_factory=dict[str, NamedService])
    configs: Mapping[object, object] = field(default_factory=dict[object, object])
    findings: tuple[Finding, ...] = ()
    """Findings of the reader; place() adds its own, so that a Placement contains all of them."""

    def definition_of(self, service: str) -> str:
        """The definition behind a service's name: its `service_def`, else the name itself."""
        named = self.services.get(service)
        return named.definition if named else service


@dataclass(frozen=True)
class ServicePlacement:
    """Where one service may run, and how many instances of it."""

    hosts: tuple[str, ...]
    """Nodes that the service may run on, sorted as text like in CCP (node10 before node2)."""
    replicas: int
    kind: Kind
    definition: str


@dataclass(frozen=True)
class Placement:
    """The services of a topology on a set of nodes, as far as they could be placed, and all findings."""

    services: Mapping[str, ServicePlacement]
    """Services by their names in the file, sorted."""
    findings: tuple[Finding, ...]

    @property
    def refused(self) -> bool:
        return any(finding.severity == "error" for finding in self.findings)


class TopologyError(InvalidStackError):
    """Raised for an invalid topology file. `topology` holds the readable part, so that further checks can use it."""

    def __init__(self, findings: Sequence[Finding], topology: Topology) -> None:
        self.findings = list(findings)
        self.topology = topology
        super().__init__([Problem(f.key, f.message) for f in findings if f.severity == "error"])
