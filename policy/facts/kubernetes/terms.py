"""The scheduling terms of a pod: tolerations, node affinity, anti-affinity, spread, host ports."""

from __future__ import annotations

from dataclasses import dataclass

from policy.facts.kubernetes.selectors import Selector, requirement
from policy.facts.properties import Properties

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
    """A required pod anti-affinity: no selected pod may be in the same topology domain."""

    topology: str
    selector: Selector | None
    namespaces: tuple[str, ...]
    namespace_selector: Selector | None
    narrowed: bool
    """Whether it also compares labels that differ between revisions, so that it does not hold during a rollout."""


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
    """Whether it counts pods of one revision only."""


@dataclass(frozen=True)
class HostPort:
    """A host port of a pod."""

    protocol: str
    address: str
    """0.0.0.0 for every address of the node."""
    number: int

    def conflicts(self, other: HostPort) -> bool:
        """Whether both cannot be used on one node."""
        if (self.protocol, self.number) != (other.protocol, other.number):
            return False
        return self.address == other.address or ANY_ADDRESS in (self.address, other.address)


def node_terms(required: Properties) -> tuple[NodeTerm, ...]:
    """Reads the alternative terms of a required node affinity, of pods or of a volume."""
    return tuple(
        NodeTerm(
            Selector(tuple(requirement(each) for each in term.at("matchExpressions").items())),
            Selector(tuple(requirement(each) for each in term.at("matchFields").items())),
        )
        for term in required.at("nodeSelectorTerms").items()
    )
