"""Data types of Fuel-CCP (CCP) topologies: findings, the topology as written, and what became of it.

The types contain no checks. document.py and sections.py create a Topology, place.py creates a Placement from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from blueprint.problems import InvalidStackError, Problem
from blueprint.topology.definitions import Catalogue

Kind = Literal["Deployment", "StatefulSet", "DaemonSet"]
"""The kind of workload in CCP's service definition. CCP ran a DaemonSet as one instance per matching node."""


@dataclass(frozen=True)
class TopologyFinding:
    """An error or warning about a topology. A topology with an error is refused."""

    rule: str
    """Stable name of the violated rule, such as `no-quorum`; docs/topology.md lists the rules."""
    severity: Literal["error", "warning"]
    key: str
    """The key with the error, such as `roles.controller` or `replicas.etcd`, or the path of the file."""
    message: str
    """The error, and the text to write instead. `str(finding)` adds the key in front."""

    def __str__(self) -> str:
        return f"{self.key}: {self.message}"


@dataclass(frozen=True)
class StackSetting:
    """A setting of the stack file that a line of a topology, or of another deployer's file, became."""

    path: tuple[str, ...]
    """Its keys in the stack file, without `quorate:`."""
    value: object
    """Its value as YAML has it."""
    former: str | None = None
    """The last key's name in releases of OpenStack that do not have it."""

    @property
    def place(self) -> str:
        """The setting's key in the stack file, such as quorate:networks.physical.physnet1."""
        return f"quorate:{'.'.join(self.path)}"


@dataclass(frozen=True)
class TopologyLine:
    """What a line of a topology became in a stack."""

    key: str
    """The key of the line, such as `configs.neutron.dvr`."""
    fate: Literal["becomes", "same", "left out", "refused"]
    """`same`: a stack has it without a setting. `left out`: the stack is a working one without it."""
    text: str
    """What it became (after the word "becomes"), or why it did not and what to write instead. Contains no secret."""
    settings: tuple[StackSetting, ...] = ()
    rule: str | None = None
    """The rule of the finding that repeats the text; None if the line needs no attention."""

    def __str__(self) -> str:
        return f"{self.key}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """The text of a finding about the line."""
        return f"becomes {self.text}" if self.fate == "becomes" else self.text


@dataclass(frozen=True)
class NodeKey:
    """One entry under `nodes`: a pattern with roles and configs for the nodes that it matches (source 004, 1.4.6)."""

    pattern: re.Pattern[str]
    """The regular expression, which is matched with the beginning of a node's name as in CCP:

    `node1` matches node10.
    """
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
    known: Catalogue = field(repr=False, compare=False)
    """The services that CCP and the stack's projects have."""
    namespace: str = "ccp"
    """`kubernetes.namespace`; each environment on a cluster needs its own (source 004, 2.1)."""
    nodes: Mapping[str, NodeKey] = field(default_factory=dict[str, NodeKey])
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    replicas: Mapping[str, int] = field(default_factory=dict[str, int])
    services: Mapping[str, NamedService] = field(default_factory=dict[str, NamedService])
    configs: Mapping[object, object] = field(default_factory=dict[object, object])
    secret_configs: Mapping[object, object] = field(default_factory=dict[object, object])
    unread: tuple[str, ...] = ()
    """The file's other sections, which do not affect a stack."""
    findings: tuple[TopologyFinding, ...] = ()
    """Findings of reading the file. A Placement also contains the findings of applying the topology to nodes."""

    def definition_of(self, service: str) -> str:
        """Returns the name of a service's definition: its `service_def` under `services`, otherwise its own name."""
        named = self.services.get(service)
        return named.definition if named else service


@dataclass(frozen=True)
class ServicePlacement:
    """The nodes that a service of a topology may run on, and its number of instances."""

    hosts: tuple[str, ...]
    """Nodes that the service may run on, sorted as text like in CCP (node10 before node2)."""
    replicas: int
    kind: Kind
    definition: str


@dataclass(frozen=True)
class Placement:
    """The services of a topology with their nodes, as far as they could be placed, and all findings."""

    services: Mapping[str, ServicePlacement]
    """Services by their names in the file, sorted."""
    findings: tuple[TopologyFinding, ...]
    known: Catalogue = field(repr=False, compare=False)
    """The services that CCP and the stack's projects have."""
    configs: tuple[TopologyLine, ...] = ()
    """What became of the configuration keys."""

    @property
    def refused(self) -> bool:
        return any(finding.severity == "error" for finding in self.findings)


class TopologyError(InvalidStackError):
    """Raised for an invalid topology file. `topology` contains the readable part of it, for further checks."""

    def __init__(self, findings: Sequence[TopologyFinding], topology: Topology) -> None:
        self.findings = list(findings)
        self.topology = topology
        super().__init__([Problem(f.key, f.message) for f in findings if f.severity == "error"])
