"""The shapes that reading a Fuel-CCP topology gives: findings, the topology as written, and where its services run.

Plain frozen data, no judgement. document.py and sections.py fill a Topology, place.py turns it into a Placement.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from blueprint.problems import InvalidStackError, Problem

Kind = Literal["Deployment", "StatefulSet", "DaemonSet"]
"""How CCP's definition declares a service. CCP deployed a DaemonSet as one instance per matching node."""


@dataclass(frozen=True)
class Finding:
    """One thing that a run noticed. An error means that the topology is refused, a warning that it is read."""

    rule: str
    """Stable name of what was found, such as `no-quorum`; docs/topology.md lists them all."""
    severity: Literal["error", "warning"]
    key: str
    """Where it stands, such as `roles.controller` or `replicas.etcd`; the file where it is about the whole file."""
    message: str
    """What is wrong there and what to write instead. With the key before it, as `str` gives it, it stands alone."""

    def __str__(self) -> str:
        return f"{self.key}: {self.message}"


@dataclass(frozen=True)
class NodeKey:
    """One entry under `nodes`: what the nodes that its pattern matches get (source 004, 1.4.6 nodes)."""

    pattern: re.Pattern[str]
    """Matched from the beginning of a node's name, and not to its end: CCP's `node1` takes node10 too."""
    roles: tuple[str, ...]
    configs: Mapping[object, object]


@dataclass(frozen=True)
class NamedService:
    """One entry under `services`: a service under a name of the operator's own (source 004, 1.4.6 services)."""

    definition: str
    mapping: Mapping[str, str]
    """For this service, which service stands behind an abstraction: `database` to `keystone-db`."""
    configs: Mapping[object, object]


@dataclass(frozen=True)
class Topology:
    """A topology as its files have it, included files merged. Says nothing of real nodes yet."""

    path: Path
    namespace: str = "ccp"
    """`kubernetes.namespace`: two environments on one cluster differ in it (source 004, 2.1)."""
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
    """Nodes that it may run on, each once, sorted as text as CCP sorted them (node10 before node2)."""
    replicas: int
    kind: Kind
    definition: str


@dataclass(frozen=True)
class Placement:
    """What a topology makes of a set of nodes, as far as it could be computed, and everything that was noticed."""

    services: Mapping[str, ServicePlacement]
    """By name as the file has it, sorted."""
    findings: tuple[Finding, ...]

    @property
    def refused(self) -> bool:
        return any(finding.severity == "error" for finding in self.findings)


class TopologyError(InvalidStackError):
    """A file that cannot stand as written. `topology` holds what could be read of it, so that more can be said."""

    def __init__(self, findings: Sequence[Finding], topology: Topology) -> None:
        self.findings = list(findings)
        self.topology = topology
        super().__init__([Problem(f.key, f.message) for f in findings if f.severity == "error"])
