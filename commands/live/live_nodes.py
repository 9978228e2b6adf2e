"""Compares the nodes of a running cluster with a stack's plan. Wrong labels and taints come with their kubectl lines.

Labels and taints decide where pods run, and allocatable sizes decide whether pods fit. So `up` on a live stack changes
nothing unless the nodes are as the plan assumes, or `up` may set their labels and taints itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import contract
from blueprint.plan.nodes import Capacity, Node
from cluster.objects import Object, at, holds, listed, name, text, texts
from formats.kubernetes_quantity import parse

OWN_LABELS = (contract.SERVER, contract.RACK, contract.POOL, contract.COMPUTE_NODE, contract.CONTROL_PLANE_NODE)
"""Labels that only Quorate sets, so that one outside the plan is removed. The zone label may be a cloud provider's."""
OWN_TAINTS = (contract.DEDICATED, contract.CONTROL_PLANE_TAINT)
CONDITIONS = "node.kubernetes.io/"
"""Prefix of taints that Kubernetes sets itself, such as for a node that is not ready."""

GIB = 1024**3

Taint = tuple[str, str, str]
"""Key, value and effect of a taint."""


@dataclass(frozen=True)
class NodeChange:
    """The change of labels and taints that makes a node of the cluster agree with the plan."""

    node: str
    labels: Mapping[str, str | None]
    """Labels to set, by key; the value None removes a label."""
    taints: tuple[Taint, ...]
    """Taints to set."""
    surplus: tuple[Taint, ...]
    """Taints to remove."""

    def commands(self, context: str) -> Iterator[str]:
        """Yields the kubectl lines that make the change."""
        kubectl = f"kubectl --context {shlex.quote(context)}"
        if self.labels:
            pairs = [f"{key}-" if value is None else f"{key}={value}" for key, value in self.labels.items()]
            yield f"{kubectl} label node {self.node} --overwrite {' '.join(pairs)}"
        if self.taints:
            yield f"{kubectl} taint node {self.node} --overwrite {' '.join(map(_written, self.taints))}"
        if self.surplus:
            removed = [f"{key}:{effect}-" for key, _, effect in self.surplus]
            yield f"{kubectl} taint node {self.node} {' '.join(removed)}"


@dataclass(frozen=True)
class Difference:
    """A difference between a node and the plan, and the change of labels and taints that corrects it, or None."""

    message: str
    change: NodeChange | None = None
    is_foreign: bool = False
    """Whether `change` removes a taint that Quorate did not set, so that `up` does not apply `change` itself."""


def differences(plan: Sequence[Node], nodes: Sequence[Object]) -> list[Difference]:
    """Returns all differences between nodes of the plan and of the cluster.

    Without any, every planned pod has a node.
    """
    there = {name(each): each for each in nodes}
    found: list[Difference] = []
    for node in plan:
        item = there.pop(node.name, None)
        if item is None:
            advice = "add it to the cluster, or remove it from the stack file"
            found.append(Difference(f"node {node.name} is not in the cluster; {advice}"))
        else:
            found += _of_node(node, item)
    for item in there.values():
        found += _undeclared(item)
    return found


def notes(plan: Sequence[Node], nodes: Sequence[Object]) -> list[str]:
    """Returns notes on nodes that do not stop an `up`: nodes that are not ready, and nodes outside the plan."""
    names = {node.name for node in plan}
    silent = [name(each) for each in nodes if name(each) in names and not holds(each, "Ready")]
    others = [name(each) for each in nodes if name(each) not in names and not any(_undeclared(each))]
    found: list[str] = []
    if silent:
        found.append(f"Not ready, so that their pods will not start: {', '.join(silent)}")
    if others:
        listed_names = ", ".join(others)
        found.append(f"In the cluster and not in the stack file, so that no pod of the plan runs there: {listed_names}")
    return found


def _of_node(node: Node, item: Object) -> Iterator[Difference]:
    labels, taints = texts(item, "metadata", "labels"), _taints(item)
    wanted: dict[str, str | None] = {key: value for key, value in node.labels.items() if labels.get(key) != value}
    wanted |= {key: None for key in OWN_LABELS if key in labels and key not in node.labels}
    planned = tuple(map(_parsed, node.taints))
    missing = tuple(each for each in planned if each not in taints)
    # A taint that is only set to another value is overwritten, not removed.
    replaced = {(key, effect) for key, _, effect in missing}
    surplus = tuple(each for each in taints if each not in planned and (each[0], each[2]) not in replaced)
    own = tuple(each for each in surplus if each[0] in OWN_TAINTS)
    if wanted or missing or own:
        said = [
            f"label {key} is {labels.get(key) or 'missing'}; expected {value or 'none'}"
            for key, value in wanted.items()
        ]
        said += [f"taint {_written(each)} is missing" for each in missing]
        said += [f"taint {_written(each)} is not in the plan" for each in own]
        yield Difference(f"node {node.name}: {'; '.join(said)}", NodeChange(node.name, wanted, missing, own))
    for each in surplus:
        if each not in own and each[2] != "PreferNoSchedule" and not each[0].startswith(CONDITIONS):
            message = f"node {node.name}: taint {_written(each)} repels the plan's pods"
            yield Difference(message, NodeChange(node.name, {}, (), (each,)), is_foreign=True)
    is_master = contract.CONTROL_PLANE_TAINT in labels
    if is_master is not (contract.MASTER_POOL in node.roles):
        here, planned_as = ("a master", "not") if is_master else ("not a master", "one")
        yield Difference(
            f"node {node.name} is {here} in the cluster, and {planned_as} in the stack file; correct its roles there"
        )
    yield from _sizes(node, item)


def _sizes(node: Node, item: Object) -> Iterator[Difference]:
    """Compares allocatable CPU and memory.

    A surplus is wrong only on a server that reserves it for virtual machines.
    """
    cpu = parse(text(item, "status", "allocatable", "cpu") or "0")
    memory = parse(text(item, "status", "allocatable", "memory") or "0") / GIB
    reserves = node.reserved != Capacity(0, 0)
    for what, unit, actual, planned in (
        ("cpu", "cores", cpu, node.allocatable.cpu),
        ("memory", "GiB", memory, node.allocatable.memory),
    ):
        message = f"node {node.name}: allocatable {what} is {_short(actual)} {unit}; the plan has {planned}"
        if actual < planned:
            yield Difference(
                f"{message}; lower {what} of its server in the stack file by {-(-(planned - actual) // 1)}"
            )
        elif reserves and actual >= planned + 1:
            yield Difference(f"{message}; reserve the rest for its virtual machines in kubelet's systemReserved")


def _undeclared(item: Object) -> Iterator[Difference]:
    """Yields differences for a node outside the stack file that has Quorate's labels or the label of a master."""
    labels = texts(item, "metadata", "labels")
    own = {key: None for key in OWN_LABELS if key in labels}
    if own:
        change = NodeChange(name(item), own, (), ())
        yield Difference(f"node {name(item)} has labels {', '.join(own)} and is not in the stack file", change)
    if contract.CONTROL_PLANE_TAINT in labels:
        yield Difference(f"node {name(item)} is a master and not in the stack file; add it there with role master")


def patch(change: NodeChange, item: Object) -> Object:
    """Returns the merge patch of a node's change. The API server rejects the patch if the node changed after `item`."""
    left = [each for each in listed(item, "spec", "taints") if _taint(each) not in change.surplus]
    overwritten = {(key, effect) for key, _, effect in change.taints}
    left = [each for each in left if (each["key"], each["effect"]) not in overwritten]
    added = [{"key": key, "value": value, "effect": effect} for key, value, effect in change.taints]
    metadata = {"labels": dict(change.labels), "resourceVersion": at(item, "metadata", "resourceVersion")}
    return {"metadata": metadata, "spec": {"taints": left + added}}


def _taints(item: Object) -> list[Taint]:
    return [_taint(each) for each in listed(item, "spec", "taints")]


def _taint(item: Object) -> Taint:
    return text(item, "key"), text(item, "value"), text(item, "effect")


def _parsed(written: str) -> Taint:
    pair, _, effect = written.rpartition(":")
    key, _, value = pair.partition("=")
    return key, value, effect


def _written(taint: Taint) -> str:
    key, value, effect = taint
    return f"{key}={value}:{effect}"


def _short(number: Decimal) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
