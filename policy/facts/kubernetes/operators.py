"""Reads custom resources, such as a RabbitmqCluster, as the Kubernetes objects that their operator creates from them.

Operators create these objects at run time, so a preview does not contain them. This module reproduces, from the sources
of six operators, which pods, labels, placement, storage, disruption budget and defaults each derives from a custom
resource (product_defaults.py names release and file). The policy rules then evaluate a RabbitmqCluster like a
StatefulSet with RabbitMQ, and their findings name the custom resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from contract import HOSTNAME, NAME
from policy.facts.kubernetes.budgets_and_services import Budget, Service
from policy.facts.kubernetes.configuration import ConfigMap
from policy.facts.kubernetes.custom_trees import REQUIRED, Tree, apart, at, first, over, part, pod_of, term, with_item
from policy.facts.kubernetes.workload import Workload, kubernetes_kind
from policy.facts.product_defaults import (
    ETCD_REGISTRY,
    MARIADB_AVAILABLE,
    MARIADB_REPLICAS,
    MONITORS,
    MONITORS_UNAVAILABLE,
    MONITORS_UNAVAILABLE_FROM_FIVE,
    PERCONA_TOPOLOGY,
    PERCONA_UNAVAILABLE,
    POSTGRES_ANTI_AFFINITY,
    POSTGRES_INSTANCES,
    POSTGRES_TOPOLOGY,
    POSTGRES_UNAVAILABLE,
    RABBITMQ_CPU,
    RABBITMQ_MEMORY,
    RABBITMQ_PARTITIONS,
    RABBITMQ_REPLICAS,
)
from policy.properties import UNKNOWN
from policy.resource import Resource

CEPH = "ceph.rook.io/CephCluster"


@dataclass(frozen=True)
class Operated:
    """The objects that an operator creates from one custom resource."""

    resource: Resource
    """The custom resource."""
    workload: Workload
    service: Service
    """The headless Service that names the members."""
    budget: Budget | None
    """The PodDisruptionBudget; None if the operator creates none."""
    settings: ConfigMap


@dataclass(frozen=True)
class _Members:
    """Properties of the members that an operator creates from a custom resource; UNKNOWN if a preview does not know."""

    program: str
    """The program's name, in the form of the label app.kubernetes.io/name."""
    replicas: object
    labels: Tree
    pod: object
    claims: bool = True
    """Whether each member has a volume of its own."""
    budget: object = None
    """The fields of the disruption budget's spec that set its limit; None if the operator creates no budget."""
    files: Tree = field(default_factory=dict[str, Any])


def operated(resources: Iterable[Resource]) -> Iterator[Operated]:
    """Reads the custom resources of known operators among these resources.

    A CephCluster with external.enable connects to a Ceph whose monitors are elsewhere: its operator creates no member.
    """
    for resource in resources:
        if (read := OPERATORS.get(group_and_kind(resource.type))) and not _is_external(resource):
            yield _operated(resource, read)


def _is_external(resource: Resource) -> bool:
    given = resource.plain() if group_and_kind(resource.type) == CEPH else None
    return at(given, "spec", "external", "enable") is True


def is_operated(type_: str) -> bool:
    """Whether `type_` is the type token of a custom resource that this module reads."""
    return group_and_kind(type_) in OPERATORS


def group_and_kind(type_: str) -> str:
    """Returns API group and kind of a type token, "" if it has no API group.

    For example `rabbitmq.com/RabbitmqCluster` for kubernetes:rabbitmq.com/v1beta1:RabbitmqCluster.
    """
    package, _, rest = type_.partition(":")
    group, slash, kind = rest.partition("/")
    return f"{group}/{kind.rpartition(':')[2]}" if package == "kubernetes" and slash else ""


def _operated(resource: Resource, read: Callable[[str, object], _Members]) -> Operated:
    given = resource.plain()
    name = at(given, "metadata", "name") or resource.name
    metadata = {"name": name, "namespace": at(given, "metadata", "namespace")}
    settings = f"{kubernetes_kind(resource)}:{name}"  # no ConfigMap of the stack can have a colon in its name
    members = read(name, given.get("spec"))
    template = {"metadata": {"labels": members.labels}, "spec": _mounting(members.pod, settings)}
    spec: Tree = {"replicas": members.replicas, "serviceName": name, "template": template}
    if members.claims:
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": {}}]
    selector = {"matchLabels": members.labels}

    def made(**parts: object) -> Resource:
        tree: Tree = {"metadata": metadata, **parts}
        return Resource(resource.type, resource.urn, resource.name, lambda: tree, protected=resource.protected)

    limit = members.budget
    budget = {"selector": selector, **cast("Tree", limit)} if isinstance(limit, dict) else limit
    title = f"{kubernetes_kind(resource)} {resource.name}"
    return Operated(
        resource,
        Workload(made(spec=spec), "StatefulSet", title=title, program=members.program),
        Service(made(spec={"clusterIP": "None", "publishNotReadyAddresses": True, "selector": members.labels})),
        Budget(made(spec=budget)) if budget is not None else None,
        ConfigMap(made(metadata={**metadata, "name": settings}, data=members.files)),
    )


def _mounting(pod: object, settings: str) -> object:
    """Adds a volume with the operator's ConfigMap `settings` to a pod spec. Returns other values unchanged."""
    if not isinstance(pod, dict):
        return pod
    known = cast("Tree", pod)
    return {**known, "volumes": with_item(known.get("volumes"), {"name": "settings", "configMap": {"name": settings}})}


_RABBITMQ_RESOURCES = {"requests": {"cpu": RABBITMQ_CPU.value, "memory": RABBITMQ_MEMORY.value}}


def _galera_file(name: str, written: object) -> object:
    """Returns the operator's own Galera settings, followed by the user's option file `written`, which overrides."""
    own = f"[mysqld]\nwsrep_on = ON\nwsrep_cluster_address = gcomm://{name}\n"
    return own + written if isinstance(written, str) else written


def _rabbitmq(name: str, spec: object) -> _Members:
    """RabbitMQ Cluster Operator: creates no disruption budget. Its spread of pods over zones is only preferred."""
    override = at(spec, "override", "statefulSet", "spec")
    sized = spec if at(spec, "resources") is not None else over(spec or {}, {"resources": _RABBITMQ_RESOURCES})
    pod = pod_of("rabbitmq", at(spec, "image") or "rabbitmq", sized, ("affinity", "tolerations"))
    config = at(spec, "rabbitmq", "additionalConfig") or ""
    defaults = f"{RABBITMQ_PARTITIONS.setting} = {RABBITMQ_PARTITIONS.value}\n"
    return _Members(
        program="rabbitmq",
        replicas=first(at(override, "replicas"), at(spec, "replicas"), int(RABBITMQ_REPLICAS.value)),
        labels={NAME: name, "app.kubernetes.io/component": "rabbitmq", "app.kubernetes.io/part-of": "rabbitmq"},
        pod=over(pod, at(override, "template", "spec")),
        claims=at(spec, "persistence", "storage") not in ("0", "0Gi", 0),
        files={
            "rabbitmq.conf": defaults + config if isinstance(config, str) else config,
            "advanced.config": first(at(spec, "rabbitmq", "advancedConfig"), ""),
        },
    )


_PERCONA_TOGETHER = "none"
"""The value of Percona's antiAffinityTopologyKey that means no anti-affinity."""
_PERCONA_TOPOLOGIES = frozenset(
    {
        _PERCONA_TOGETHER,
        HOSTNAME,
        *(f"topology.kubernetes.io/{each}" for each in ("zone", "region")),
        *(f"failure-domain.beta.kubernetes.io/{each}" for each in ("zone", "region")),
    }
)


def _percona(name: str, spec: object) -> _Members:
    """Percona Operator for MySQL (XtraDB Cluster): creates no pods if `size` is not set.

    If antiAffinityTopologyKey has a value that the operator does not support, the operator uses its default.
    """
    pxc = at(spec, "pxc")
    labels: Tree = {
        NAME: "percona-xtradb-cluster",
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/component": "pxc",
    }
    topology = first(at(pxc, "affinity", "antiAffinityTopologyKey"), PERCONA_TOPOLOGY.value)
    if topology is not UNKNOWN and topology not in _PERCONA_TOPOLOGIES:
        topology = PERCONA_TOPOLOGY.value
    affinity = at(pxc, "affinity", "advanced")
    if affinity is None and topology != _PERCONA_TOGETHER:
        affinity = apart(topology, labels)
    image = at(pxc, "image") or "percona-xtradb-cluster"
    fields = ("tolerations", "nodeSelector", "topologySpreadConstraints", "priorityClassName")
    pod = pod_of("pxc", image, pxc, fields)
    return _Members(
        program="percona-xtradb-cluster",
        replicas=first(at(pxc, "size"), 0),
        labels=labels,
        pod=over(pod, {"affinity": affinity}),
        claims=at(pxc, "volumeSpec", "emptyDir") is None,
        budget=first(at(pxc, "podDisruptionBudget"), {"maxUnavailable": int(PERCONA_UNAVAILABLE.value)}),
        files={"mysqld.cnf": _galera_file(name, first(at(pxc, "configuration"), ""))},
    )


def _mariadb(name: str, spec: object) -> _Members:
    """mariadb-operator: sets anti-affinity only if antiAffinityEnabled is true.

    It creates a budget by default only if Galera or replication is enabled, because otherwise pods do not replicate.
    """
    labels: Tree = {NAME: "mariadb", "app.kubernetes.io/instance": name}
    affinity = at(spec, "affinity")
    asked = first(at(affinity, "antiAffinityEnabled"), at(affinity, "enableAntiAffinity"))
    if asked is True and at(affinity, "podAntiAffinity") is None:
        affinity = {**apart(HOSTNAME, labels), **part(affinity, "nodeAffinity")}
    image = at(spec, "image") or "mariadb"
    fields = ("tolerations", "nodeSelector", "topologySpreadConstraints", "priorityClassName")
    pod = pod_of("mariadb", image, spec, fields)
    galera, replication = (at(spec, kind, "enabled") for kind in ("galera", "replication"))
    written = first(at(spec, "myCnf"), "")
    limit: object = {"minAvailable": MARIADB_AVAILABLE.value} if galera is True or replication is True else None
    return _Members(
        program="mariadb",
        replicas=first(at(spec, "replicas"), int(MARIADB_REPLICAS.value)),
        labels=labels,
        pod=over(pod, {"affinity": UNKNOWN if asked is UNKNOWN else affinity}),
        claims=at(spec, "storage", "ephemeral") is not True,
        budget=first(at(spec, "podDisruptionBudget"), UNKNOWN if UNKNOWN in (galera, replication) else limit),
        files={"my.cnf": UNKNOWN if galera is UNKNOWN else _galera_file(name, written) if galera is True else written},
    )


def _ceph(_name: str, spec: object) -> _Members:
    """Rook: Ceph's monitors run on distinct nodes by default, and always if they use host networking.

    Rook creates a budget for monitors only if managePodBudgets is true.
    """
    labels: Tree = {NAME: "ceph-mon", "app": "rook-ceph-mon"}
    together, placement = (
        at(spec, "mon", "allowMultiplePerNode"),
        over(at(spec, "placement", "all") or {}, at(spec, "placement", "mon")),
    )
    affinity: object = part(placement, "nodeAffinity") | part(placement, "podAntiAffinity")
    network = at(spec, "network")
    on_host = at(network, "hostNetwork") is True or at(network, "provider") == "host"
    if on_host or not together or together is UNKNOWN:
        own = term(UNKNOWN if together is UNKNOWN and not on_host else HOSTNAME, labels)
        terms = with_item(at(affinity, "podAntiAffinity", REQUIRED), own)
        affinity = {**part(placement, "nodeAffinity"), "podAntiAffinity": {REQUIRED: terms}}
    image = at(spec, "cephVersion", "image") or "ceph"
    sized = over(placement, part(at(spec, "resources"), "mon") and {"resources": at(spec, "resources", "mon")})
    pod = pod_of("mon", image, sized, ("tolerations", "topologySpreadConstraints"))
    classes = at(spec, "priorityClassNames")
    priority = first(at(classes, "mon"), at(classes, "all"))
    count = at(spec, "mon", "count") or int(MONITORS.value)
    five = isinstance(count, float | int) and count >= 5
    evictable = MONITORS_UNAVAILABLE_FROM_FIVE if five else MONITORS_UNAVAILABLE
    managed = at(spec, "disruptionManagement", "managePodBudgets")
    limit: object = {"maxUnavailable": int(evictable.value)} if managed is True else None
    if isinstance(count, float | int) and count <= 2:
        limit = None
    elif managed is UNKNOWN:
        limit = UNKNOWN
    return _Members(
        program="ceph-mon",
        replicas=count,
        labels=labels,
        pod=UNKNOWN if placement is UNKNOWN else over(pod, {"affinity": affinity, "priorityClassName": priority}),
        budget=limit,
        files=_ceph_files(at(spec, "cephConfig")),
    )


def _ceph_files(written: object) -> Tree:
    """Returns the options that Rook gives to Ceph, by section, as a ceph.conf."""
    if not isinstance(written, dict):
        return {} if written is None else {"ceph.conf": written}
    lines: list[str] = []
    for section, options in cast("Tree", written).items():
        if not isinstance(options, dict):
            return {"ceph.conf": options}
        lines.append(f"[{section}]")
        for name, value in cast("Tree", options).items():
            if value is UNKNOWN:
                return {"ceph.conf": UNKNOWN}
            lines.append(f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}")
    return {"ceph.conf": "\n".join(lines)}


def _etcd(name: str, spec: object) -> _Members:
    """etcd-operator: creates no disruption budget, sets no anti-affinity. podTemplate.spec exists since release 0.3."""
    registry, version = first(at(spec, "imageRegistry"), ETCD_REGISTRY.value), at(spec, "version")
    image = UNKNOWN if UNKNOWN in (registry, version) else f"{registry}:{version}" if version else registry
    options = first(at(spec, "etcdOptions"), [])
    pod = {"containers": [{"name": "etcd", "image": image, "command": ["/usr/local/bin/etcd"], "args": options}]}
    return _Members(
        program="etcd",
        replicas=first(at(spec, "size"), 0),
        labels={"app": name, "controller": name},
        pod=over(pod, at(spec, "podTemplate", "spec")),
        claims=at(spec, "storageSpec") is not None and at(spec, "storageSpec", "accessModes") != "ReadWriteMany",
    )


def _postgres(name: str, spec: object) -> _Members:
    """CloudNativePG: its anti-affinity is preferred, not required, by default.

    Its two budgets, for the primary and for the replicas, together allow the eviction of one replica.
    """
    labels: Tree = {"cnpg.io/cluster": name, "cnpg.io/podRole": "instance"}
    own = at(spec, "affinity")
    required = first(at(own, "podAntiAffinityType"), POSTGRES_ANTI_AFFINITY.value)
    terms = first(at(own, "additionalPodAntiAffinity", REQUIRED), [])
    if required is UNKNOWN or (required == "required" and at(own, "enablePodAntiAffinity") is not False):
        topology = UNKNOWN if required is UNKNOWN else first(at(own, "topologyKey"), POSTGRES_TOPOLOGY.value)
        terms = with_item(terms, term(topology, labels))
    affinity = {**part(own, "nodeAffinity"), "podAntiAffinity": {REQUIRED: terms}}
    image = at(spec, "imageName") or "postgresql"
    pod = pod_of("postgres", image, spec, ("topologySpreadConstraints", "priorityClassName"))
    placed = {"affinity": affinity, **part(own, "tolerations"), **part(own, "nodeSelector")}
    return _Members(
        program="postgres",
        replicas=first(at(spec, "instances"), int(POSTGRES_INSTANCES.value)),
        labels=labels,
        pod=over(pod, placed),
        budget=None if at(spec, "enablePDB") is False else {"maxUnavailable": int(POSTGRES_UNAVAILABLE.value)},
    )


def _monitoring(program: str, container: str, repository: str) -> Callable[[str, object], _Members]:
    """Makes a reader for a custom resource of Prometheus Operator. Its pods do not vote, and have no budget."""

    def read(name: str, spec: object) -> _Members:
        version = at(spec, "version")
        default = (
            f"{repository}:{version}" if isinstance(version, str) else UNKNOWN if version is UNKNOWN else repository
        )
        fields = (
            "affinity",
            "tolerations",
            "nodeSelector",
            "topologySpreadConstraints",
            "priorityClassName",
            "hostNetwork",
        )
        pod = pod_of(container, first(at(spec, "image"), default), spec, fields)
        return _Members(
            program=program,
            replicas=first(at(spec, "replicas"), 1),
            labels={NAME: program, "app.kubernetes.io/instance": name},
            pod=pod,
            claims=at(spec, "storage", "volumeClaimTemplate") is not None,
        )

    return read


def _grafana(name: str, spec: object) -> _Members:
    """Grafana Operator: makes a Deployment without requests; spec.deployment overrides it."""
    deployment = at(spec, "deployment", "spec")
    version = at(spec, "version")
    image = (
        version if isinstance(version, str) and "/" in version else f"docker.io/grafana/grafana:{version or 'latest'}"
    )
    pod = pod_of("grafana", UNKNOWN if version is UNKNOWN else image, None, ())
    return _Members(
        program="grafana",
        replicas=first(at(deployment, "replicas"), 1),
        labels={NAME: "grafana", "app": name},
        pod=over(pod, at(deployment, "template", "spec")),
        claims=False,
    )


_PROMETHEUS = "quay.io/prometheus/prometheus"

OPERATORS: Mapping[str, Callable[[str, object], _Members]] = {
    "rabbitmq.com/RabbitmqCluster": _rabbitmq,
    "pxc.percona.com/PerconaXtraDBCluster": _percona,
    "k8s.mariadb.com/MariaDB": _mariadb,
    CEPH: _ceph,
    "operator.etcd.io/EtcdCluster": _etcd,
    "postgresql.cnpg.io/Cluster": _postgres,
    "monitoring.coreos.com/Prometheus": _monitoring("prometheus", "prometheus", _PROMETHEUS),
    "monitoring.coreos.com/PrometheusAgent": _monitoring("prometheus", "prometheus", _PROMETHEUS),
    "monitoring.coreos.com/Alertmanager": _monitoring(
        "alertmanager", "alertmanager", "quay.io/prometheus/alertmanager"
    ),
    "monitoring.coreos.com/ThanosRuler": _monitoring("thanos", "thanos-ruler", "quay.io/thanos/thanos"),
    "grafana.integreatly.org/Grafana": _grafana,
}
"""The function that reads each custom resource, by API group and kind of the resource, for all API versions."""
