"""Classifies the resource types of a stack: evaluated by policy rules, only read by them, harmless, or unknown.

Rules read some types, such as ConfigMaps, to evaluate other resources. A resource of a harmless type cannot cost a
quorum its members or data, or only groups other resources. No rule reads a resource of an unknown type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import contract
from policy.facts.kubernetes import autoscalers, network_policies
from policy.facts.kubernetes.ceph_pools import is_pool
from policy.facts.kubernetes.harmless_kinds import why_harmless
from policy.facts.kubernetes.operators import group_and_kind, is_operated
from policy.facts.machines import libvirt
from policy.facts.machines.host_commands import COPY_FILE, COPY_TO_REMOTE, LOCAL, REMOTE
from policy.resource import Resource

EVALUATED = frozenset(
    {
        *(f"kubernetes:apps/v1:{kind}" for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")),
        "kubernetes:core/v1:ReplicationController",
        "kubernetes:core/v1:Pod",
        "kubernetes:core/v1:Secret",
        "kubernetes:batch/v1:Job",
        "kubernetes:batch/v1:CronJob",
        "kubernetes:networking.k8s.io/v1:Ingress",
        "kubernetes:scheduling.k8s.io/v1:PriorityClass",
        "kubernetes:core/v1:LimitRange",
        "kubernetes:core/v1:ResourceQuota",
        *(
            f"kubernetes:admissionregistration.k8s.io/v1:{kind}WebhookConfiguration"
            for kind in ("Validating", "Mutating")
        ),
        libvirt.TYPE,
        libvirt.CLOUD_INIT,
        REMOTE,
        LOCAL,
    }
)
"""Types whose resources the rules evaluate. Custom resources of known operators (operators.py) are evaluated too."""

READ: Mapping[str, str] = {
    "kubernetes:core/v1:ConfigMap": "settings of the workloads that mount it",
    "kubernetes:core/v1:Namespace": "labels that namespace selectors match",
    "kubernetes:core/v1:Node": "a node that workloads may run on",
    "kubernetes:core/v1:Service": "names and endpoints of the workloads that it selects",
    "kubernetes:storage.k8s.io/v1:StorageClass": "what becomes of volumes that are released",
    "kubernetes:core/v1:PersistentVolume": "the node that its claim binds members to",
    "kubernetes:core/v1:PersistentVolumeClaim": "the volumes of the workloads that mount it",
    "kubernetes:policy/v1:PodDisruptionBudget": "evictions of the workloads that it selects",
    COPY_TO_REMOTE: "files and scripts that commands run",
    COPY_FILE: "files and scripts that commands run",
    **dict.fromkeys(network_policies.TYPES, "connections with the members of a quorum"),
    **dict.fromkeys((*autoscalers.HORIZONTAL, autoscalers.KEDA), "the fewest pods of its workload"),
    contract.CLOUD: "profile, architecture and target of the stack",
    contract.MACHINE: "a node, its files and steps",
    contract.MACHINE_POOL: "nodes that are alike",
    contract.MASTER_TIER: "the masters",
    contract.ETCD: "the members of etcd",
    contract.VIRT_HOST: "the virtual machines on a server",
    contract.PREVIOUS: "the members that the last deployment left",
}
"""Types that rules read to evaluate other resources, each with the information that a resource of the type gives."""

HARMLESS: Mapping[str, str] = {
    "pulumi:pulumi:Stack": "the root of the stack; it is nothing outside the engine",
    "pulumi:pulumi:StackReference": "reads outputs of another stack",
    contract.CALICO: "groups files of machines, which are evaluated with their machines",
    contract.ENVIRONMENT: "groups its children, which are evaluated",
    contract.PROJECT: "groups its children, which are evaluated",
    contract.PROCESS: "groups its children, which are evaluated",
    contract.DOMAIN_DEFINITION: "changes of a domain, which is evaluated; it asks the quorum before it restarts one",
    contract.TREE: "files of a machine, which are evaluated with the machine",
    "kubernetes:core/v1:ServiceAccount": "an identity without rights; bindings of roles grant them",
    "kubernetes:storage.k8s.io/v1:CSIDriver": "how a driver is called; it makes no volume",
    **{
        f"kubernetes:rbac.authorization.k8s.io/v1:{kind}": "rights of programs; it starts no pod"
        for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    },
    "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition": "a kind; the objects of it are resources themselves",
    "kubernetes:networking.k8s.io/v1:IngressClass": "names a controller of Ingresses",
    "kubernetes:node.k8s.io/v1:RuntimeClass": "how containers are run; it starts none",
    "kubernetes:autoscaling.k8s.io/v1:VerticalPodAutoscaler": "requests of pods; it evicts within disruption budgets",
    **dict.fromkeys(
        (f"libvirt:index/{kind}" for kind in ("volume:Volume", "pool:Pool", "network:Network")),
        "a part of virtual machines, which are evaluated",
    ),
    **dict.fromkeys(
        (f"random:index/{kind}" for kind in ("randomPassword:RandomPassword", "randomId:RandomId")),
        "a value in the state",
    ),
    **dict.fromkeys(
        ("random:index/randomString:RandomString", "random:index/randomBytes:RandomBytes"), "a value in the state"
    ),
}
"""Harmless types, each with the reason why its resources cannot cost a quorum its members or data.

Harmless custom resources are in kubernetes/harmless_kinds.py."""
PROVIDERS = "pulumi:providers:"
"""Prefix of the types of provider resources, which contain only configuration and are harmless."""

RENDERING = frozenset(
    {
        *(f"kubernetes:helm.sh/{version}:Chart" for version in ("v2", "v3", "v4")),
        *(f"kubernetes:{package}:{kind}" for package in ("yaml", "yaml/v2") for kind in ("ConfigFile", "ConfigGroup")),
        *(f"kubernetes:{package}:Directory" for package in ("kustomize", "kustomize/v2")),
    }
)
"""Components of the Kubernetes provider that render Kubernetes objects. The objects become resources of the stack."""


class KnownTypes:
    """Classifies each resource of a stack: only read by policy rules, harmless, or not known to the policy pack."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._parents = {resource.parent for resource in resources}

    def is_read(self, resource: Resource) -> bool:
        """Whether rules read a resource of this type to evaluate other resources."""
        return resource.type in READ

    def is_harmless(self, resource: Resource) -> bool:
        """Whether the resource cannot cost a quorum its members or data, by its type or because it is a component.

        A component has no provider and only groups other resources. A component that renders Kubernetes objects is
        harmless only if the stack contains child resources of it.
        """
        if resource.type in RENDERING:
            return resource.urn in self._parents
        if why_harmless(group_and_kind(resource.type)):
            return True
        return resource.type in HARMLESS or resource.type.startswith(PROVIDERS) or not resource.provider

    def is_known(self, resource: Resource) -> bool:
        """Whether policy rules evaluate or read the resource, or the resource is harmless."""
        if resource.type in EVALUATED or is_operated(resource.type) or is_pool(resource.type):
            return True
        return self.is_read(resource) or self.is_harmless(resource)


@dataclass
class Coverage:
    """How many resources of one type the policy rules evaluate, only read, know as harmless, or do not know."""

    evaluated: int = 0
    """Resources for which at least one rule has a verdict."""
    read: int = 0
    """Resources without a verdict, of a type that rules read to evaluate other resources."""
    harmless: int = 0
    unknown: int = 0


def coverage(resources: Iterable[Resource], evaluated: Collection[str]) -> dict[str, Coverage]:
    """Counts a stack's resources by type. Returns the counts by type, sorted.

    `evaluated`: URNs of the resources for which at least one policy rule has a verdict.
    """
    found: dict[str, Coverage] = {}
    those = tuple(resources)
    known = KnownTypes(those)
    for resource in those:
        counts = found.setdefault(resource.type, Coverage())
        if not known.is_known(resource):
            counts.unknown += 1
        elif resource.urn in evaluated:
            counts.evaluated += 1
        elif known.is_read(resource):
            counts.read += 1
        else:
            counts.harmless += 1
    return dict(sorted(found.items()))


def total(types: Mapping[str, Coverage]) -> Coverage:
    """Adds up the counts of all resource types."""
    counts: Counter[str] = Counter()
    for each in types.values():
        counts.update(vars(each))
    return Coverage(**counts)
