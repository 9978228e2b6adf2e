"""The class Attack: a stack with a fault that the policy pack must find.

Designed from the sources, not from the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.policy.world import Given, Props
from tests.sound.sound import NAMESPACE, member, nodes, quorum


@dataclass(frozen=True)
class Attack:
    """A production stack with one fault, or one attempt to hide a fault from the policy pack."""

    name: str
    given: Sequence[Given]
    caught_by: str = ""
    """A mandatory rule that must fail, or that cannot be evaluated."""


def given(kind: str, name: str, spec: Props | None = None, namespace: str = NAMESPACE, **more: object) -> Given:
    """A Kubernetes object, such as `policy/v1:PodDisruptionBudget`."""
    props: Props = {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}, **more}
    if spec is not None:
        props["spec"] = spec
    return Given(f"kubernetes:{kind}", name, props)


def container(program: str, *, image: str = "", **more: object) -> Props:
    """Returns the properties of a container, with requests and probes as in a stack without faults."""
    return {
        "name": program,
        "image": image or f"registry.example/{program}:1.2.3@sha256:{'0' * 64}",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}},
        **more,
    }


def with_container(program: str, **more: Any) -> Props:
    """A pod of one container."""
    return {"containers": [container(program, **more)]}


def changed(stack: Sequence[Given], name: str, **changes: object) -> list[Given]:
    """Returns the stack with other properties of one resource."""
    assert any(each.name == name for each in stack), f"no resource {name}"
    return [each.but(**changes) if each.name == name else each for each in stack]


def without(stack: Sequence[Given], *names: str) -> list[Given]:
    """Returns the stack without the named resources."""
    assert set(names) <= {each.name for each in stack}
    return [each for each in stack if each.name not in names]


def config(name: str, files: Mapping[str, object], **more: Any) -> Given:
    """A ConfigMap."""
    return given("core/v1:ConfigMap", name, data=dict(files), **more)


def mounting(program: str, name: str, path: str, **more: Any) -> Props:
    """A pod whose container mounts a ConfigMap at a path."""
    mount = {"name": "config", "mountPath": path}
    pod = with_container(program, volumeMounts=[mount], **more)
    return {**pod, "volumes": [{"name": "config", "configMap": {"name": name}}]}


def rabbit(text: str, pod: Props | None = None, *more: Given) -> list[Given]:
    """A RabbitMQ of three members with this text as rabbitmq.conf."""
    inside = {**mounting("rabbitmq", "rabbit-config", "/etc/rabbitmq"), **(pod or {})}
    return [
        *nodes(3),
        *quorum("rabbit", "rabbitmq", pod=inside),
        config("rabbit-config", {"rabbitmq.conf": text + DEFAULT_QUEUE}),
        *more,
    ]


def galera(text: str, pod: Props | None = None, *more: Given) -> list[Given]:
    """A Galera of three members with this text as its option file."""
    inside = {**mounting("mariadb", "db-config", "/etc/mysql/conf.d"), **(pod or {})}
    return [*nodes(3), *quorum("db", "mariadb", pod=inside), config("db-config", {"galera.cnf": text}), *more]


GALERA = """[mysqld]
binlog_format = ROW
default_storage_engine = InnoDB
innodb_autoinc_lock_mode = 2
wsrep_on = ON
wsrep_provider = /usr/lib/galera/libgalera_smm.so
wsrep_cluster_name = openstack
wsrep_cluster_address = gcomm://db-0.db-members,db-1.db-members,db-2.db-members
wsrep_sst_method = mariabackup
"""
PAUSE = "cluster_partition_handling = pause_minority\n"
DEFAULT_QUEUE = "default_queue_type = quorum\n"


def single(name: str, program: str, cluster: str, **pod: object) -> Given:
    """One quorum member as a separate workload."""
    inside: Props = {"containers": [container(program)], **pod}
    return member(name, program, replicas=1, apart=(), labels={"app": name, "cluster": cluster}, pod=inside)


def pinned(each: Given) -> Given:
    """Returns the workload with images pinned by digest, and with resource requests."""
    if not each.type.startswith("kubernetes:apps/"):
        return each
    small = {"requests": {"cpu": "100m", "memory": "256Mi"}}
    containers = [
        {**one, "image": f"{one['image']}@sha256:{'0' * 64}", "resources": small}
        for one in each.props["spec"]["template"]["spec"]["containers"]
    ]
    return each.but(spec__template__spec__containers=containers)
