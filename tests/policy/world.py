"""Short builders for the resources of a stack. Each resource breaks no rule, so that a case shows what is wrong.

A `Given` is a resource as a program would make it. `facts` reads it the way the analyzer does, `sdk_args` wraps it in
the policy SDK's own proxies, and tests/policy/engine runs it through the real engine.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from google.protobuf import json_format, struct_pb2
from pulumi_policy import (
    PolicyCustomTimeouts,
    PolicyProviderResource,
    PolicyResource,
    PolicyResourceOptions,
    StackValidationArgs,
    proxy,
)

import contract
from blueprint.architecture.loader import load_architecture
from policy.engine.decode import from_message
from policy.facts.levels import RuleLevel
from policy.facts.stack import Facts
from policy.facts.stack_configuration import PRODUCTION, StackConfiguration
from policy.facts.stack_waivers import Waivers

UNKNOWN = proxy.UNKNOWN_STRING_VALUE
"""The text that the engine sends in a preview for a value that is not known yet."""

HOST, SERVER = "kubernetes.io/hostname", "quorate.io/server"

Props = dict[str, Any]


@dataclass(frozen=True)
class Given:
    """A resource of a stack, as a program would create it."""

    type: str
    name: str
    props: Props
    protected: bool = False
    after: tuple[str, ...] = ()
    """Names of the resources on which the resource depends."""
    parent: str = ""
    """Name of the resource's parent component; empty for none."""
    provider: str = "provider"
    """Connection (`uri`) of the resource's provider; empty for a component, which has no provider."""

    @property
    def urn(self) -> str:
        return f"urn:pulumi:test::quorate::{self.type}::{self.name}"

    @property
    def inputs(self) -> Props:
        """The inputs of a Kubernetes object: its properties with apiVersion and kind, which the SDK's classes add."""
        group, _, kind = self.type.partition(":")[2].rpartition(":")
        return {"apiVersion": group.removeprefix("core/"), "kind": kind, **self.props}

    def but(self, **changes: object) -> Given:
        """Returns the resource with other properties; `spec__replicas=2` changes a nested property, None removes it."""
        props = copy.deepcopy(self.props)
        for path, value in changes.items():
            *above, last = path.split("__")
            holder = props
            for key in above:
                holder = holder.setdefault(key, {})
            if value is None:
                holder.pop(last, None)
            else:
                holder[last] = value
        return replace(self, props=props)


def stack() -> Given:
    return Given("pulumi:pulumi:Stack", "quorate-test", {})


def cloud(architecture: str = "100", profile: str = "production", **facts: object) -> Given:
    return Given("quorate:index:Cloud", "cloud", {"profile": profile, "architecture": architecture, **facts})


def machine(
    name: str,
    pool: str,
    *,
    server: object = None,
    roles: Sequence[str] = ("controller",),
    labels: Mapping[str, object] | None = None,
    taints: object = None,
    files: Mapping[str, object] | None = None,
    definition: Mapping[str, object] | None = None,
) -> Given:
    """A machine that is a node of a pool, by default on a separate physical server."""
    dedicated = (
        ["node-role.kubernetes.io/control-plane=:NoSchedule"]
        if pool == "master"
        else [f"quorate.io/dedicated={pool}:NoSchedule"]
    )
    where = server or name
    props: Props = {
        "node": name,
        "server": where,
        "rack": "",
        "roles": list(roles),
        "pool": pool,
        "labels": {"quorate.io/pool": pool, SERVER: where, **(labels or {})},
        "taints": dedicated if taints is None else taints,
        "files": dict(files or {}),
        "definition": dict(definition or {}),
    }
    return Given(contract.MACHINE, name, props)


def machines(pool: str, count: int = 3, **each: Any) -> list[Given]:
    """Several nodes of a pool: rabbitmq-1, rabbitmq-2, …"""
    return [machine(f"{pool}-{number}", pool, **each) for number in range(1, count + 1)]


def machine_pool(pool: str, count: int = 3, **changes: object) -> Given:
    """A pool of identical workers as one resource."""
    names = [f"{pool}-{number}" for number in range(1, count + 1)]
    props: Props = {
        "pool": pool,
        "roles": [pool],
        "labels": {"quorate.io/pool": pool},
        "taints": [f"quorate.io/dedicated={pool}:NoSchedule"],
        "nodes": json.dumps([{"node": name, "server": name, "rack": "r1", "address": "10.0.0.1"} for name in names]),
        "files": {},
        **changes,
    }
    return Given(contract.MACHINE_POOL, f"{pool}s", props)


def masters(count: int = 3, **each: Any) -> list[Given]:
    return machines("master", count, roles=["master"], **each)


def etcd_machines(*names: str, server: object = None) -> list[Given]:
    """Machines of role etcd, each with its member and the hourly copy: no nodes, without pool, labels and taints."""
    peers = ",".join(f"{name}=https://10.0.0.{number}:2380" for number, name in enumerate(names, start=1))
    found: list[Given] = []
    for number, name in enumerate(names, start=1):
        files = {
            "/etc/systemd/system/etcd.service": "[Service]\nExecStart=/usr/bin/etcd\n",
            "/etc/systemd/system/etcd-backup.service": "[Service]\nExecStart=/usr/bin/etcdctl snapshot save /b.db\n",
            "/etc/systemd/system/etcd-backup.timer": "[Timer]\nOnCalendar=hourly\n",
            "/etc/etcd/member.env": f"ETCD_NAME={name}\nETCD_INITIAL_CLUSTER={peers}\n",
        }
        made = machine(name, "", server=server, roles=["etcd"], taints=[], files=files)
        found.append(made.but(labels={}, address=f"10.0.0.{number}"))
    return found


def with_files(given: Given) -> Given:
    """Returns the machine with the files that match its properties.

    A master's also run etcd and copy its data; any other's run a proxy to the API servers.
    """
    props = given.props
    pool = given.type == contract.MACHINE_POOL
    labels = {**props["labels"], **({SERVER: "${server}"} if pool else {})}
    if pool and any(each["rack"] for each in json.loads(props["nodes"])):
        labels |= {"quorate.io/rack": "${rack}", "topology.kubernetes.io/zone": "${rack}"}
    taints = [
        {"key": pair.partition("=")[0], "value": pair.partition("=")[2], "effect": effect}
        for text in props["taints"]
        for pair, _, effect in [text.rpartition(":")]
    ]
    pairs = ",".join(f"{key}={value}" for key, value in labels.items())
    joining = {
        "kind": "JoinConfiguration",
        "nodeRegistration": {
            "name": "${node}" if pool else props["node"],
            "taints": taints,
            "kubeletExtraArgs": [{"name": "node-labels", "value": pairs}],
        },
        **({"controlPlane": {}} if "master" in props["roles"] else {}),
    }
    files = {
        "/etc/kubernetes/kubeadm.yaml": json.dumps(joining),
        "/etc/kubernetes/patches/kubelet.yaml": json.dumps(
            {"kind": "KubeletConfiguration", "registerWithTaints": taints}
        ),
    }
    if "master" in props["roles"]:
        peers = ",".join(f"{name}=https://10.0.0.{number}:2380" for number, name in enumerate(MASTERS, start=1))
        files["/etc/systemd/system/etcd.service"] = "[Service]\nExecStart=/usr/bin/etcd\n"
        files["/etc/systemd/system/backup.service"] = "[Service]\nExecStart=/usr/bin/etcdctl snapshot save /b.db\n"
        files["/etc/systemd/system/backup.timer"] = "[Timer]\nOnCalendar=hourly\n"
        files["/etc/etcd/etcd.env"] = f"ETCD_NAME={props['node']}\nETCD_INITIAL_CLUSTER={peers}\n"
    else:
        servers = " ".join(f"server 10.0.0.{number}:6443;" for number in (1, 2, 3))
        files["/etc/nginx/nginx.conf"] = f"upstream api {{ {servers} }}\nserver {{\n  proxy_timeout 10m;\n}}\n"
        container = {"name": "nginx", "image": "registry/nginx:1"}
        metadata = {"name": "api-proxy", "namespace": "kube-system"}
        proxy = {"kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
        files["/etc/kubernetes/manifests/api-proxy.yaml"] = json.dumps(proxy)
    return given.but(files={**files, **props["files"]})


def _members(names: Iterable[str], servers: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {"node": name, "server": servers.get(name, name), "address": f"10.0.0.{number}"}
        for number, name in enumerate(names, start=1)
    ]


def master_tier(*names: str, **servers: str) -> Given:
    return Given("quorate:k8s:MasterTier", "masters", {"masters": _members(names or MASTERS, servers)})


def etcd(*names: str, **servers: str) -> Given:
    return Given("quorate:k8s:Etcd", "etcd", {"members": _members(names or MASTERS, servers)})


MASTERS = ("master-1", "master-2", "master-3")


def virt_host(name: str, *guests: str) -> Given:
    return Given("quorate:virt:VirtHost", name, {"server": name, "vms": [{"node": guest} for guest in guests]})


def workload(
    name: str,
    kind: str = "Deployment",
    *,
    pools: Sequence[str] = (),
    row: object = None,
    replicas: object = 3,
    apart: Sequence[str] = (HOST,),
    image: object = "registry/app:1",
    labels: Mapping[str, object] | None = None,
    namespace: str = "openstack",
) -> Given:
    """A workload as components write it: one instance per node of its pools, and no surge."""
    pod_labels: dict[str, object] = {"app.kubernetes.io/name": name} if labels is None else dict(labels)
    annotations: dict[str, object] = {} if row is None else {"quorate.io/row": row}
    affinity: Props = {"podAntiAffinity": {REQUIRED: [apart_term(each, pod_labels) for each in apart]}}
    if pools:
        term = {"matchExpressions": [{"key": "quorate.io/pool", "operator": "In", "values": list(pools)}]}
        affinity["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": [term]}}
    pod: Props = {"containers": [{"name": "main", "image": image}], "affinity": affinity}
    pod["tolerations"] = [
        {"key": "quorate.io/dedicated", "operator": "Equal", "value": each, "effect": "NoSchedule"} for each in pools
    ]
    template = {"metadata": {"labels": pod_labels, "annotations": dict(annotations)}, "spec": pod}
    spec: Props = {"selector": {"matchLabels": pod_labels}, "template": template}
    if kind == "StatefulSet":
        spec["serviceName"] = f"{name}-members"
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]
    if kind in ("Deployment", "StatefulSet"):
        spec["replicas"] = replicas
    if kind == "Deployment":
        spec["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    metadata: Props = {"name": name, "namespace": namespace, "annotations": annotations}
    api = "batch/v1" if kind == "Job" else "apps/v1"
    props: Props = {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}
    return Given(f"kubernetes:{api}:{kind}", name, props)


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def apart_term(topology: str, labels: Mapping[str, object], **more: object) -> Props:
    """A term of a required pod anti-affinity."""
    return {"topologyKey": topology, "labelSelector": {"matchLabels": dict(labels)}, **more}


def quorum(name: str = "rabbitmq", row: object = "rabbitmq-server", **changes: Any) -> Given:
    """A quorum of three members with anti-affinity over nodes and physical hosts, and the ConfigMap of its name."""
    given: dict[str, Any] = {"pools": [name], "apart": (HOST, SERVER), **changes}
    built = workload(name, "StatefulSet", row=row, **given)
    return _as_member(reading(built, name) if name in CONFIGURED else built)


def _as_member(given: Given) -> Given:
    """Returns the workload with small requests of its containers, because members of a quorum must have requests."""
    containers = given.props["spec"]["template"]["spec"]["containers"]
    little = {"requests": {"cpu": "1m", "memory": "1Mi"}}
    return given.but(spec__template__spec__containers=[{**each, "resources": little} for each in containers])


def of_cluster(given: Given, cluster: str = "rabbit") -> Given:
    """Returns the workload with pods that are members of a cluster of this name."""
    (first, *others) = given.props["spec"]["template"]["spec"]["containers"]
    named = {**first, "env": [{"name": "CLUSTER_NAME", "value": cluster}]}
    return given.but(spec__template__spec__containers=[named, *others])


def daemons(name: str, *pools: str, row: object = None, **changes: Any) -> Given:
    return workload(name, "DaemonSet", pools=pools, row=row, apart=(), **changes)


def budget(
    name: str, selects: object = None, namespace: str = "openstack", limit: Mapping[str, object] | None = None
) -> Given:
    """A PodDisruptionBudget for the pods of the workload of the same name."""
    labels = {"app.kubernetes.io/name": name} if selects is None else selects
    spec: Props = {"selector": {"matchLabels": labels}, **(limit or {"maxUnavailable": 1})}
    props: Props = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec}
    props["metadata"] = {"name": name, "namespace": namespace}
    return Given("kubernetes:policy/v1:PodDisruptionBudget", f"{name}-budget", props)


def service(name: str, selects: object = None, namespace: str = "openstack", **spec: object) -> Given:
    """A Service for the pods of the workload of the same name."""
    selector = {"app.kubernetes.io/name": name} if selects is None else selects
    props: Props = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}}
    props["spec"] = {"type": "ClusterIP", "selector": selector, "ports": [{"port": 80}], **spec}
    return Given("kubernetes:core/v1:Service", f"{name}-service", props)


def names(name: str, selects: object = None, namespace: str = "openstack") -> Given:
    """The headless Service that gives the pods of a StatefulSet their names."""
    given = service(f"{name}-members", {"app.kubernetes.io/name": name} if selects is None else selects, namespace)
    return given.but(spec__clusterIP="None", spec__publishNotReadyAddresses=True)


def closed(namespace: str = "openstack") -> Given:
    """A NetworkPolicy that admits no pods of other namespaces to a namespace."""
    spec: Props = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": {}}]}]}
    props: Props = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "spec": spec}
    props["metadata"] = {"name": "closed", "namespace": namespace}
    return Given("kubernetes:networking.k8s.io/v1:NetworkPolicy", "closed", props)


def scheduled(command: object = "mariadb-backup --backup", namespace: str = "openstack", **spec: object) -> Given:
    """A CronJob that backs up the database."""
    pod = {"containers": [{"name": "save", "image": "mariadb:11.4", "command": ["sh", "-c", command]}]}
    job = {"activeDeadlineSeconds": 3600, "template": {"spec": pod}}
    fields = {"schedule": "@daily", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": job}, **spec}
    metadata = {"name": "backup", "namespace": namespace}
    return Given("kubernetes:batch/v1:CronJob", "backup", {"metadata": metadata, "spec": fields})


def restoring(of: object = "backup") -> Given:
    """A CronJob that restores backups of the database to test them."""
    made = scheduled("mariadb-backup --copy-back").but(metadata__annotations={contract.TESTS_BACKUP: of})
    return replace(made.but(metadata__name="backup-test"), name="backup-test")


def requesting(given: Given, cpu: object, memory: object) -> Given:
    """Returns the workload with these requests of its pods."""
    container = {"name": "main", "image": "registry/app:1", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return given.but(spec__template__spec__containers=[container])


def config_map(name: str, files: Mapping[str, object], namespace: str = "openstack") -> Given:
    props: Props = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}
    return Given("kubernetes:core/v1:ConfigMap", f"{name}-config", {**props, "data": dict(files)})


def reading(given: Given, *config_maps: str) -> Given:
    """Returns the workload with pods that mount these ConfigMaps."""
    volumes = [{"name": name, "configMap": {"name": name}} for name in config_maps]
    return given.but(spec__template__spec__volumes=volumes)


def companion(name: str, row: str, *, pools: Sequence[str] = (), **changes: Any) -> Given:
    """A workload that accompanies a row without counting as one of its instances."""
    noted = {"quorate.io/companion-of": row}
    given = workload(name, pools=pools, **changes)
    return given.but(metadata__annotations=noted, spec__template__metadata__annotations=noted)


def proxysql(*pools: str) -> Given:
    """ProxySQL as a separate workload in front of the database, on port 6033."""
    container = {
        "name": "proxysql",
        "image": "registry/proxysql:1",
        "ports": [{"name": "proxysql", "containerPort": 6033}],
    }
    return companion("proxysql", "mysqld-server", pools=pools).but(spec__template__spec__containers=[container])


def behind_proxysql(given: Given) -> Given:
    """Returns the database with ProxySQL as a further container of its pods, on port 6033."""
    proxy = {"name": "proxysql", "image": "registry/proxysql:1", "ports": [{"name": "proxysql", "containerPort": 6033}]}
    containers = [*given.props["spec"]["template"]["spec"]["containers"], proxy]
    return given.but(spec__template__spec__containers=containers)


CONFIGURED: Mapping[str, Mapping[str, object]] = {
    "rabbitmq": {
        "rabbitmq.conf": "cluster_partition_handling = pause_minority\ndefault_queue_type = quorum\n",
    },
    "mysqld": {"my.cnf": "[mysqld]\nwsrep_on = ON\nwsrep_cluster_address = gcomm://mysqld-0.m,mysqld-1.m\n"},
}
"""Configuration files that a quorum needs because its program's defaults are not sufficient, by program and file."""


CEPH_ROWS = ("ceph-mon", "ceph-osd", "radosgw")


def on_external_ceph(given: Iterable[Given], ceph: object = contract.EXTERNAL) -> list[Given]:
    """The resources without Ceph's workloads and nodes, in a Cloud whose services use another Ceph cluster."""
    left = [each for each in given if not each.name.startswith((*CEPH_ROWS, "storage"))]
    return [replace(each, props={**each.props, "ceph": ceph}) if each.type == contract.CLOUD else each for each in left]


def whole_stack(architecture: str = "100", profile: str = "production") -> list[Given]:
    """A whole cloud that breaks no rule, made from the reference architecture's own table."""
    norm = load_architecture(architecture)
    given = [stack(), cloud(architecture, profile), master_tier(), etcd(), *masters()]
    given += [machine_pool("compute", 5), machine_pool("storage", 3), closed(), scheduled(), restoring()]
    for row in norm.owners:
        given += machines(row.service, row.dedicated_nodes)
    stateful = ("rabbitmq", "mysqld", "ceph-mon", "influxdb-grafana", "elasticsearch-kibana")
    for row in norm.rows:
        if row.replaced_by:
            continue
        if row.everywhere:
            given += [
                daemons(f"{row.service}-{pool}" if number else row.service, pool, row=row.row)
                for number, pool in enumerate(row.runs_on)
            ]
            continue
        kind = "StatefulSet" if row.service in stateful else "Deployment"
        apart = (HOST, SERVER) if row.quorum else (HOST,)
        built = workload(row.service, kind, pools=row.runs_on, row=row.row, replicas=row.instances, apart=apart)
        if row.service in CONFIGURED:
            built = reading(built, row.service)
            given.append(config_map(row.service, CONFIGURED[row.service]))
        if row.quorum:
            built = _as_member(built)
        given += [built, budget(row.service)]
        if kind == "StatefulSet":
            given.append(names(row.service))
        if row.load_balancer_kind:
            given += [proxysql(*row.runs_on), budget("proxysql")]
            given.append(service("proxysql", ports=[{"port": 3306, "targetPort": "proxysql"}]))
        elif row.load_balancer:
            given.append(service(row.service))
    # A budget of one replica would keep a drain from ending.
    single = {f"{row.service}-budget" for row in norm.rows if row.instances == 1}
    given = [each for each in given if each.name not in single]
    return [with_files(each) if each.type in (contract.MACHINE, contract.MACHINE_POOL) else each for each in given]


def facts(
    given: Iterable[Given],
    waivers: Waivers | None = None,
    levels: Sequence[RuleLevel] = (),
    profile: str = PRODUCTION,
    configured_stack: str = "test",
) -> Facts:
    """Returns the resources as the policy pack's analyzer reads them.

    `profile`: the profile in the configuration of the stack `configured_stack`.
    """
    stack = list(given)
    urns = {each.name: each.urn for each in stack}
    resources = (
        from_message(
            each.type,
            each.urn,
            each.name,
            message(each.props),
            protected=each.protected,
            after=[urns[name] for name in each.after],
            parent=urns.get(each.parent, ""),
            provider=each.provider,
        )
        for each in stack
    )
    return Facts(resources, StackConfiguration(configured_stack, profile), waivers, tuple(levels))


def message(props: Props) -> struct_pb2.Struct:
    """Returns properties as the engine sends them: integers become floats."""
    return json_format.ParseDict(props, struct_pb2.Struct())


def sdk_args(given: Iterable[Given]) -> StackValidationArgs:
    """Returns the resources in the policy SDK's proxies, which raise an error when an unknown value is used."""
    stack = list(given)
    resources = [_sdk_resource(each) for each in stack]
    named = {resource.name: resource for resource in resources}
    for resource, each in zip(resources, stack, strict=True):
        resource.dependencies.extend(named[name] for name in each.after)
        resource.parent = named.get(each.parent)
    return StackValidationArgs(resources, None)


def _sdk_resource(given: Given) -> PolicyResource:
    props = proxy.unknown_checking_proxy(json_format.MessageToDict(message(given.props)))
    options = PolicyResourceOptions(given.protected, [], None, [], PolicyCustomTimeouts(0, 0, 0), [], None)
    provider = PolicyProviderResource("pulumi:providers:x", {"uri": given.provider}, "provider", "provider")
    provider = provider if given.provider else None
    return PolicyResource(given.type, props, given.urn, given.name, options, provider, None, [], {})
