"""Workloads: the Kubernetes objects that create pods, read from their manifests."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from contract import COMPANION_OF, ROW
from policy.facts.kubernetes.autoscalers import Autoscaler, Scaled
from policy.facts.kubernetes.quantity import PodResources, resources
from policy.facts.kubernetes.selectors import Labels, Selector, label_map, label_selector
from policy.facts.kubernetes.started import started
from policy.facts.kubernetes.terms import (
    ANY_ADDRESS,
    AntiAffinityTerm,
    HostPort,
    NodeTerm,
    SpreadTerm,
    Toleration,
    node_terms,
)
from policy.properties import Properties
from policy.resource import Resource

SYSTEM_NAMESPACES = ("kube-system", "calico-system", "calico-apiserver", "tigera-operator")
NODE_CRITICAL = "system-node-critical"

REPLICATED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
_TEMPLATE = {
    **dict.fromkeys((*REPLICATED, "DaemonSet", "Job"), ("spec", "template")),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "Pod": (),
}
"""The path of the pod template in each kind."""
WORKLOAD_TYPES = ("kubernetes:apps/", "kubernetes:batch/", "kubernetes:core/v1:Pod", "kubernetes:core/v1:ReplicationC")
"""Prefixes of the type tokens of workloads."""


_SCHEDULER = "default-scheduler"


class Workload:
    """A Kubernetes object that creates pods."""

    def __init__(
        self,
        resource: Resource,
        kind: str,
        *,
        title: str = "",
        program: str = "",
        scaled: Scaled | None = None,
    ) -> None:
        """`title`: the name in messages, by default kind and name. `program`: the program that the pods run, if known.

        `scaled`: the stack's autoscalers, by the workload that each scales.
        """
        self.resource = resource
        self.kind = kind
        self.title = title or f"{kind} {resource.name}"
        self.program = program
        self._scaled = scaled or {}
        self._object = resource.props
        self._template = self._object.at(*_TEMPLATE[kind])
        self.pod = self._template.at("spec")

    @cached_property
    def namespace(self) -> str:
        """The workload's namespace."""
        return self._object.at("metadata", "namespace").text("default")

    @cached_property
    def labels(self) -> Labels:
        """Labels of the workload's pods."""
        return self._template.at("metadata", "labels").texts()

    @cached_property
    def row(self) -> str | None:
        """Name of the reference architecture's row that the workload is annotated with; None without an annotation."""
        return self._noted(ROW)

    @cached_property
    def companion_of(self) -> str | None:
        """Name of the row whose service the workload is annotated as a companion of; None without an annotation."""
        return self._noted(COMPANION_OF)

    def _noted(self, key: str) -> str | None:
        """Returns the value of annotation or label `key` of the workload or of its pods; None if neither has it."""
        for holder in (self._object, self._template):
            metadata = holder.at("metadata")
            for kept in (metadata.at("annotations"), metadata.at("labels")):
                if key in kept.keys():  # noqa: SIM118 - cannot be iterated like a dict
                    return kept.at(key).text()
        return None

    @cached_property
    def replicas(self) -> int | None:
        """The workload's number of pods, the minimum if an autoscaler changes the number; None for a DaemonSet."""
        if self.kind == "DaemonSet":
            return None
        if self.autoscaler:
            return self.autoscaler.least
        if self.kind == "Job":
            return self._object.at("spec", "parallelism").number(1)
        if self.kind == "CronJob":
            return self._object.at("spec", "jobTemplate", "spec", "parallelism").number(1)
        return self._object.at("spec", "replicas").number(1)

    @cached_property
    def images(self) -> tuple[str, ...]:
        """Images of the workload's containers, without init containers."""
        return tuple(each.at("image").text() for each in self.pod.at("containers").items())

    @cached_property
    def started(self) -> tuple[str, ...]:
        """File names of the programs that the commands of the workload's containers start.

        Raises NotKnown if a preview does not know a command.
        """
        return tuple(started(self.pod))

    @cached_property
    def requests(self) -> PodResources:
        """The requests of one pod: the sum of all containers, or the largest init container if that is more.

        A container with a limit and no request requests its limit.
        """
        running = [container_requests(each) for each in self.pod.at("containers").items()]
        starting = [container_requests(each) for each in self.pod.at("initContainers").items()]
        total = sum(running, PodResources())
        for each in starting:
            total = total.most(each)
        return total

    @cached_property
    def config_maps(self) -> frozenset[str]:
        """Names of the ConfigMaps that the workload's pods mount."""
        volumes = list(self.pod.at("volumes").items())
        sources = [*volumes, *(source for each in volumes for source in each.at("projected", "sources").items())]
        return frozenset(name for each in sources if (name := each.at("configMap", "name").text()))

    @property
    def keeps_data(self) -> bool:
        """Whether the workload's pods have a volume that outlives them: a PersistentVolumeClaim or a hostPath."""
        volumes = self.pod.at("volumes").items()
        return bool(self.claim_templates or self.claim_names) or any(each.at("hostPath").given() for each in volumes)

    @cached_property
    def claim_templates(self) -> tuple[Properties, ...]:
        """The workload's volumeClaimTemplates, from which each pod gets its own claims."""
        return tuple(self._object.at("spec", "volumeClaimTemplates").items())

    @cached_property
    def claim_names(self) -> frozenset[str]:
        """Names of the PersistentVolumeClaims that every pod of the workload mounts."""
        volumes = self.pod.at("volumes").items()
        names = (each.at("persistentVolumeClaim", "claimName").text() for each in volumes)
        return frozenset(name for name in names if name)

    @property
    def name(self) -> str:
        """The workload's metadata.name.

        If it is not set, the Pulumi resource's name, from which Pulumi generates it.
        """
        return self._object.at("metadata", "name").text(self.resource.name)

    @property
    def spec(self) -> Properties:
        """The workload's field `spec`."""
        return self._object.at("spec")

    @property
    def strategy(self) -> Properties:
        """The fields that define how the workload replaces its pods: `strategy` (Deployment) or `updateStrategy`."""
        return self._object.at("spec", "strategy" if self.kind == "Deployment" else "updateStrategy")

    @cached_property
    def autoscaler(self) -> Autoscaler | None:
        """The autoscaler that changes the workload's number of pods; None if no autoscaler does."""
        return self._scaled.get((self.namespace, self.kind, self.name)) if self._scaled else None

    @property
    def is_long_running(self) -> bool:
        """Whether the workload keeps its pods running, unlike a Job or a CronJob."""
        return self.kind not in ("Job", "CronJob")

    @property
    def node_agent(self) -> bool:
        """Whether the workload is a node-level DaemonSet of the cluster itself, such as calico-node or kube-proxy."""
        if self.kind != "DaemonSet":
            return False
        return self.namespace in SYSTEM_NAMESPACES or self.pod.at("priorityClassName").text() == NODE_CRITICAL

    @cached_property
    def node_selector(self) -> Selector:
        """The pods' nodeSelector: labels that a node must have to run them."""
        return label_map(self.pod.at("nodeSelector"))

    @cached_property
    def node_terms(self) -> tuple[NodeTerm, ...] | None:
        """Terms of the pods' required node affinity, one of which a node must meet; None without such an affinity."""
        required = self.pod.at("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
        return node_terms(required) if required.given() else None

    @cached_property
    def tolerations(self) -> tuple[Toleration, ...]:
        """The tolerations of the workload's pods."""
        return tuple(
            Toleration(
                each.at("key").text(),
                each.at("operator").text("Equal"),
                each.at("value").text(),
                each.at("effect").text(),
            )
            for each in self.pod.at("tolerations").items()
        )

    @cached_property
    def anti_affinity(self) -> tuple[AntiAffinityTerm, ...]:
        """The required pod anti-affinity terms of the workload's pods."""
        required = self.pod.at("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
        return tuple(
            AntiAffinityTerm(
                term.at("topologyKey").text(),
                label_selector(term.at("labelSelector")),
                term.at("namespaces").words(),
                label_selector(term.at("namespaceSelector")),
                self._narrowed(term),
            )
            for term in required.items()
        )

    @cached_property
    def spreads(self) -> tuple[SpreadTerm, ...]:
        """The topology spread constraints of the workload's pods, without those with ScheduleAnyway."""
        return tuple(
            SpreadTerm(
                term.at("topologyKey").text(),
                term.at("maxSkew").number(1),
                term.at("minDomains").number(1),
                label_selector(term.at("labelSelector")),
                term.at("nodeAffinityPolicy").text("Honor") == "Honor",
                term.at("nodeTaintsPolicy").text("Ignore") == "Honor",
                self._narrowed(term),
            )
            for term in self.pod.at("topologySpreadConstraints").items()
            if term.at("whenUnsatisfiable").text("DoNotSchedule") == "DoNotSchedule"
        )

    @cached_property
    def node_name(self) -> str:
        """The node in the pods' spec.nodeName, which bypasses the scheduler; "" if it is not set."""
        return self.pod.at("nodeName").text()

    @cached_property
    def past_scheduler(self) -> str:
        """Why the workload's pods bypass kube-scheduler, for messages; "" if kube-scheduler places them.

        Anti-affinity and topology spread do not apply to pods that bypass kube-scheduler. The kubelet still rejects
        such a pod if its node affinity or a host port does not match the node.
        """
        if self.node_name:
            return f"spec.nodeName binds all its pods to {self.node_name}, past the scheduler"
        name = self.pod.at("schedulerName").text(_SCHEDULER)
        return "" if name == _SCHEDULER else f"spec.schedulerName is {name}, whose scheduling rules are not known"

    @cached_property
    def host_ports(self) -> frozenset[HostPort]:
        """Host ports of the workload's pods. Only one pod on a node can use the same host port."""
        on_host = self.pod.at("hostNetwork").flag()
        ports = (port for each in self.pod.at("containers").items() for port in each.at("ports").items())
        numbered = ((port, port.at("hostPort").number(0)) for port in ports)
        return frozenset(
            HostPort(
                port.at("protocol").text("TCP"),
                port.at("hostIP").text() or ANY_ADDRESS,
                number or port.at("containerPort").number(0),
            )
            for port, number in numbered
            if on_host or number > 0
        )

    def _narrowed(self, term: Properties) -> bool:
        if term.at("mismatchLabelKeys").words():
            return True
        return any(key not in self.labels for key in term.at("matchLabelKeys").words())


def container_requests(container: Properties) -> PodResources:
    """Returns the resource requests of one container. A limit without a request counts as the request."""
    written, limits = container.at("resources", "requests"), container.at("resources", "limits")
    asked, most = resources(written), resources(limits)
    return PodResources(
        asked.cpu if written.at("cpu").given() else most.cpu,
        asked.memory if written.at("memory").given() else most.memory,
    )


def workloads(those: Iterable[Resource], scaled: Scaled | None = None) -> tuple[Workload, ...]:
    """Every workload among these resources. `scaled`: the stack's autoscalers, by the workload that each scales."""
    found: list[Workload] = []
    for resource in those:
        kind = kubernetes_kind(resource)
        if kind in _TEMPLATE:
            found.append(Workload(resource, kind, scaled=scaled))
    return tuple(found)


def kubernetes_kind(resource: Resource) -> str:
    """Returns the kind of a Kubernetes object, such as "Deployment", from its type token; "" for other resources."""
    return resource.type.rpartition(":")[2] if resource.type.startswith("kubernetes:") else ""
