"""Reads NetworkPolicies: which pods may connect to which other pods, and on which port.

As in Kubernetes, all connections of a pod in one direction are allowed if no policy selects the pod for this direction;
otherwise a connection needs one admitting rule of any such policy. Policies do not apply to pods with hostNetwork. An
ipBlock is meant for addresses outside the cluster, so it counts as admitting pods only if it covers all addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Literal

from policy.facts.kubernetes.selectors import Labels, Selector, label_selector
from policy.facts.kubernetes.workload import Workload
from policy.properties import Properties
from policy.resource import Resource

TYPES = ("kubernetes:networking.k8s.io/v1:NetworkPolicy", "kubernetes:extensions/v1beta1:NetworkPolicy")
Direction = Literal["Ingress", "Egress"]

_PEERS: Mapping[Direction, str] = {"Ingress": "from", "Egress": "to"}
_ALL_ADDRESSES = ("0.0.0.0/0", "::/0")
_NAMESPACE_NAME = "kubernetes.io/metadata.name"


@dataclass(frozen=True)
class NetworkPolicy:
    """A NetworkPolicy."""

    resource: Resource

    @property
    def title(self) -> str:
        """The policy's name in messages."""
        return f"NetworkPolicy {self.resource.name}"

    @property
    def namespace(self) -> str:
        return self.resource.props.at("metadata", "namespace").text("default")

    @property
    def _spec(self) -> Properties:
        return self.resource.props.at("spec")

    def limits(self, workload: Workload, direction: Direction) -> bool:
        """Whether the policy selects the workload's pods and restricts their connections in this direction."""
        if workload.namespace != self.namespace or direction not in self._directions:
            return False
        selector = label_selector(self._spec.at("podSelector")) or Selector()
        return selector.selects(workload.labels) and not workload.pod.at("hostNetwork").flag()

    def admits(
        self,
        direction: Direction,
        other: Workload,
        receiver: Workload,
        port: int | None,
        namespaces: Mapping[str, Labels],
    ) -> bool:
        """Whether a rule of the policy admits connections with the pods of workload `other` in this direction.

        `receiver`: the workload that receives the connections, on TCP port `port`; None for any port. `namespaces`:
        labels of the namespaces that the stack creates, by name.
        """
        return any(
            self._admits_pods(rule.at(_PEERS[direction]), other, namespaces)
            and _admits_port(rule.at("ports"), receiver, port)
            for rule in self._spec.at(direction.lower()).items()
        )

    def opens(self, receiver: Workload, port: int) -> bool:
        """Whether a rule of the policy admits connections from all pods of the cluster to a TCP port of `receiver`."""
        rules = self._spec.at("ingress").items()
        return any(_is_open(rule.at("from")) and _admits_port(rule.at("ports"), receiver, port) for rule in rules)

    @property
    def admitted_networks(self) -> Iterator[tuple[IPv4Network, ...]]:
        """The networks that each rule for incoming connections admits. Networks of IPv6 are left out."""
        for rule in self._spec.at("ingress").items():
            written = [peer.at("ipBlock", "cidr").text() for peer in rule.at("from").items()]
            yield tuple(IPv4Network(each, strict=False) for each in written if each and ":" not in each)

    @property
    def _directions(self) -> tuple[str, ...]:
        written = self._spec.at("policyTypes").words()
        return written or (("Ingress", "Egress") if self._spec.at("egress").given() else ("Ingress",))

    def _admits_pods(self, peers: Properties, other: Workload, namespaces: Mapping[str, Labels]) -> bool:
        known = list(peers.items())
        return not known or any(self._selects(peer, other, namespaces) for peer in known)

    def _selects(self, peer: Properties, other: Workload, namespaces: Mapping[str, Labels]) -> bool:
        if peer.at("ipBlock").given():
            return peer.at("ipBlock", "cidr").text() in _ALL_ADDRESSES
        there, labels = other.namespace, namespaces.get(other.namespace, {})
        wanted = label_selector(peer.at("namespaceSelector"))
        here = there == self.namespace if wanted is None else wanted.selects({**labels, _NAMESPACE_NAME: there})
        return here and (label_selector(peer.at("podSelector")) or Selector()).selects(other.labels)


def _is_open(peers: Properties) -> bool:
    known = list(peers.items())
    return not known or any(_selects_all(peer) for peer in known)


def _selects_all(peer: Properties) -> bool:
    """Whether a peer of a rule matches all pods of the cluster: all namespaces and all their pods, or all addresses."""
    if peer.at("ipBlock").given():
        return peer.at("ipBlock", "cidr").text() in _ALL_ADDRESSES
    namespaces, pods = label_selector(peer.at("namespaceSelector")), label_selector(peer.at("podSelector"))
    return namespaces == Selector() and pods in (None, Selector())


def _admits_port(ports: Properties, receiver: Workload, port: int | None) -> bool:
    written = list(ports.items())
    if not written or port is None:
        return True
    return any(each.at("protocol").text("TCP") == "TCP" and _is_in(each, receiver, port) for each in written)


def _is_in(written: Properties, receiver: Workload, port: int) -> bool:
    """Whether a rule's port (a number, a range or the name of a port of `receiver`) includes the number `port`."""
    first = written.at("port").quantity()
    if first is None:
        return True
    if isinstance(first, str):
        named = (each for container in receiver.pod.at("containers").items() for each in container.at("ports").items())
        return any(each.at("name").text() == first and each.at("containerPort").number(0) == port for each in named)
    return first <= port <= written.at("endPort").number(first)


def network_policies(resources: Iterable[Resource]) -> tuple[NetworkPolicy, ...]:
    """Every NetworkPolicy among these resources."""
    return tuple(NetworkPolicy(each) for each in resources if each.type in TYPES)
