"""Scheduling constraints of a pod: tolerations, node affinity, pod anti-affinity, topology spread and host ports."""

from __future__ import annotations

from dataclasses import dataclass

from policy.facts.kubernetes.selectors import Selector, requirement
from policy.properties import Properties

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - read, not bound


@dataclass(frozen=True)
class Toleration:
    """A toleration of a taint."""

    key: str
    operator: str
    value: str
    effect: str


@dataclass(frozen=True)
class NodeTerm:
    """One term of a required node affinity. A node must meet all of its expressions; an empty term matches no node."""

    labels: Selector
    fields: Selector

    @property
    def empty(self) -> bool:
        return not self.labels.requirements and not self.fields.requirements


@dataclass(frozen=True)
class AntiAffinityTerm:
    """A required pod anti-affinity term: no selected pod may run in the same domain (one value of label `topology`)."""

    topology: str
    selector: Selector | None
    namespaces: tuple[str, ...]
    namespace_selector: Selector | None
    narrowed: bool
    """Whether the term also compares labels that differ between revisions, so that a rollout is not bound by it."""


@dataclass(frozen=True)
class SpreadTerm:
    """A required topology spread constraint (DoNotSchedule)."""

    topology: str
    skew: int
    min_domains: int
    selector: Selector | None
    honors_affinity: bool
    """Whether only nodes that the pod's node selector and node affinity allow count as domains (the default)."""
    honors_taints: bool
    """Whether only nodes whose taints the pod tolerates count as domains (not the default)."""
    narrowed: bool
    """Whether the constraint counts only pods of one revision of the workload (matchLabelKeys)."""


@dataclass(frozen=True)
class HostPort:
    """A host port of a pod."""

    protocol: str
    address: str
    """The node's IP address that the port is bound to; 0.0.0.0 for all addresses."""
    number: int

    def conflicts(self, other: HostPort) -> bool:
        """Whether pods with this and the other host port cannot run on the same node."""
        if (self.protocol, self.number) != (other.protocol, other.number):
            return False
        return self.address == other.address or ANY_ADDRESS in (self.address, other.address)


def node_terms(required: Properties) -> tuple[NodeTerm, ...]:
    """Reads the terms of the required node affinity of a pod or a volume. A node must meet one of them."""
    return tuple(
        NodeTerm(
            Selector(tuple(requirement(each) for each in term.at("matchExpressions").items())),
            Selector(tuple(requirement(each) for each in term.at("matchFields").items())),
        )
        for term in required.at("nodeSelectorTerms").items()
    )
