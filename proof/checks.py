"""Does a live cluster look as its reference architecture says? Judged from pods, nodes and budgets alone.

Each check is a function from the norm and a cluster to findings; each finding names the workload or node. The same
checks judge a simulated cluster (proof) and a user's own (verify).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from contract import DEDICATED, MASTER_POOL, POOL, SERVER
from proof.cluster import SYSTEM_NAMESPACES, Cluster, Node, Pod
from proof.expected import Expected, Norm
from proof.violations import Finding

Check = Callable[[Norm, Cluster], Iterator[Finding]]


def judge(norm: Norm, cluster: Cluster) -> list[Finding]:
    """Everything that does not hold, in a stable order."""
    return sorted({finding for check in CHECKS for finding in check(norm, cluster)})


def nobody_waits(_norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """Every pod has a node and is ready."""
    for pod in cluster.pods:
        if pod.node is None:
            yield Finding("no-pending-pod", pod.title, f"{pod.name} is Pending: {pod.refusal or 'not yet looked at'}")
        elif pod.node not in cluster.nodes:
            yield Finding("every-pod-ready", pod.title, f"{pod.name} is left on {pod.node}, which is gone")
        elif not pod.ready and not pod.ending:
            yield Finding("every-pod-ready", pod.title, f"{pod.name} on {pod.node} is not ready")


def every_workload_whole(_norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """Every workload has all pods that it wants, in their newest form."""
    for workload in cluster.workloads:
        if not workload.settled:
            message = f"{workload.ready} of {workload.wanted} pods are ready and of its newest form"
            yield Finding("workload-whole", workload.title, message)


def instances(norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """As many as the row says; more only where the stack declares them."""
    for expected in norm.rows:
        seen = sum(pod.ready for pod in cluster.of_row(expected.name))
        if expected.instances is None or seen == expected.instances:
            continue
        yield Finding("instances", expected.name, f"{seen} run, expected {expected.instances}")


def every_row_known(norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """Every pod outside the system's namespaces belongs to a row or accompanies one."""
    strangers = {pod.title: pod.row for pod in cluster.pods if _judged(pod) and _row_of(norm, pod) is None}
    for title, row in strangers.items():
        yield Finding("row-known", title, f"row {row} is none of the architecture's" if row else "it names no row")


def one_per_node(norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """No two pods of a row on one node."""
    for expected in norm.rows:
        yield from _twice("one-per-node", cluster.of_row(expected.name), lambda pod: pod.node, "node")


def one_per_server(norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """No two members of a quorum on one physical host."""
    for expected in norm.rows:
        if expected.quorum:
            yield from _twice("one-member-per-server", cluster.of_row(expected.name), cluster.server_of, "server")


def masters_apart(_norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """No two masters, each a member of etcd, on one physical host."""
    masters: dict[str, list[str]] = defaultdict(list)
    for node in cluster.nodes.values():
        if node.is_master and node.server:
            masters[node.server].append(node.name)
    for server, names in masters.items():
        if len(names) > 1:
            yield Finding("one-member-per-server", "etcd", f"masters {_listed(names)} share the server {server}")


def apart(norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """Services that must never share a node do not."""
    by_service = {each.row.service: cluster.of_row(each.name) for each in norm.rows}
    for expected in norm.rows:
        mine = {pod.node for pod in cluster.of_row(expected.name)}
        for other in expected.apart_from:
            for pod in by_service.get(other, []):
                if pod.node is not None and pod.node in mine:
                    yield Finding("apart", expected.name, f"shares {pod.node} with {pod.title}")


def on_its_pools(norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """A pod stands on a node of one of its row's pools, or on one that the topology gives it."""
    for expected in norm.rows:
        for pod in cluster.of_row(expected.name):
            node = cluster.nodes.get(pod.node or "")
            if node and not expected.may_use(node):
                pools = ", ".join(expected.pools) or "nodes that the topology names"
                message = f"{pod.name} runs on {node.name} of pool {node.pool}, its row on {pools}"
                yield Finding("on-its-pools", pod.title, message)


def daemons_everywhere(norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """A row that runs everywhere is on every node of its pools."""
    for expected in norm.rows:
        if expected.row.everywhere:
            there = {pod.node for pod in cluster.of_row(expected.name) if pod.ready}
            missing = [n.name for n in cluster.nodes.values() if expected.may_use(n) and n.name not in there]
            if missing:
                yield Finding("everywhere", expected.name, f"none runs on {_listed(missing)}")


def dedicated_nodes(norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """Kept nodes are there, their taint keeps others out, and their numbers add up."""
    pools = kept(norm, cluster)
    for expected in norm.rows:
        if not expected.row.owner:
            continue
        nodes = pools[expected.row.service]
        if len(nodes) != expected.dedicated_nodes:
            message = f"{len(nodes)} nodes are kept for it, expected {expected.dedicated_nodes}"
            yield Finding("dedicated-nodes", expected.name, message)
        for node in nodes:
            if expected.row.service not in node.kept_for:
                taint = f"{DEDICATED}={expected.row.service}:NoSchedule"
                yield Finding("dedicated-nodes", f"node {node.name}", f"lacks the taint {taint}")


def guests_admitted(norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """Kept nodes hold nobody but those whom their owner admits."""
    owners = {each.row.service: each for each in norm.rows if each.row.owner}
    for pod in cluster.pods:
        node = cluster.nodes.get(pod.node or "")
        owner = owners.get(node.pool or "") if node else None
        if node is None or owner is None or not _judged(pod):
            continue
        guest = _row_of(norm, pod)
        if guest is None or not owner.row.admits_guest(guest.row):
            admitted = ", ".join(owner.row.admits) or "nobody"
            message = f"{pod.name} runs on {node.name}, kept for {owner.name}, which admits {admitted}"
            yield Finding("guests-admitted", pod.title, message)


def nodes_labelled(_norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """Every node says its pool and its physical host, and is ready and one of its kind."""
    for node in cluster.nodes.values():
        missing = [key for key in (POOL, SERVER) if not node.labels.get(key)]
        if missing and not (missing == [POOL] and node.is_master):
            yield Finding("nodes-labelled", f"node {node.name}", f"has no label {' and no '.join(missing)}")
        if not node.ready:
            yield Finding("nodes-ready", f"node {node.name}", "is not ready")
        if node.pool not in (None, MASTER_POOL) and node.pool not in node.kept_for:
            message = f"is of pool {node.pool} and its taint keeps it for {', '.join(node.kept_for) or 'nobody'}"
            yield Finding("nodes-labelled", f"node {node.name}", message)
    addresses = Counter(address for node in cluster.nodes.values() for address in node.addresses)
    for address, count in addresses.items():
        if count > 1:
            names = [node.name for node in cluster.nodes.values() if address in node.addresses]
            yield Finding("nodes-distinct", f"node {names[0]}", f"has the address {address} with {_listed(names[1:])}")


def budgets_hold(norm: Norm, cluster: Cluster) -> Iterator[Finding]:
    """One budget guards every counted row, sees its pods, keeps the majority and still lets a drain go on."""
    for expected in norm.rows:
        pods = cluster.of_row(expected.name)
        if expected.instances is None or not pods:
            continue
        guards = [budget for budget in cluster.budgets if budget.selects(pods[0])]
        if len(guards) != 1:
            message = f"{len(guards)} disruption budgets select its pods, one must"
            yield Finding("budgets-hold", pods[0].title, message)
            continue
        guard = guards[0]
        if guard.expected != expected.instances:
            yield Finding("budgets-hold", pods[0].title, f"its budget sees {guard.expected} pods")
        if guard.expected - guard.allowed < expected.majority and expected.quorum:
            message = f"its budget lets {guard.allowed} of {guard.expected} go, {expected.majority} must stay"
            yield Finding("budgets-hold", pods[0].title, message)
        if guard.allowed < 1 and all(pod.ready for pod in pods):
            yield Finding("budgets-hold", pods[0].title, "its budget lets none go: no drain would ever end")


CHECKS: tuple[Check, ...] = (
    nobody_waits,
    every_workload_whole,
    instances,
    every_row_known,
    one_per_node,
    one_per_server,
    masters_apart,
    apart,
    on_its_pools,
    daemons_everywhere,
    dedicated_nodes,
    guests_admitted,
    nodes_labelled,
    budgets_hold,
)


def kept(norm: Norm, cluster: Cluster) -> dict[str, list[Node]]:
    """The nodes of each pool that a row owns."""
    found: dict[str, list[Node]] = {each.row.service: [] for each in norm.rows if each.row.owner}
    for node in cluster.nodes.values():
        if node.pool in found:
            found[node.pool].append(node)
    return found


def _twice(check: str, pods: Sequence[Pod], place: Callable[[Pod], str | None], kind: str) -> Iterator[Finding]:
    together: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        where = place(pod)
        if where is not None:
            together[where].append(pod)
    for where, those in together.items():
        if len(those) > 1:
            yield Finding(check, those[0].title, f"{_listed([pod.name for pod in those])} share the {kind} {where}")


def _row_of(norm: Norm, pod: Pod) -> Expected | None:
    """The row of a pod, or the row that it accompanies: a companion may run where its row may."""
    return norm.of(pod.row) or norm.of(pod.companion_of)


def _judged(pod: Pod) -> bool:
    """Whether a pod is the cloud's, not an agent of the nodes themselves."""
    return not (pod.namespace in SYSTEM_NAMESPACES and pod.kind in ("DaemonSet", "Node", ""))


def _listed(names: Iterable[str], most: int = 5) -> str:
    """The first names, and how many more."""
    those = sorted(names)
    more = f" and {len(those) - most} more" if len(those) > most else ""
    return ", ".join(those[:most]) + more


__all__ = ["CHECKS", "Expected", "judge", "kept"]
