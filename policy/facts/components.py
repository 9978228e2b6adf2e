"""Quorate's component resources (Cloud, Etcd, MasterTier, VirtHost, Previous), read from their registered outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import contract
from policy.facts.membership import MemberNode, QuorumState
from policy.properties import Properties
from policy.resource import Resource


@dataclass(frozen=True)
class ComponentFacts:
    """A Quorate component resource. Its registered outputs describe part of the stack."""

    resource: Resource

    @property
    def title(self) -> str:
        """The component's name in messages, such as "VirtHost s1"."""
        return f"{self.resource.type.rpartition(':')[2]} {self.resource.name}"

    @property
    def _facts(self) -> Properties:
        return self.resource.props


class CloudFacts(ComponentFacts):
    """The component that describes the whole cloud: profile, architecture, size, target."""

    TYPE: ClassVar[str] = contract.CLOUD

    @property
    def profile(self) -> str:
        return self._facts.at("profile").text()

    @property
    def architecture(self) -> str:
        """The reference architecture: a name such as "300", or the path of a user's own architecture file."""
        return self._facts.at("architecture").text()

    @property
    def release(self) -> str:
        """The release of OpenStack."""
        return self._facts.at("release").text()

    @property
    def computes(self) -> int:
        return self._facts.at("computes").number(0)

    @property
    def is_live(self) -> bool:
        """Whether the stack's target applies objects to a running cluster, and does not only write them to files."""
        return self._facts.at("target").text() == "live"

    @property
    def has_external_ceph(self) -> bool:
        """Whether the stack's services use a Ceph cluster that the stack does not run."""
        return self._facts.at("ceph").text() == contract.EXTERNAL

    @property
    def has_ovn(self) -> bool:
        """Whether OVN connects virtual machines, in place of Neutron's agents."""
        return self._facts.at("networks").text() == contract.OVN

    @property
    def features(self) -> tuple[str, ...]:
        """Features that the stack enables in addition to the reference architecture."""
        return self._facts.at("features").words()

    @property
    def acknowledged(self) -> tuple[str, ...]:
        """Disclaimers that a person has acknowledged."""
        return self._facts.at("acknowledged").words()


@dataclass(frozen=True)
class MemberFacts:
    """A machine that is a master of a Kubernetes cluster, or a member of an etcd cluster."""

    node: str
    server: str
    address: str


class EtcdFacts(ComponentFacts):
    """An etcd cluster on machines."""

    TYPE: ClassVar[str] = contract.ETCD

    @property
    def members(self) -> tuple[MemberFacts, ...]:
        return _members(self._facts.at("members"))


class MasterTierFacts(ComponentFacts):
    """The masters of a Kubernetes cluster."""

    TYPE: ClassVar[str] = contract.MASTER_TIER

    @property
    def masters(self) -> tuple[MemberFacts, ...]:
        return _members(self._facts.at("masters"))

    @property
    def generations(self) -> Mapping[str, str]:
        """Generations of authorities and keys by name, such as "1 of 1+2" (blueprint/version_steps.py).

        Those of which there is only the first are left out.
        """
        return self._facts.at("generations").texts()


@dataclass(frozen=True)
class GuestFacts:
    """A virtual machine on a virt host."""

    node: str
    cpu: int
    memory: int
    """Memory of the virtual machine in GiB."""


class VirtHostFacts(ComponentFacts):
    """A physical server that runs virtual machines."""

    TYPE: ClassVar[str] = contract.VIRT_HOST

    @property
    def server(self) -> str:
        return self._facts.at("server").text()

    @property
    def guests(self) -> tuple[str, ...]:
        """Names of the virtual machines that the server runs."""
        return tuple(each.at("node").text() for each in self._facts.at("vms").items())

    @property
    def vms(self) -> tuple[GuestFacts, ...]:
        """The virtual machines that the server runs, with their CPU and memory."""
        return tuple(
            GuestFacts(each.at("node").text(), each.at("cpu").number(0), each.at("memory").number(0))
            for each in self._facts.at("vms").items()
        )

    @property
    def hypervisor(self) -> str:
        """The hypervisor that runs the virtual machines."""
        return self._facts.at("hypervisor").text()

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles of the physical server, which may also be a node itself; empty if it only runs virtual machines."""
        return self._facts.at("hostRoles").words()

    @property
    def cpu(self) -> int:
        """Number of cores of the physical server."""
        return self._facts.at("hostCpu").number(0)

    @property
    def memory(self) -> int:
        """Memory of the physical server in GiB."""
        return self._facts.at("hostMemory").number(0)


class PreviousFacts(ComponentFacts):
    """The record of the stack's last deployment: its quorums, its storage nodes and its versions."""

    TYPE: ClassVar[str] = contract.PREVIOUS

    @property
    def known(self) -> bool:
        """Whether a deployment has recorded its state; false before a stack's first deployment."""
        return self._facts.at("stood").given()

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of the last deployment (blueprint/version_steps.py); {} if it recorded none."""
        return self._facts.at("versions").texts()

    def quorums(self) -> dict[str, QuorumState]:
        """The state of each quorum after the last deployment, by the name of the quorum's service."""
        quorums = self._facts.at("stood", "quorums")
        return {
            name: QuorumState(quorums.at(name, "members").number(0), _member_nodes(quorums.at(name, "nodes")))
            for name in quorums.keys()  # noqa: SIM118 - cannot be iterated like a dict
        }

    @property
    def storage(self) -> Mapping[str, MemberNode]:
        """The nodes with the cloud's data (storage nodes) after the last deployment, by name."""
        return _member_nodes(self._facts.at("stood", "storage"))


def _member_nodes(tree: Properties) -> dict[str, MemberNode]:
    return {
        name: MemberNode(
            node.at("server").text(),
            node.at("address").text(),
            node.at("pool").text(),
            frozenset(node.at("data").words()),
        )
        for name in tree.keys()  # noqa: SIM118 - cannot be iterated like a dict
        for node in [tree.at(name)]
    }


def _members(tree: Properties) -> tuple[MemberFacts, ...]:
    return tuple(
        MemberFacts(each.at("node").text(), each.at("server").text(), each.at("address").text())
        for each in tree.items()
    )
