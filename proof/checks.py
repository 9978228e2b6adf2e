"""Checks a cluster's pods, nodes and disruption budgets against its expected state.

Each check is a function that takes the expected state and a cluster, and yields a finding for each workload or node
that differs. The docstring of a check states what must hold. The same checks run on the simulated cluster of
`quorate prove` and on a user's cluster (`quorate verify`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from contract import DEDICATED, POOL, SERVER
from proof.cluster import SYSTEM_NAMESPACES, ClusterState, RunningNode, RunningPod
from proof.expected import ExpectedRow, ExpectedState
from proof.violations import Violation
from text.quoting import first_of

Check = Callable[[ExpectedState, ClusterState], Iterator[Violation]]


def check_cluster(state: ExpectedState, cluster: ClusterState) -> list[Violation]:
    """Runs all checks on a cluster. Returns the findings, sorted; [] if the cluster is as expected."""
    return sorted({finding for check in CHECKS for finding in check(state, cluster)})


def no_pending_pods(_state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """Every pod is scheduled and ready."""
    for pod in cluster.pods:
        if pod.node is None:
            yield Violation(
                "no-pending-pod",
                pod.title,
                f"{pod.name} is Pending: {pod.refusal or pod.scheduler_error or 'the scheduler has not reported why'}",
            )
        elif pod.node not in cluster.nodes:
            yield Violation("every-pod-ready", pod.title, f"{pod.name} is bound to {pod.node}, which does not exist")
        elif not pod.ready and not pod.ending:
            yield Violation("every-pod-ready", pod.title, f"{pod.name} on {pod.node} is not ready")


def workloads_ready(_state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """Every workload has all its pods, ready and of the newest revision."""
    for workload in cluster.workloads:
        if not workload.settled:
            message = f"{workload.ready} of {workload.wanted} pods are ready and of the newest revision"
            yield Violation("workload-whole", workload.title, message)


def instances(state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """Every row has as many ready instances as the reference architecture or the stack file sets."""
    for expected in state.rows:
        seen = sum(pod.ready for pod in cluster.of_row(expected.name))
        if expected.instances is None or seen == expected.instances:
            continue
        yield Violation("instances", expected.name, f"{seen} instances are ready; expected {expected.instances}")


def rows_known(state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """Every checked pod belongs to a row of the reference architecture, or accompanies the service of a row.

    Deployments of Kubernetes itself, such as CoreDNS, have no row.
    """
    ours = [pod for pod in cluster.pods if _is_checked(pod) and pod.namespace not in SYSTEM_NAMESPACES]
    unknown = {pod.title: pod.row for pod in ours if _row_of(state, pod) is None}
    for title, row in unknown.items():
        message = f"row {row} is not in the architecture" if row else "has no annotation that names a row"
        yield Violation("row-known", title, message)


def one_per_node(state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """The pods of a row run on distinct nodes."""
    for expected in state.rows:
        yield from _shared("one-per-node", cluster.of_row(expected.name), lambda pod: pod.node, "node")


def one_member_per_server(state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """Quorum members run on distinct physical hosts."""
    for expected in state.rows:
        if expected.quorum:
            yield from _shared(
                "one-member-per-server", cluster.of_row(expected.name), cluster.server_of, "physical host"
            )


def one_master_per_server(state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """Masters run on distinct physical hosts, and so do etcd's members on machines that are not nodes."""
    masters: dict[str, list[str]] = defaultdict(list)
    for node in cluster.nodes.values():
        if node.is_master and node.server:
            masters[node.server].append(node.name)
    etcd: dict[str, list[str]] = defaultdict(list)
    for member, server in state.etcd.items():
        if member not in state.servers:
            etcd[server].append(member)
    for what, hosts in (("masters", masters), ("etcd machines", etcd)):
        for server, names in hosts.items():
            if len(names) > 1:
                message = f"{what} {_listed(names)} share the physical host {server}"
                yield Violation("one-member-per-server", "etcd", message)


def apart(state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """Services that the architecture separates run on distinct nodes."""
    by_service = {each.service: cluster.of_row(each.name) for each in state.rows}
    for expected in state.rows:
        own = {pod.node for pod in cluster.of_row(expected.name)}
        for other in expected.apart_from:
            for pod in by_service.get(other, []):
                if pod.node is not None and pod.node in own:
                    yield Violation("apart", expected.name, f"shares {pod.node} with {pod.title}")


def on_its_pools(state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """Every pod of a row runs on a node that the row may use: one of its pools or, if it lists nodes, one of these."""
    for expected in state.rows:
        for pod in cluster.of_row(expected.name):
            node = cluster.nodes.get(pod.node or "")
            if node and not expected.may_use(node):
                where = f"pools {', '.join(expected.pools)}" if expected.nodes is None else _listed(expected.nodes)
                message = f"{pod.name} runs on {node.name} of pool {node.pool}; expected {where}"
                yield Violation("on-its-pools", pod.title, message)


def everywhere(state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """A row that runs on every node of its pools has a ready pod on each."""
    for expected in state.rows:
        if expected.row.everywhere:
            ready = {pod.node for pod in cluster.of_row(expected.name) if pod.ready}
            missing = [n.name for n in cluster.nodes.values() if expected.may_use(n) and n.name not in ready]
            if missing:
                yield Violation("everywhere", expected.name, f"no ready pod on {_listed(missing)}")


def dedicated_nodes(state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """Every row has the expected number of dedicated nodes, each with the taint of the row's service."""
    pools = dedicated_pools(state, cluster)
    for expected in state.rows:
        if not expected.dedicated_nodes:
            continue
        nodes = pools[expected.row.service]
        if len(nodes) != expected.dedicated_nodes:
            message = f"{len(nodes)} nodes are dedicated to it; expected {expected.dedicated_nodes}"
            yield Violation("dedicated-nodes", expected.name, message)
        for node in nodes:
            if expected.row.service not in node.dedicated_to:
                taint = f"{DEDICATED}={expected.row.service}:NoSchedule"
                yield Violation("dedicated-nodes", f"node {node.name}", f"lacks the taint {taint}")


def guests_admitted(state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """On nodes dedicated to a service, only it and the services that its row of the architecture admits have pods.

    Agents that nodes need, and Kubernetes' own agents and static pods, are exempt.
    """
    owners = {each.row.service: each for each in state.rows if each.dedicated_nodes}
    for pod in cluster.pods:
        node = cluster.nodes.get(pod.node or "")
        owner = owners.get(node.pool or "") if node else None
        if node is None or owner is None or not _is_checked(pod):
            continue
        guest = _row_of(state, pod)
        if guest is None or not owner.row.admits_guest(guest.row):
            admitted = ", ".join(owner.row.admits) or "no other service"
            message = f"{pod.name} runs on {node.name}, dedicated to {owner.name}, which admits {admitted}"
            yield Violation("guests-admitted", pod.title, message)


def nodes_labelled(_state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """Every node is ready, and has the labels of its pool and physical host, the pool's taint and a unique address."""
    for node in cluster.nodes.values():
        missing = [key for key in (POOL, SERVER) if not node.labels.get(key)]
        if missing and not (missing == [POOL] and node.is_master):
            yield Violation("nodes-labelled", f"node {node.name}", f"has no label {' and no label '.join(missing)}")
        if not node.ready:
            yield Violation("nodes-ready", f"node {node.name}", "is not ready")
        # A master with further roles has no taint of a pool: CoreDNS tolerates only the taint of masters.
        if node.pool and not node.is_master and node.pool not in node.dedicated_to:
            taints = ", ".join(node.dedicated_to) or "no service"
            message = f"is labelled with pool {node.pool}, and its taint dedicates it to {taints}"
            yield Violation("nodes-labelled", f"node {node.name}", message)
    addresses = Counter(address for node in cluster.nodes.values() for address in node.addresses)
    for address, count in addresses.items():
        if count > 1:
            names = [node.name for node in cluster.nodes.values() if address in node.addresses]
            yield Violation(
                "nodes-distinct", f"node {names[0]}", f"shares the address {address} with {_listed(names[1:])}"
            )


def budgets_hold(state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """Every row with a fixed count has exactly one PodDisruptionBudget, which keeps a majority and allows a drain.

    The budget of a quorum with a single member must allow its eviction too: otherwise a drain of its node would not
    end.
    """
    for expected in state.rows:
        pods = cluster.of_row(expected.name)
        if expected.instances is None or not pods:
            continue
        budgets = [budget for budget in cluster.budgets if budget.selects(pods[0])]
        if len(budgets) != 1:
            message = f"{len(budgets)} disruption budgets select its pods; expected one"
            yield Violation("budgets-hold", pods[0].title, message)
            continue
        budget = budgets[0]
        if budget.expected != expected.instances:
            message = f"its disruption budget counts {budget.expected} pods; expected {expected.instances}"
            yield Violation("budgets-hold", pods[0].title, message)
        most = max(expected.failures_tolerated, 1)
        if expected.quorum and budget.allowed > most:
            message = f"its disruption budget allows {budget.allowed} evictions of {budget.expected}; expected {most}"
            yield Violation("budgets-hold", pods[0].title, message)
        if budget.allowed < 1 and all(pod.ready for pod in pods):
            yield Violation(
                "budgets-hold", pods[0].title, "its disruption budget allows no eviction: no drain would end"
            )


CHECKS: tuple[Check, ...] = (
    no_pending_pods,
    workloads_ready,
    instances,
    rows_known,
    one_per_node,
    one_member_per_server,
    one_master_per_server,
    apart,
    on_its_pools,
    everywhere,
    dedicated_nodes,
    guests_admitted,
    nodes_labelled,
    budgets_hold,
)


def dedicated_pools(state: ExpectedState, cluster: ClusterState) -> dict[str, list[RunningNode]]:
    """Returns the nodes that are dedicated to each service, for services that require dedicated nodes."""
    found: dict[str, list[RunningNode]] = {each.row.service: [] for each in state.rows if each.dedicated_nodes}
    for node in cluster.nodes.values():
        if node.pool in found:
            found[node.pool].append(node)
    return found


def _shared(
    check: str, pods: Sequence[RunningPod], place: Callable[[RunningPod], str | None], kind: str
) -> Iterator[Violation]:
    by_place: dict[str, list[RunningPod]] = defaultdict(list)
    for pod in pods:
        where = place(pod)
        if where is not None:
            by_place[where].append(pod)
    for where, found in by_place.items():
        if len(found) > 1:
            yield Violation(check, found[0].title, f"{_listed([pod.name for pod in found])} share the {kind} {where}")


def _row_of(state: ExpectedState, pod: RunningPod) -> ExpectedRow | None:
    """Returns the row of a pod, or the row whose service the pod accompanies; None if it has neither."""
    return state.of(pod.row) or state.of(pod.companion_of)


def _is_checked(pod: RunningPod) -> bool:
    """Whether the checks of rows cover a pod.

    Agents that nodes need, and agents and static pods of Kubernetes, are exempt.
    """
    if pod.kind == "DaemonSet" and pod.priority == "system-node-critical":
        return False
    return not (pod.namespace in SYSTEM_NAMESPACES and pod.kind in ("DaemonSet", "Node", ""))


def _listed(names: Iterable[str], most: int = 5) -> str:
    """Returns up to `most` names in order as text, followed by the number of the other names."""
    return first_of(sorted(names), most)


__all__ = ["CHECKS", "ExpectedRow", "check_cluster", "dedicated_pools"]
