"""What can be broken in a rendered stack: small changes of its objects, for the proof to catch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

from cluster.objects import Object
from proof.simulated_nodes import SimulatedMachine
from proof.simulation import Rendered


def changed(rendered: Rendered, kind: str, name: str, change: Callable[[Object], None]) -> Rendered:
    """The stack with one object changed; an object that is not there is an error of the test."""
    objects = copy.deepcopy(rendered.objects)
    (item,) = [each for each in objects if each["kind"] == kind and each["metadata"]["name"] == name]
    change(item)
    return replace(rendered, objects=objects)


def moved(rendered: Rendered, change: Callable[[SimulatedMachine], SimulatedMachine]) -> Rendered:
    """Returns the rendered stack with its machines changed."""
    return replace(rendered, machines=tuple(change(machine) for machine in rendered.machines))


def pod_spec(item: Object) -> Object:
    """Returns the spec of a workload's pod template."""
    spec: Object = item["spec"]["template"]["spec"]
    return spec


def without_anti_affinity(item: Object) -> None:
    """Removes the anti-affinity of a workload's pods."""
    del pod_spec(item)["affinity"]["podAntiAffinity"]


def without_tolerations(item: Object) -> None:
    """Removes all tolerations of a workload's pods."""
    del pod_spec(item)["tolerations"]


def with_surge(item: Object) -> None:
    """Sets a surge: a rollout of the workload starts a new pod before it deletes an old pod."""
    item["spec"]["strategy"]["rollingUpdate"] = {"maxSurge": 1, "maxUnavailable": 0}


def with_budget_of_nothing(item: Object) -> None:
    """Lets the disruption budget allow the eviction of all pods at once."""
    item["spec"].pop("maxUnavailable", None)
    item["spec"]["minAvailable"] = 0
