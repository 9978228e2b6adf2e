"""Persistent volumes: how a pod's claims limit its eligible nodes.

Only PersistentVolumes of the stack are known. A claim that fits some of them is assumed to bind to one of them. Any
other claim does not limit the nodes, because its storage class provisions a volume where the pod runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from policy.facts.kubernetes.selectors import Labels, Selector, label_selector
from policy.facts.kubernetes.terms import NodeTerm, node_terms
from policy.facts.kubernetes.workload import Workload, kubernetes_kind
from policy.properties import Properties
from policy.resource import Resource


@dataclass(frozen=True)
class Volume:
    """A PersistentVolume."""

    name: str
    storage_class: str
    labels: Labels
    claimed_by: str
    """The claim that the volume is reserved for (claimRef), as namespace/name; "" if any claim may bind to it."""
    terms: tuple[NodeTerm, ...] | None
    """Terms of the volume's node affinity, one of which a node must meet; None if every node can mount the volume."""
    resource: Resource

    @property
    def spec(self) -> Properties:
        """The volume's field `spec`."""
        return self.resource.props.at("spec")


@dataclass(frozen=True)
class ClaimFacts:
    """A PersistentVolumeClaim, or the claims that a StatefulSet creates from one volumeClaimTemplate."""

    namespace: str
    name: str
    """A regular expression for the claim's name, because a StatefulSet's claims end in the ordinals of its pods."""
    spec: Properties

    def binds(self, volume: Volume) -> bool:
        """Whether the claim can bind to the volume."""
        if wanted := self.spec.at("volumeName").text():
            return wanted == volume.name
        if volume.claimed_by and not re.fullmatch(f"{re.escape(self.namespace)}/{self.name}", volume.claimed_by):
            return False
        selector = label_selector(self.spec.at("selector")) or Selector()
        return self.spec.at("storageClassName").text() == volume.storage_class and selector.selects(volume.labels)


class Volumes:
    """The PersistentVolumes and PersistentVolumeClaims of a stack."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        those = [(kubernetes_kind(each), each) for each in resources]
        self._volumes = tuple(_volume(each) for kind, each in those if kind == "PersistentVolume")
        self._claims = tuple(_claim(each) for kind, each in those if kind == "PersistentVolumeClaim")

    def terms(self, workload: Workload) -> tuple[Sequence[NodeTerm], ...]:
        """Returns node affinity terms of the volumes that the workload's claims can bind to, one sequence per claim.

        A node must meet one term of each sequence. Claims that do not limit the nodes are omitted.
        """
        if not self._volumes:
            return ()
        found: list[Sequence[NodeTerm]] = []
        for claim in self._claims_of(workload):
            own = [volume for volume in self._volumes if claim.binds(volume)]
            if own and all(volume.terms is not None for volume in own):
                found.append(tuple(dict.fromkeys(term for volume in own for term in volume.terms or ())))
        return tuple(found)

    def bound(self, workload: Workload) -> tuple[Volume, ...]:
        """Returns the volumes that the workload's claims can bind to."""
        claims = list(self._claims_of(workload))
        return tuple(volume for volume in self._volumes if any(claim.binds(volume) for claim in claims))

    def storage_classes(self, workload: Workload) -> frozenset[str]:
        """Returns the names of the storage classes that the workload's claims name."""
        return frozenset(claim.spec.at("storageClassName").text() for claim in self._claims_of(workload)) - {""}

    def _claims_of(self, workload: Workload) -> Iterator[ClaimFacts]:
        wanted = {re.escape(name) for name in workload.claim_names}
        yield from (each for each in self._claims if each.namespace == workload.namespace and each.name in wanted)
        for each in workload.claim_templates:
            template = re.escape(f"{each.at('metadata', 'name').text()}-{workload.name}")
            yield ClaimFacts(workload.namespace, rf"{template}-\d+", each.at("spec"))


def _volume(resource: Resource) -> Volume:
    spec = resource.props.at("spec")
    claimed = spec.at("claimRef")
    affinity = spec.at("nodeAffinity", "required")
    return Volume(
        resource.props.at("metadata", "name").text(resource.name),
        spec.at("storageClassName").text(),
        resource.props.at("metadata", "labels").texts(),
        f"{claimed.at('namespace').text()}/{claimed.at('name').text()}" if claimed.given() else "",
        node_terms(affinity) if affinity.given() else None,
        resource,
    )


def _claim(resource: Resource) -> ClaimFacts:
    metadata = resource.props.at("metadata")
    name = re.escape(metadata.at("name").text(resource.name))
    return ClaimFacts(metadata.at("namespace").text("default"), name, resource.props.at("spec"))
