"""Reads the pods that a stack describes: pods of its workloads, and static pods from manifests in machines' files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from formats import image_reference
from policy.facts.kubernetes.node import MACHINE_TYPES
from policy.facts.kubernetes.workload import Workload
from policy.facts.programs import kind_of
from policy.facts.quorums.quorums import group_of, is_quorum
from policy.facts.stack import Facts
from policy.properties import Properties
from policy.resource import Resource

POD_TYPES = ("kubernetes:", *MACHINE_TYPES)
"""Prefixes of the types of resources that describe pods."""


@dataclass(frozen=True)
class Pods:
    """The pods of one workload, or one static pod from a manifest in a machine's files."""

    resource: Resource
    title: str
    name: str
    namespace: str
    spec: Properties
    workload: Workload | None
    """The workload that creates the pods; None for a static pod."""

    def containers(self) -> Iterator[Properties]:
        """Yields the containers of the pods, including init containers."""
        yield from self.spec.at("initContainers").items()
        yield from self.spec.at("containers").items()

    def lasting_containers(self) -> Iterator[Properties]:
        """Yields the containers that run as long as their pod, including sidecars among the init containers."""
        starting = self.spec.at("initContainers").items()
        yield from (each for each in starting if each.at("restartPolicy").text() == "Always")
        yield from self.spec.at("containers").items()

    @property
    def images(self) -> tuple[str, ...]:
        """Images of the pods' containers, including init containers."""
        return tuple(each.at("image").text() for each in self.containers())

    @property
    def names(self) -> set[str]:
        """Names of the containers' images, without registry and tag."""
        return {image_reference.parse(image).name for image in self.images}


def are_members(facts: Facts, each: Pods) -> bool:
    """Whether the pods are members of a quorum with several members. For static pods, their images decide."""
    if each.workload is None:
        return kind_of(each.images, several=True, stable=True) is not None
    return each.workload.is_long_running and is_quorum(facts, group_of(facts, each.workload))


@lru_cache(maxsize=2)  # a comparison of two stacks needs both
def pods(facts: Facts) -> tuple[Pods, ...]:
    """Returns the pods of every workload of a stack, and the static pods in its machines' files."""
    return tuple(_pods(facts))


def _pods(facts: Facts) -> Iterator[Pods]:
    for workload in facts.workloads:
        yield Pods(
            workload.resource, workload.title, workload.resource.name, workload.namespace, workload.pod, workload
        )
    for machine in facts.machines:
        for manifest in machine.of_kind("Pod"):
            tree = Properties(manifest, machine.resource.name)
            name = tree.at("metadata", "name").text()
            namespace = tree.at("metadata", "namespace").text("default")
            yield Pods(
                machine.resource, f"static pod {name} of {machine.title}", name, namespace, tree.at("spec"), None
            )
