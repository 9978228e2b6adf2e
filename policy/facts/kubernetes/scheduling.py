"""Computes a workload's eligible nodes, and which pods may not share a node, host or rack, as kube-scheduler does.

Covers kube-scheduler's filters NodeName, NodeAffinity, TaintToleration, VolumeBinding (for volumes of the stack),
NodePorts and PodTopologySpread, and required inter-pod anti-affinity. Not covered: resource requests, and the existing
pods and volumes of a cluster, which a preview does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, groupby

from contract import HOSTNAME
from policy.facts.kubernetes.node import NodeFacts, Taint
from policy.facts.kubernetes.selectors import Labels, Selector
from policy.facts.kubernetes.terms import AntiAffinityTerm, NodeTerm, SpreadTerm, Toleration
from policy.facts.kubernetes.workload import Workload

_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_DAEMONS_TOLERATE = "node.kubernetes.io/"
"""The DaemonSet controller gives its pods tolerations for the node conditions under this prefix."""

VolumeTerms = Sequence[Sequence[NodeTerm]]
"""For each claim of a pod, the alternative node affinity terms of the volumes that it can bind to."""


def alike(nodes: Iterable[NodeFacts]) -> tuple[tuple[NodeFacts, ...], ...]:
    """Groups consecutive nodes of one pool that differ only in name and in the values of their own labels."""
    return tuple(tuple(group) for _, group in groupby(nodes, lambda node: node.alike))


def eligible(
    workload: Workload, groups: Iterable[Sequence[NodeFacts]], volumes: VolumeTerms = ()
) -> tuple[NodeFacts, ...]:
    """Returns the nodes that the workload's pods can run on. `groups`: all nodes, grouped by `alike`.

    Pods with a nodeName bypass the scheduler. The kubelet still rejects them if node affinity or a host port does not
    match, but it ignores taints with the effect NoSchedule, anti-affinity and topology spread.
    """
    if workload.node_name:
        nodes = chain.from_iterable(groups)
        return tuple(each for each in nodes if each.name == workload.node_name and attracts(workload, each))

    def admits(node: NodeFacts) -> bool:
        return (
            attracts(workload, node)
            and tolerates(workload, node.barriers)
            and all(spread.topology in node.labels for spread in workload.spreads)
            and all(_any_selects(claim, node) for claim in volumes)
        )

    asked = ((NodeTerm(workload.node_selector, Selector()),), workload.node_terms or (), *volumes)
    return tuple(chain.from_iterable(_admitting(admits, group, asked) for group in groups))


def why_none(workload: Workload, nodes: Sequence[NodeFacts], volumes: VolumeTerms = ()) -> str:
    """Returns which of the pod's conditions leaves no node, for messages: the first after which none is left.

    Each condition is named with the number of nodes that meet those before it. `volumes`: as for `eligible`.
    """
    left = list(nodes)
    conditions: tuple[tuple[str, Callable[[NodeFacts], bool]], ...] = (
        ("its node selector and affinity match none", lambda node: attracts(workload, node)),
        ("it tolerates the taints of none", lambda node: tolerates(workload, node.barriers)),
        (
            "none has the labels of its topology spread",
            lambda node: all(spread.topology in node.labels for spread in workload.spreads),
        ),
        ("its volumes are on none", lambda node: all(_any_selects(claim, node) for claim in volumes)),
    )
    for words, met in conditions:
        kept = [node for node in left if met(node)]
        if not kept:
            return f"of {len(left)} node{'s' * (len(left) != 1)} {words}"
        left = kept
    return ""


def _admitting(
    admits: Callable[[NodeFacts], bool], group: Sequence[NodeFacts], asked: VolumeTerms
) -> Iterable[NodeFacts]:
    """Returns the nodes of a group of alike nodes that `admits` accepts, with as few calls of `admits` as possible.

    `asked`: the workload's node affinity terms; a node must meet one term of each inner sequence. Nodes that no term
    distinguishes are evaluated once: a thousand compute nodes need one call, or one per rack if a term selects racks.
    """
    terms = [term for alternatives in asked for term in alternatives]
    keys = {requirement.key for term in terms for requirement in term.labels.requirements}
    keys &= {HOSTNAME, *group[0].own_labels}
    if HOSTNAME in keys or any(term.fields.requirements for term in terms):
        hosts = _hosts(asked)
        return (each for each in group if (hosts is None or _host(each) in hosts) and admits(each))
    found: dict[tuple[str, ...], bool] = {}

    def admitted(node: NodeFacts) -> bool:
        values = tuple(node.own_labels[key] for key in keys)
        if values not in found:
            found[values] = admits(node)
        return found[values]

    if keys:
        return filter(admitted, group)
    return group if admits(group[0]) else ()


def _hosts(asked: VolumeTerms) -> frozenset[str] | None:
    """Returns the hostnames that node affinity terms limit the eligible nodes to; None if they list no hostnames.

    A volume on a local disk has such terms. `asked`: a node must meet one term of each inner sequence.
    """
    for alternatives in asked:
        named = [_hostnames(term.labels) for term in alternatives]
        if named and all(named):
            return frozenset(chain.from_iterable(named))
    return None


def _hostnames(selector: Selector) -> frozenset[str]:
    """Returns the hostnames in the selector's "In" requirements on kubernetes.io/hostname; empty if it has none."""
    listed = (each.values for each in selector.requirements if (each.key, each.operator) == (HOSTNAME, "In"))
    return frozenset(chain.from_iterable(listed))


def _host(node: NodeFacts) -> str:
    return node.own_labels.get(HOSTNAME, node.name)


def attracts(workload: Workload, node: NodeFacts) -> bool:
    """Whether the node matches the workload's node selector and required node affinity."""
    if not workload.node_selector.selects(node.labels):
        return False
    return workload.node_terms is None or _any_selects(workload.node_terms, node)


def _any_selects(terms: Sequence[NodeTerm], node: NodeFacts) -> bool:
    fields = {"metadata.name": node.name}
    return any(term.labels.selects(node.labels) and term.fields.selects(fields) for term in terms if not term.empty)


def tolerates(workload: Workload, taints: Iterable[Taint]) -> bool:
    """Whether the workload's pods tolerate all of these taints."""
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


def anti_affine_keys(one: Workload, other: Workload, namespaces: Mapping[str, Labels]) -> tuple[str, ...]:
    """Returns the topology keys of `one`'s required anti-affinity that selects pods of `other`. Both may be the same.

    `namespaces`: labels of the namespaces that the stack creates, for terms with a namespaceSelector.
    """
    return tuple(dict.fromkeys(term.topology for term in one.anti_affinity if _covers(term, one, other, namespaces)))


def share_host_port(one: Workload, other: Workload) -> bool:
    """Whether pods of the two workloads use the same host port. `one` and `other` may be the same workload."""
    return any(this.conflicts(that) for this in one.host_ports for that in other.host_ports)


def counts(spread: SpreadTerm, workload: Workload, other: Workload) -> bool:
    """Whether topology spread constraint `spread` of `workload` counts the pods of `other`. Both may be the same.

    A constraint that counts only pods of one revision is ignored for a StatefulSet: during a rollout, its first new pod
    may share a domain with an old one. A Deployment removes the old pod of such a pair first.
    """
    if spread.selector is None or (spread.narrowed and workload.kind == "StatefulSet"):
        return False
    return workload.namespace == other.namespace and spread.selector.selects(other.labels)


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
    """Returns why the scheduling rules allow two pods of a workload in one domain of label `topology`, for messages."""
    if workload.past_scheduler:
        return workload.past_scheduler
    terms = [term for term in workload.anti_affinity if term.topology == topology]
    if not terms:
        return f"no required anti-affinity over {topology}"
    if any(term.narrowed for term in terms):
        return f"its anti-affinity over {topology} does not hold between revisions of its pods"
    return f"its anti-affinity over {topology} does not select its own pods"
