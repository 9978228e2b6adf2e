"""What the pack knows of a resource's type, beyond the rules that evaluate it.

Two tables: types that rules read as evidence on other resources, and types that cannot cost a quorum its members or
data. A type in neither table is unknown: if no rule evaluates a resource of it, no rule has seen the resource.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import contract
from policy.facts.commands import COPY_FILE, COPY_TO_REMOTE
from policy.facts.resource import Resource

READ: Mapping[str, str] = {
    "kubernetes:core/v1:ConfigMap": "settings of the workloads that mount it",
    "kubernetes:core/v1:Namespace": "labels that namespace selectors match",
    "kubernetes:core/v1:Node": "a node that workloads may run on",
    "kubernetes:core/v1:Service": "names and endpoints of the workloads that it selects",
    "kubernetes:policy/v1:PodDisruptionBudget": "evictions of the workloads that it selects",
    COPY_TO_REMOTE: "files and scripts that commands run",
    COPY_FILE: "files and scripts that commands run",
    contract.CLOUD: "profile, architecture and target of the stack",
    contract.MACHINE: "a node, its files and steps",
    contract.MACHINE_POOL: "nodes that are alike",
    contract.MASTER_TIER: "the masters",
    contract.ETCD: "the members of etcd",
    contract.VIRT_HOST: "the virtual machines on a server",
    contract.PREVIOUS: "the members that the last deployment left",
}
"""Type to what rules on other resources read of it."""

HARMLESS: Mapping[str, str] = {
    "pulumi:pulumi:Stack": "the root of the stack; it is nothing outside the engine",
    "pulumi:pulumi:StackReference": "reads outputs of another stack",
    "pulumi:providers:kubernetes": "configuration of a provider; its resources are evaluated",
    "pulumi:providers:command": "configuration of a provider; its resources are evaluated",
    "pulumi:providers:libvirt": "configuration of a provider; its resources are evaluated",
    "pulumi:providers:pulumi": "the engine's own provider",
    "pulumi:providers:pulumi-python": "the provider of dynamic resources",
    contract.CALICO: "groups files of machines, which are evaluated with their machines",
    contract.ENVIRONMENT: "groups its children, which are evaluated",
    contract.PROJECT: "groups its children, which are evaluated",
    contract.PROCESS: "groups its children, which are evaluated",
    contract.TREE: "files of a machine, which are evaluated with the machine",
    "kubernetes:core/v1:ServiceAccount": "an identity without rights; bindings of roles grant them",
    "kubernetes:scheduling.k8s.io/v1:PriorityClass": "pods of a higher priority preempt others; it starts no pod",
    "kubernetes:core/v1:PersistentVolume": "a volume; the claims of workloads are evaluated",
    "kubernetes:storage.k8s.io/v1:StorageClass": "how volumes are made; it makes none",
}
"""Type to why a resource of it cannot cost a quorum its members or data."""


@dataclass
class Coverage:
    """How many resources of a type were evaluated, and how many were not."""

    evaluated: int = 0
    """By at least one rule, with a finding on the resource itself."""
    read: int = 0
    """Not evaluated, and of a type that rules on other resources read."""
    harmless: int = 0
    unknown: int = 0


def coverage(resources: Iterable[Resource], evaluated: Collection[str]) -> dict[str, Coverage]:
    """The coverage of each type, by name; `evaluated` has the URNs that rules have a verdict on."""
    found: dict[str, Coverage] = {}
    for resource in resources:
        counts = found.setdefault(resource.type, Coverage())
        if resource.urn in evaluated:
            counts.evaluated += 1
        elif resource.type in READ:
            counts.read += 1
        elif resource.type in HARMLESS:
            counts.harmless += 1
        else:
            counts.unknown += 1
    return dict(sorted(found.items()))


def total(types: Mapping[str, Coverage]) -> Coverage:
    """The sum over all types."""
    counts: Counter[str] = Counter()
    for each in types.values():
        counts.update(vars(each))
    return Coverage(**counts)
