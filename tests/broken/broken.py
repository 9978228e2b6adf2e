"""The class Broken: a stack whose resources are changed on their way to the engine, and rules that must report it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.policy.world import Given

Props = dict[str, Any]
Change = tuple[str, str, Callable[[Props], None]]
"""Last part of the resource's type, its name, and what is done to its inputs (a component's outputs as well)."""


@dataclass(frozen=True)
class Broken:
    """A production stack with one fault."""

    name: str
    changes: tuple[Change, ...]
    expected: Mapping[str, set[str]]
    """Rules that must catch it, each with the names of the resources that it must name; no other rule may."""
    stack: str = "prod"
    """Name of the stack that is changed."""
    adds: tuple[Given, ...] = ()
    """Hand-written Kubernetes objects beside the stack's own."""


def pod(props: Props) -> Props:
    """Returns the pod template's spec in a workload's inputs."""
    return props["spec"]["template"]["spec"]


def apart_terms(props: Props) -> list[Props]:
    """Returns the required pod anti-affinity terms in a workload's inputs."""
    return pod(props)["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]


def replicas(count: int) -> Callable[[Props], None]:
    """Returns a change that sets the number of replicas."""

    def break_(props: Props) -> None:
        props["spec"]["replicas"] = count

    return break_


def moved_to(*pools: str) -> Callable[[Props], None]:
    """Returns a change by which a workload's node affinity and tolerations name these pools."""

    def break_(props: Props) -> None:
        inner = pod(props)
        selector = inner["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        for term in selector["nodeSelectorTerms"]:
            for expression in term["matchExpressions"]:
                expression["values"] = list(pools)
        inner["tolerations"] = [
            {"key": "quorate.io/dedicated", "operator": "Equal", "value": pool, "effect": "NoSchedule"}
            for pool in pools
        ]

    return break_


def requesting(cpu: str, memory: str) -> Callable[[Props], None]:
    """Returns a change that sets the requests of a workload's first container."""

    def break_(props: Props) -> None:
        pod(props)["containers"][0]["resources"]["requests"] = {"cpu": cpu, "memory": memory}

    return break_


def on_server(server: str) -> Callable[[Props], None]:
    """Returns a change that puts a machine on another physical host, also in its label and its kubeadm.yaml."""

    def break_(props: Props) -> None:
        own = props["server"]
        props["server"] = server
        props["labels"]["quorate.io/server"] = server
        path = "/etc/kubernetes/kubeadm.yaml"
        said = f"quorate.io/server={own}"
        props["files"][path] = props["files"][path].replace(said, f"quorate.io/server={server}")

    return break_
