"""Fault trials: fails each server in turn, then pairs of servers that carry rows of five or more instances.

The nodes of a failed server stop reporting, the node controller taints them as unreachable, then the nodes and their
pods are deleted. A quorum that tolerates the failure must keep its majority at that moment. Then the cluster recovers
as far as possible, and the server is restored before the next server fails.

A quorum of one or two members tolerates no failure, and a stack on one server loses everything with that server. The
trial records such a loss without a finding, because it is expected. After the restore, all pods must be ready again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from blueprint.plan.quorum_limits import majority
from cluster.api import STRATEGIC, ApiError
from cluster.objects import listed
from proof import simulated_nodes
from proof.cluster import RunningNode, RunningPod
from proof.expected import ExpectedRow, failures_tolerated
from proof.simulation import Progress, SimulatedCluster
from proof.violations import Violation

FAILED = "quorate.io/lost"
"""Annotation of a node that stops its simulated kubelet."""
PAIRED = 5
"""Number of instances from which a row must survive the failure of any two servers."""


@dataclass(frozen=True)
class QuorumLoss:
    """A quorum that lost members when servers failed. `left`: members that were ready without these servers."""

    row: str
    members: int
    left: int
    must_hold: bool
    """Whether the quorum must keep its majority when these servers fail."""

    @property
    def majority(self) -> int:
        """Number of members that are a majority of the quorum."""
        return majority(self.members)

    @property
    def holds(self) -> bool:
        """Whether a majority of the quorum's members is left."""
        return self.left >= self.majority


@dataclass(frozen=True)
class TriedLoss:
    """The effect of the failure of one server or of a pair of servers."""

    servers: tuple[str, ...]
    nodes: tuple[str, ...]
    pods: int
    quorums: tuple[QuorumLoss, ...]
    """Quorums that lost a member with these servers."""
    below: tuple[tuple[str, int, int], ...]
    """Rows with fewer ready pods than expected after the recovery, before the restore: row, ready, expected."""
    elsewhere: tuple[tuple[str, str], ...]
    """Pods that recovered on another node: row, node."""
    everything: bool = False
    """Whether no node was left, because the stack runs only on these servers."""


def fail_each_server(simulated: SimulatedCluster, say: Progress) -> tuple[list[TriedLoss], list[Violation]]:
    """Fails every physical host in turn, then every pair of hosts that can hold two members of a large row."""
    losses: list[TriedLoss] = []
    findings: list[Violation] = []
    servers = servers_of(simulated)
    for number, server in enumerate(servers, start=1):
        say(f"failing server {number} of {len(servers)}: {server}")
        loss, wrong = fail_servers(simulated, (server,))
        losses.append(loss)
        findings += wrong
    simulated.wait_ready()
    pairs = sorted({pair for row in simulated.state.rows for pair in _pairs(simulated, row)})
    for number, pair in enumerate(pairs, start=1):
        say(f"failing pair {number} of {len(pairs)}: {_all(pair)}")
        loss, wrong = fail_servers(simulated, pair)
        losses.append(loss)
        findings += wrong
    simulated.wait_ready()
    return losses, findings


def servers_of(simulated: SimulatedCluster) -> list[str]:
    """Returns the physical hosts of the nodes, by their labels, and of etcd's members that are not nodes, sorted."""
    state = simulated.state
    etcd = {server for member, server in state.etcd.items() if member not in state.servers}
    return sorted(etcd | {node.server for node in simulated.cluster().nodes.values() if node.server})


def fail_servers(simulated: SimulatedCluster, servers: tuple[str, ...]) -> tuple[TriedLoss, list[Violation]]:
    """Fails servers at the same time, records the effect, and restores the servers. Returns the effect and findings."""
    before = simulated.cluster_nodes()
    nodes = tuple(sorted(node.name for node in before if node.server in servers))
    lost = simulated.pods_on(nodes)
    rows = {pod.row for pod in lost if pod.row}
    remaining = [pod for pod in simulated.pods_of(rows) if pod.node not in nodes]
    _remove(simulated, nodes, lost)
    counted = [each for each in simulated.state.rows if each.name in rows and each.instances is not None]
    quorums = tuple(_quorums(counted, remaining, servers))
    if len(servers) == 1:
        quorums += tuple(_etcd(simulated.state.etcd, before, servers))
    findings = [
        Violation(
            "quorum-survives", each.row, f"{each.left} of {each.members} members are left without {_all(servers)}"
        )
        for each in quorums
        if each.must_hold and not each.holds
    ]
    elsewhere: list[tuple[str, str]] = []
    if counted:
        names = [each.name for each in counted]
        stayed = {pod.uid for pod in remaining if pod.ready}
        if not simulated.wait(lambda: _recovered(simulated, names), timeout=90):
            findings += _undecided(simulated, names, servers)
        new = [pod for pod in simulated.pods_of(names) if pod.ready and pod.uid not in stayed]
        elsewhere = sorted((pod.row or "", pod.node or "") for pod in new)
    below = tuple(_below(simulated, counted))
    everything = len(nodes) == len(before)
    findings += _restore(simulated, nodes, wait_ready=bool(counted))
    return TriedLoss(servers, nodes, len(lost), quorums, below, tuple(elsewhere), everything), findings


def _remove(simulated: SimulatedCluster, nodes: Sequence[str], pods: Sequence[RunningPod]) -> None:
    silent = {"metadata": {"annotations": {FAILED: "true"}}}
    unknown = {"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}}
    for node in nodes:
        simulated.api.ask("PATCH", f"/api/v1/nodes/{node}", silent, content=STRATEGIC)
        simulated.api.ask("PATCH", f"/api/v1/nodes/{node}/status", unknown, content=STRATEGIC)
    simulated.wait(lambda: all(_is_unreachable(simulated, node) for node in nodes), timeout=30)
    for node in nodes:
        simulated.api.ask("DELETE", f"/api/v1/nodes/{node}")
    for pod in pods:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        try:
            simulated.api.ask("DELETE", path, {"gracePeriodSeconds": 0})
        except ApiError as error:
            if error.status != 404:
                raise
    lost = {pod.uid for pod in pods}
    simulated.wait(
        lambda: not any(simulated.cache.get("nodes", node) for node in nodes) and not simulated.has_pods(lost)
    )


def _is_unreachable(simulated: SimulatedCluster, node: str) -> bool:
    """Whether the node controller has tainted the node as unreachable."""
    item = simulated.cache.get("nodes", node)
    return item is None or any(taint["key"].endswith("/unreachable") for taint in listed(item, "spec", "taints"))


def _quorums(
    rows: Sequence[ExpectedRow], remaining: Sequence[RunningPod], servers: Sequence[str]
) -> Iterator[QuorumLoss]:
    """Yields the quorums that lost a member.

    For a pair of servers, yields only rows that must survive the loss of both.
    """
    for expected in rows:
        must_hold = _must_hold(expected, len(servers))
        if must_hold or (expected.quorum and len(servers) == 1):
            # Only members that were ready on other nodes count: a replacement starts too late to keep the majority.
            left = sum(pod.ready for pod in remaining if pod.row == expected.name)
            yield QuorumLoss(expected.name, expected.instances or 0, left, must_hold)


def _must_hold(expected: ExpectedRow, servers: int) -> bool:
    """Whether a row must keep a majority while a number of servers is down.

    With one server down, a row must if its quorum tolerates a failure. With two, a row must if it has 5 or more
    instances.
    """
    if servers == 1:
        return expected.failures_tolerated >= 1
    return (expected.instances or 0) >= PAIRED


def _etcd(members: Mapping[str, str], nodes: Sequence[RunningNode], servers: Sequence[str]) -> Iterator[QuorumLoss]:
    """Yields the loss of etcd members if a machine with a member failed.

    Machines are counted instead of members, because etcd's members are not pods in the simulated cluster. `members`:
    the physical host of each by the stack file, which counts for a machine that is not a node.
    """
    labels = {node.name: node.server for node in nodes}
    left = sum(labels.get(member, server) not in servers for member, server in members.items())
    if left < len(members):
        yield QuorumLoss("etcd", len(members), left, failures_tolerated(len(members)) >= 1)


def _recovered(simulated: SimulatedCluster, rows: Sequence[str]) -> bool:
    """Whether every pod of these rows is ready or reported as unschedulable, and replacements exist for lost pods."""
    wanted = sum(each.instances or 0 for each in simulated.state.rows if each.name in rows)
    pods = simulated.pods_of(rows)
    return len(pods) >= wanted and all(pod.ready or pod.refusal for pod in pods)


def _undecided(simulated: SimulatedCluster, rows: Sequence[str], servers: Sequence[str]) -> list[Violation]:
    """Returns a finding for each pod that is neither ready nor reported as unschedulable."""
    stuck = [pod for pod in simulated.pods_of(rows) if not pod.ready and not pod.refusal]
    where = f"without {_all(servers)}"
    return [
        Violation("mends-itself", pod.title, f"{pod.name} on {pod.node or 'no node'} does not become ready {where}")
        for pod in stuck
    ]


def _below(simulated: SimulatedCluster, rows: Sequence[ExpectedRow]) -> Iterator[tuple[str, int, int]]:
    for expected in rows:
        ready = sum(pod.ready for pod in simulated.pods_of([expected.name]))
        if expected.instances is not None and ready < expected.instances:
            yield expected.name, ready, expected.instances


def _restore(simulated: SimulatedCluster, nodes: Sequence[str], *, wait_ready: bool) -> list[Violation]:
    """Registers the nodes again, and with `wait_ready` waits until the cluster is ready.

    If only DaemonSets lost pods, `wait_ready` is false: their pods may start while the next server fails.
    """
    wrong = simulated_nodes.register_all(simulated.api, [simulated.machines[node] for node in nodes])
    simulated.wait(lambda: simulated.open_nodes(nodes), timeout=60)
    if wait_ready and not simulated.wait(simulated.is_ready, timeout=120):
        waiting = [pod for pod in simulated.cluster().pods if not pod.ready]
        wrong += [
            Violation(
                "mends-itself", pod.title, f"{pod.name} did not recover after {_all(nodes)} returned: {pod.refusal}"
            )
            for pod in waiting
        ]
    return wrong


def _pairs(simulated: SimulatedCluster, expected: ExpectedRow) -> Iterator[tuple[str, ...]]:
    if (expected.instances or 0) < PAIRED or not (expected.quorum or expected.dedicated_nodes):
        return
    cluster = simulated.cluster()
    hosts: dict[str, int] = defaultdict(int)
    for pod in cluster.of_row(expected.name):
        hosts[cluster.server_of(pod) or ""] += 1
    yield from combinations(sorted(host for host in hosts if host), 2)


def _all(names: Sequence[str]) -> str:
    return " and ".join(names)
