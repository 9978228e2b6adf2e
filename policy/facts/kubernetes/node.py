"""Reads the nodes that a stack describes: their labels, taints and physical hosts.

Nodes are read from the outputs of Machine and MachinePool components and from hand-written Node objects, not from the
plan that Quorate computed them with. Labels and taints are those that the kubelet registers the node with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache

import contract
from contract import DEDICATED, HOSTNAME, POOL, RACK, SERVER, ZONE
from policy.facts.kubernetes.quantity import GIB, PodResources, resources
from policy.facts.kubernetes.selectors import Labels
from policy.properties import Malformed, Properties
from policy.resource import Resource

MACHINE_TYPES = (contract.MACHINE, contract.MACHINE_POOL)
KEEPS_OUT = frozenset({"NoSchedule", "NoExecute"})
"""Taint effects that keep pods off a node. PreferNoSchedule is only a preference."""


@dataclass(frozen=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str
    effect: str


_CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


@dataclass(frozen=True)
class NodeFacts:
    """A node that the stack describes."""

    name: str
    resource: Resource
    """The Machine, the MachinePool or the Node object that describes the node."""
    common_labels: Properties
    written_taints: Properties
    own_labels: Mapping[str, str]
    """Labels whose values differ between the nodes of a MachinePool: physical host and rack."""
    written: Properties
    """The node's own facts: those of its Machine or Node, or its entry in a MachinePool."""

    @cached_property
    def alike(self) -> tuple[object, ...]:
        """A key that is equal for two nodes of a pool if they differ only in name and in the values of `own_labels`."""
        return id(self.common_labels), id(self.written_taints), *self.own_labels

    @property
    def title(self) -> str:
        """The node's name in messages."""
        return f"node {self.name}"

    @cached_property
    def labels(self) -> Labels:
        """Labels that the node registers with, including the kubelet's hostname label."""
        return _Layered({HOSTNAME: self.name, **self.own_labels}, self.common_labels.texts())

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Taints that the node registers with. A cordoned Node also has the taint that Kubernetes adds."""
        cordoned = self.resource.props.at("spec", "unschedulable").flag()
        return (*_taints(self.written_taints), *((_CORDONED,) if cordoned else ()))

    @cached_property
    def barriers(self) -> frozenset[Taint]:
        """The node's taints with the effect NoSchedule or NoExecute, which keep out pods that do not tolerate them."""
        return frozenset(taint for taint in self.taints if taint.effect in KEEPS_OUT)

    @property
    def address(self) -> str:
        """The node's address in the management network; "" for a hand-written Node object."""
        return self.written.at("address").text()

    def class_address(self, name: str) -> str:
        """Returns the node's address in the network of a class, such as overlay; "" if the stack gives it none."""
        return self.written.at(contract.CLASS_ADDRESS.format(name)).text()

    @property
    def provider_id(self) -> str:
        """The Node's spec.providerID, the cloud provider's name of the machine; "" if it is not set."""
        return self.resource.props.at("spec", "providerID").text()

    @cached_property
    def server(self) -> str | None:
        """The physical host, by the node's label quorate.io/server; None if the node has no such label."""
        return self.labels.get(SERVER)

    @cached_property
    def pool(self) -> str | None:
        """The node's pool, by its pool label; None if the node has no such label."""
        return self.labels.get(POOL)

    @cached_property
    def rack(self) -> str | None:
        """The node's rack, by its rack label; None if the node has no such label."""
        return self.labels.get(RACK)

    @cached_property
    def room(self) -> PodResources | None:
        """The node's allocatable resources, from the machine component or the Node's status; None if not given."""
        props = self.resource.props
        if not is_machine(self.resource):
            status = props.at("status")
            told = next((each for key in ("allocatable", "capacity") if (each := status.at(key)).given()), None)
            return resources(told) if told else None
        room = props.at("allocatable")
        if not room.at("cpu").given() or not room.at("memory").given():
            return None
        return PodResources(Decimal(str(room.at("cpu").real())), Decimal(str(room.at("memory").real())) * GIB)

    @cached_property
    def dedicated_to(self) -> tuple[str, ...]:
        """The services that the node is dedicated to, by its taints quorate.io/dedicated=<service>."""
        return tuple(taint.value for taint in self.barriers if taint.key == DEDICATED)

    @property
    def is_pinned(self) -> bool | None:
        """Whether the stack file sets the node's pool, not Quorate's plan; None if the stack does not state it."""
        pinned = self.resource.props.at("pinned")
        return pinned.flag() if pinned.given() else None

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles of the machine, such as master; empty for a hand-written Node object."""
        return self.resource.props.at("roles").words()


class _Layered(Mapping[str, str]):
    """Labels of a node: its own labels take precedence over those of its pool. Values are read only on access."""

    def __init__(self, own: Mapping[str, str], common: Mapping[str, str]) -> None:
        self._own = own
        self._common = common

    def __getitem__(self, key: str) -> str:
        return self._own[key] if key in self._own else self._common[key]

    def __contains__(self, key: object) -> bool:
        return key in self._own or key in self._common

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from (key for key in self._common if key not in self._own)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def nodes(those: Iterable[Resource]) -> tuple[NodeFacts, ...]:
    """Every node that these resources describe."""
    return tuple(node for resource in those for node in _of(resource))


def _of(resource: Resource) -> Iterator[NodeFacts]:
    if resource.type == "kubernetes:core/v1:Node":
        props = resource.props
        labels, taints = props.at("metadata", "labels"), props.at("spec", "taints")
        name = props.at("metadata", "name").text(resource.name)
        yield NodeFacts(name, resource, labels, taints, {}, props)
    elif is_machine(resource):
        props = resource.props
        labels, taints = props.at("labels"), props.at("taints")
        if resource.type == contract.MACHINE_POOL:
            for each in props.at("nodes").parsed().items():
                yield NodeFacts(each.at("node").text(), resource, labels, taints, _labels_of_member(each), each)
        elif props.at("pool").text():
            yield NodeFacts(props.at("node").text(), resource, labels, taints, {}, props)


def outside(those: Iterable[Resource]) -> tuple[NodeFacts, ...]:
    """The machines among these resources that are not Kubernetes nodes, as a machine with a member of etcd only.

    They have no pool and no labels. Physical host and rack are those of the machine's properties.
    """
    return tuple(
        NodeFacts(
            resource.props.at("node").text(),
            resource,
            resource.props.at("labels"),
            resource.props.at("taints"),
            _labels_of_member(resource.props),
            resource.props,
        )
        for resource in those
        if resource.type == contract.MACHINE and not resource.props.at("pool").text()
    )


def is_machine(resource: Resource) -> bool:
    """Whether the resource is a machine or a pool of machines."""
    return resource.type in MACHINE_TYPES


def _labels_of_member(member: Properties) -> dict[str, str]:
    rack = member.at("rack").text()
    labels = {SERVER: member.at("server").text()}
    return {**labels, RACK: rack, ZONE: rack} if rack else labels


@lru_cache(maxsize=256)  # nodes of a pool share their taints
def _taints(written: Properties) -> tuple[Taint, ...]:
    return tuple(_taint(each) for each in written.items())


def _taint(tree: Properties) -> Taint:
    if not tree.is_text():
        return Taint(tree.at("key").text(), tree.at("value").text(), tree.at("effect").text())
    mark, colon, effect = tree.text().rpartition(":")
    if not colon:
        raise Malformed(f"taint '{tree.text()}' is not key=value:effect")
    key, _, value = mark.partition("=")
    return Taint(key, value, effect)
