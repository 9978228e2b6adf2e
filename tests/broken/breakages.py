"""Ways to break a stack: a resource is changed on its way to the engine, behind the backs of planner and components.

Imported by a copy of the program (QUORATE_BREAK names one), so that what is judged is the real program's resources.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

import pulumi

Props = dict[str, Any]
Change = tuple[str, str, Callable[[Props], None]]
"""Last part of the type, name, and what is done to the inputs."""


def _pod(props: Props) -> Props:
    return props["spec"]["template"]["spec"]


def _terms(props: Props) -> list[Props]:
    return _pod(props)["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]


def _without_spread(topology: str) -> Callable[[Props], None]:
    def break_(props: Props) -> None:
        terms = _terms(props)
        terms[:] = [term for term in terms if term["topologyKey"] != topology]

    return break_


def _replicas(count: int) -> Callable[[Props], None]:
    def break_(props: Props) -> None:
        props["spec"]["replicas"] = count

    return break_


def _moved_to(*pools: str) -> Callable[[Props], None]:
    """Its node affinity and its tolerations name these pools."""

    def break_(props: Props) -> None:
        pod = _pod(props)
        selector = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        for term in selector["nodeSelectorTerms"]:
            for expression in term["matchExpressions"]:
                expression["values"] = list(pools)
        pod["tolerations"] = [
            {"key": "quorate.io/dedicated", "operator": "Equal", "value": pool, "effect": "NoSchedule"}
            for pool in pools
        ]

    return break_


def _without_rival(service: str) -> Callable[[Props], None]:
    """No anti-affinity against another service; either side's own is enough for the scheduler."""

    def break_(props: Props) -> None:
        for term in _terms(props):
            for expression in term["labelSelector"].get("matchExpressions", []):
                expression["values"] = [value for value in expression["values"] if value != service]

    return break_


def _other_pods(props: Props) -> None:
    props["spec"]["selector"]["matchLabels"] = {"app": "nothing-has-this"}


def _other_backends(props: Props) -> None:
    props["spec"]["selector"] = {"app": "nothing-has-this"}


def _budget(field: str, value: int) -> Callable[[Props], None]:
    def break_(props: Props) -> None:
        for key in ("minAvailable", "maxUnavailable"):
            props["spec"].pop(key, None)
        props["spec"][field] = value

    return break_


def _surge(props: Props) -> None:
    props["spec"]["strategy"]["rollingUpdate"] = {"maxSurge": 1, "maxUnavailable": 0}


def _no_taint(props: Props) -> None:
    props["taints"] = []


def _other_server(server: str) -> Callable[[Props], None]:
    def break_(props: Props) -> None:
        props["server"] = server
        props["labels"]["quorate.io/server"] = server

    return break_


BREAKAGES: dict[str, list[Change]] = {
    "an instance less than the row": [("Deployment", "cloud-glance-api", _replicas(2))],
    "Galera of two": [("StatefulSet", "cloud-mysqld", _replicas(2))],
    "RabbitMQ of four": [("StatefulSet", "cloud-rabbitmq", _replicas(4))],
    "two instances may share a node": [("Deployment", "cloud-keystone", _without_spread("kubernetes.io/hostname"))],
    "two members may share a server": [("StatefulSet", "cloud-mysqld", _without_spread("quorate.io/server"))],
    "horizon on keystone's nodes": [
        ("Deployment", "cloud-horizon", _moved_to("keystone")),
        ("Deployment", "cloud-horizon", _without_rival("keystone")),
        ("Deployment", "cloud-keystone", _without_rival("horizon")),
    ],
    "a service beside an OSD": [("Deployment", "cloud-nagios", _moved_to("storage"))],
    "a guest that RabbitMQ's nodes do not admit": [("Deployment", "cloud-nova-conductor", _moved_to("rabbitmq"))],
    "the L2 agent away from computes": [("DaemonSet", "cloud-neutron-l2-agent", _moved_to("keystone"))],
    "a budget that selects nothing": [("PodDisruptionBudget", "cloud-rabbitmq", _other_pods)],
    "a budget that gives the majority away": [("PodDisruptionBudget", "cloud-mysqld", _budget("maxUnavailable", 2))],
    "a budget that no drain can pass": [("PodDisruptionBudget", "cloud-ceph-mon", _budget("minAvailable", 3))],
    "a surge into a full pool": [("Deployment", "cloud-keystone", _surge)],
    "a Service in front of nothing": [("Service", "cloud-glance-api", _other_backends)],
    "a dedicated node that lets everybody in": [("Machine", "cloud-ctl04", _no_taint)],
    "two masters on one server": [("Machine", "cloud-masters-master2", _other_server("master1"))],
}


def install() -> None:
    """Breaks what QUORATE_BREAK names."""
    changes = BREAKAGES[os.environ["QUORATE_BREAK"]]

    def transform(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
        props = copy.deepcopy(dict(args.props))
        for kind, name, change in changes:
            if args.type_.rpartition(":")[2] == kind and args.name == name:
                change(props)
        return pulumi.ResourceTransformResult(props, args.opts)

    pulumi.runtime.register_resource_transform(transform)
