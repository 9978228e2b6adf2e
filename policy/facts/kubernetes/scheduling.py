"""What the scheduler would allow: on which nodes a workload's pods may run, and which pods it keeps apart.

The same decisions as kube-scheduler's filters NodeName, NodeAffinity and TaintToleration and its required inter-pod
anti-affinity. Left out: resources, volumes and ports of pods that run already, which no preview knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policy.facts.kubernetes.node import Node, Taint
from policy.facts.kubernetes.selectors import Labels
from policy.facts.kubernetes.workload import AntiAffinityTerm, Toleration, Workload

_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_DAEMONS_TOLERATE = "node.kubernetes.io/"
"""The DaemonSet controller gives its pods tolerations for the node conditions under this prefix."""


def eligible(workload: Workload, nodes: Iterable[Node]) -> tuple[Node, ...]:
    """The nodes that the workload's pods may be put on."""
    wanted = workload.pod.at("nodeName").text()
    return tuple(
        node
        for node in nodes
        if (not wanted or wanted == node.name) and _attracts(workload, node) and tolerates(workload, node.barriers)
    )


def _attracts(workload: Workload, node: Node) -> bool:
    if not workload.node_selector.selects(node.labels):
        return False
    terms = workload.node_terms
    if terms is None:
        return True
    fields = {"metadata.name": node.name}
    return any(term.labels.selects(node.labels) and term.fields.selects(fields) for term in terms if not term.empty)


def tolerates(workload: Workload, taints: Iterable[Taint]) -> bool:
    """Whether the workload's pods put up with all of these taints."""
    return all(
        any(_tolerated(taint, each) for each in workload.tolerations)
        or (workload.kind == "DaemonSet" and taint.key.startswith(_DAEMONS_TOLERATE))
        for taint in taints
    )


def _tolerated(taint: Taint, toleration: Toleration) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator == "Equal" and toleration.key == taint.key and toleration.value == taint.value


def is_anti_affine(one: Workload, other: Workload, topology: str, namespaces: Mapping[str, Labels]) -> bool:
    """Whether `one` refuses every topology domain that holds a pod of `other`; the two may be the same.

    `namespaces`: labels of the namespaces that the stack makes, for terms that select namespaces by label.
    """
    return any(term.topology == topology and _covers(term, one, other, namespaces) for term in one.anti_affinity)


def _covers(term: AntiAffinityTerm, one: Workload, other: Workload, namespaces: Mapping[str, Labels]) -> bool:
    if term.narrowed or term.selector is None or not term.selector.selects(other.labels):
        return False
    there = other.namespace
    if there in term.namespaces:
        return True
    if term.namespace_selector is not None:
        return term.namespace_selector.selects({**namespaces.get(there, {}), _NAMESPACE_NAME: there})
    return not term.namespaces and there == one.namespace


def anti_affinity_gap(workload: Workload, topology: str) -> str:
    """What a workload has in place of an anti-affinity that keeps its own pods apart."""
    terms = [term for term in workload.anti_affinity if term.topology == topology]
    if not terms:
        return f"no required anti-affinity over {topology}"
    if any(term.narrowed for term in terms):
        return f"its anti-affinity over {topology} does not hold between revisions of its pods"
    return f"its anti-affinity over {topology} does not select its own pods"
