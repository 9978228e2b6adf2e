"""Clusters of operators: custom resources, read as the objects that their operator creates from them.

An operator is not part of the stack. What it does with a custom resource is taken from its documentation: pods,
labels, placement, storage, the disruption budget, and the product's own default for what is not written. All rules
then judge a RabbitmqCluster as they judge a StatefulSet with RabbitMQ, and name the custom resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from contract import HOSTNAME, NAME
from policy.facts.kubernetes.budgets_and_services import Budget, Service
from policy.facts.kubernetes.configuration import ConfigMap
from policy.facts.kubernetes.workload import Workload, kubernetes_kind
from policy.facts.properties import UNKNOWN
from policy.facts.resource import Resource

Tree = dict[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class Operated:
    """The objects that an operator creates from one custom resource."""

    resource: Resource
    """The custom resource."""
    workload: Workload
    service: Service
    """The headless Service that names the members."""
    budget: Budget | None
    """None where the operator creates none."""
    settings: ConfigMap


@dataclass(frozen=True)
class _Members:
    """What an operator makes of a custom resource. A value that is not known yet is UNKNOWN here as well."""

    program: str
    """As an application's name (app.kubernetes.io/name) would have it."""
    replicas: object
    labels: Tree
    pod: object
    claims: bool = True
    """Whether each member has a volume of its own."""
    budget: object = None
    """The limit of its disruption budget; None for no budget."""
    files: Tree = field(default_factory=dict[str, Any])


def operated(resources: Iterable[Resource]) -> Iterator[Operated]:
    """The clusters of operators among these resources."""
    for resource in resources:
        if read := OPERATORS.get(_group_and_kind(resource.type)):
            yield _operated(resource, read)


def is_operated(type_: str) -> bool:
    """Whether resources of this type are clusters of an operator that is read here."""
    return _group_and_kind(type_) in OPERATORS


def _group_and_kind(type_: str) -> str:
    """`rabbitmq.com/RabbitmqCluster` of kubernetes:rabbitmq.com/v1beta1:RabbitmqCluster."""
    package, _, rest = type_.partition(":")
    group, slash, kind = rest.partition("/")
    return f"{group}/{kind.rpartition(':')[2]}" if package == "kubernetes" and slash else ""


def _operated(resource: Resource, read: Callable[[str, object], _Members]) -> Operated:
    given = resource.plain()
    name = _at(given, "metadata", "name") or resource.name
    metadata = {"name": name, "namespace": _at(given, "metadata", "namespace")}
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
        Service(made(spec={"clusterIP": "None", "selector": members.labels})),
        Budget(made(spec=budget)) if budget is not None else None,
        ConfigMap(made(metadata={**metadata, "name": settings}, data=members.files)),
    )


def _mounting(pod: object, settings: str) -> object:
    """The same pod, which mounts the settings that the operator writes."""
    if not isinstance(pod, dict):
        return pod
    known = cast("Tree", pod)
    return {**known, "volumes": _with(known.get("volumes"), {"name": "settings", "configMap": {"name": settings}})}


_RABBITMQ_RESOURCES = {"requests": {"cpu": "1", "memory": "2Gi"}}
"""Of a RabbitmqCluster without resources (https://www.rabbitmq.com/kubernetes/operator/using-operator#resource-reqs)."""


def _galera_file(name: str, written: object) -> object:
    """An option file behind the settings that an operator makes by itself: one cluster of the members."""
    own = f"[mysqld]\nwsrep_on = ON\nwsrep_cluster_address = gcomm://{name}\n"
    return own + written if isinstance(written, str) else written


def _rabbitmq(name: str, spec: object) -> _Members:
    """RabbitMQ Cluster Operator 2: no budget, no anti-affinity of its own, and pause_minority."""
    override = _at(spec, "override", "statefulSet", "spec")
    sized = spec if _at(spec, "resources") is not None else _over(spec or {}, {"resources": _RABBITMQ_RESOURCES})
    pod = _pod("rabbitmq", _at(spec, "image") or "rabbitmq", sized, ("affinity", "tolerations"))
    config = _at(spec, "rabbitmq", "additionalConfig") or ""
    defaults = "cluster_partition_handling = pause_minority\n"
    return _Members(
        program="rabbitmq",
        replicas=_first(_at(override, "replicas"), _at(spec, "replicas"), 1),
        labels={NAME: name, "app.kubernetes.io/component": "rabbitmq", "app.kubernetes.io/part-of": "rabbitmq"},
        pod=_over(pod, _at(override, "template", "spec")),
        claims=_at(spec, "persistence", "storage") not in ("0", "0Gi", 0),
        files={
            "rabbitmq.conf": defaults + config if isinstance(config, str) else config,
            "advanced.config": _first(_at(spec, "rabbitmq", "advancedConfig"), ""),
        },
    )


def _percona(name: str, spec: object) -> _Members:
    """Percona Operator for MySQL (XtraDB Cluster) 1: apart over nodes, one eviction at a time, unless written."""
    pxc = _at(spec, "pxc")
    labels: Tree = {
        NAME: "percona-xtradb-cluster",
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/component": "pxc",
    }
    topology = _first(_at(pxc, "affinity", "antiAffinityTopologyKey"), HOSTNAME)
    affinity = _at(pxc, "affinity", "advanced")
    if affinity is None and topology != "none":
        affinity = _apart(topology, labels)
    image = _at(pxc, "image") or "percona-xtradb-cluster"
    pod = _pod("pxc", image, pxc, ("tolerations", "nodeSelector", "topologySpreadConstraints"))
    return _Members(
        program="percona-xtradb-cluster",
        replicas=_first(_at(pxc, "size"), 3),
        labels=labels,
        pod=_over(pod, {"affinity": affinity}),
        claims=_at(pxc, "volumeSpec", "emptyDir") is None,
        budget=_first(_at(pxc, "podDisruptionBudget"), {"maxUnavailable": 1}),
        files={"mysqld.cnf": _galera_file(name, _first(_at(pxc, "configuration"), ""))},
    )


def _mariadb(name: str, spec: object) -> _Members:
    """mariadb-operator: apart over nodes only if asked, half of the members evictable at most."""
    labels: Tree = {NAME: "mariadb", "app.kubernetes.io/instance": name}
    affinity = _at(spec, "affinity")
    apart = _first(_at(affinity, "antiAffinityEnabled"), _at(affinity, "enableAntiAffinity"))
    if apart is True:
        affinity = {**_apart(HOSTNAME, labels), **_part(affinity, "nodeAffinity")}
    image = _at(spec, "image") or "mariadb"
    pod = _pod("mariadb", image, spec, ("tolerations", "nodeSelector", "topologySpreadConstraints"))
    replicas = _first(_at(spec, "replicas"), 1)
    return _Members(
        program="mariadb",
        replicas=replicas,
        labels=labels,
        pod=_over(pod, {"affinity": UNKNOWN if apart is UNKNOWN else affinity}),
        claims=_at(spec, "storage", "ephemeral") is not True,
        budget=_first(_at(spec, "podDisruptionBudget"), None if replicas == 1 else {"minAvailable": "50%"}),
        files={"my.cnf": _galera_file(name, _first(_at(spec, "myCnf"), ""))},
    )


def _ceph(_name: str, spec: object) -> _Members:
    """Rook: three monitors, apart over nodes; with managePodBudgets one may be evicted, of five or more two."""
    labels: Tree = {NAME: "ceph-mon", "app": "rook-ceph-mon"}
    together, placement = (
        _at(spec, "mon", "allowMultiplePerNode"),
        _over(_at(spec, "placement", "all") or {}, _at(spec, "placement", "mon")),
    )
    affinity: object = _part(placement, "nodeAffinity") | _part(placement, "podAntiAffinity")
    if not together or together is UNKNOWN:
        own = _term(UNKNOWN if together is UNKNOWN else HOSTNAME, labels)
        terms = _with(_at(affinity, "podAntiAffinity", _REQUIRED), own)
        affinity = {**_part(placement, "nodeAffinity"), "podAntiAffinity": {_REQUIRED: terms}}
    image = _at(spec, "cephVersion", "image") or "ceph"
    sized = _over(placement, _part(_at(spec, "resources"), "mon") and {"resources": _at(spec, "resources", "mon")})
    pod = _pod("mon", image, sized, ("tolerations", "topologySpreadConstraints"))
    count = _first(_at(spec, "mon", "count"), 3)
    evictable = 2 if isinstance(count, float | int) and count >= 5 else 1
    managed = _at(spec, "disruptionManagement", "managePodBudgets")
    limit: object = {"maxUnavailable": evictable} if managed is True else (UNKNOWN if managed is UNKNOWN else None)
    return _Members(
        program="ceph-mon",
        replicas=0 if _at(spec, "external", "enable") is True else count,
        labels=labels,
        pod=UNKNOWN if placement is UNKNOWN else _over(pod, {"affinity": affinity}),
        budget=limit,
    )


def _etcd(name: str, spec: object) -> _Members:
    """etcd-operator: no budget and no anti-affinity of its own."""
    pod = _pod("etcd", "etcd", spec, ())
    return _Members(
        program="etcd",
        replicas=_first(_at(spec, "size"), 1),
        labels={"app": name, "controller": name},
        pod=_over(pod, _at(spec, "podTemplate", "spec")),
        claims=_at(spec, "storageSpec") is not None,
    )


def _postgres(name: str, spec: object) -> _Members:
    """CloudNativePG: apart over nodes as a preference, and a budget, unless written."""
    labels: Tree = {"cnpg.io/cluster": name, "cnpg.io/podRole": "instance"}
    own = _at(spec, "affinity")
    required = _first(_at(own, "podAntiAffinityType"), "preferred")
    if required is UNKNOWN or (required == "required" and _at(own, "enablePodAntiAffinity") is not False):
        topology = UNKNOWN if required is UNKNOWN else _first(_at(own, "topologyKey"), HOSTNAME)
        affinity = _apart(topology, labels) | _part(own, "nodeAffinity")
    else:
        affinity = _part(own, "nodeAffinity")
    image = _at(spec, "imageName") or "postgresql"
    pod = _pod("postgres", image, spec, ("topologySpreadConstraints",))
    placed = {"affinity": affinity, **_part(own, "tolerations"), **_part(own, "nodeSelector")}
    return _Members(
        program="postgres",
        replicas=_first(_at(spec, "instances"), 1),
        labels=labels,
        pod=_over(pod, placed),
        budget=None if _at(spec, "enablePDB") is False else {"maxUnavailable": 1},
    )


OPERATORS: Mapping[str, Callable[[str, object], _Members]] = {
    "rabbitmq.com/RabbitmqCluster": _rabbitmq,
    "pxc.percona.com/PerconaXtraDBCluster": _percona,
    "k8s.mariadb.com/MariaDB": _mariadb,
    "ceph.rook.io/CephCluster": _ceph,
    "operator.etcd.io/EtcdCluster": _etcd,
    "postgresql.cnpg.io/Cluster": _postgres,
}
"""API group and kind of each custom resource that is read, of any version."""


def _at(tree: object, *keys: str) -> Any:
    """The value below these keys, None where it is absent; UNKNOWN or a malformed value on the way there."""
    for key in keys:
        if not isinstance(tree, dict):
            return tree
        tree = cast("Tree", tree).get(key)
    return tree


def _first(*values: object) -> object:
    """The first value that is written."""
    return next((each for each in values if each is not None), None)


def _with(items: object, item: object) -> object:
    """A list, or nothing, with one more item; a value that is not a list stays as it is."""
    if items is None:
        return [item]
    return [*cast("list[object]", items), item] if isinstance(items, list) else items


def _part(tree: object, key: str) -> Tree:
    """One field of a mapping, as a mapping of that field alone; empty where it is absent."""
    value = _at(tree, key)
    return {} if value is None else {key: value}


def _pod(container: str, image: object, spec: object, fields: Iterable[str]) -> Tree:
    """A pod of one container that takes these fields of its pod from `spec`."""
    own: Tree = {"name": container, "image": image, **_part(spec, "resources")}
    pod: Tree = {"containers": [own]}
    for each in fields:
        pod |= _part(spec, each)
    return pod


def _over(pod: object, more: object) -> object:
    """A pod with further fields; its containers stay, since overrides name only what differs in them."""
    if more is None or not isinstance(pod, dict):
        return pod
    if not isinstance(more, dict):
        return more
    written = {key: value for key, value in cast("Tree", more).items() if key != "containers" and value is not None}
    return {**cast("Tree", pod), **written}


def _apart(topology: object, labels: Tree) -> Tree:
    return {"podAntiAffinity": {_REQUIRED: [_term(topology, labels)]}}


def _term(topology: object, labels: Tree) -> Tree:
    return {"topologyKey": topology, "labelSelector": {"matchLabels": labels}}
