"""Servers die: each in turn, and in pairs where a quorum has five members.

A dead server's nodes stop reporting, the node controller takes note, they are deleted and their pods with them. What
is left must hold every quorum at that very moment; then the cluster may mend itself as far as it can. The server comes
back before the next one dies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from blueprint.plan.quorum_limits import majority
from proof import simulated_nodes
from proof.api import STRATEGIC, ApiError
from proof.cluster import Node, Pod
from proof.expected import Expected
from proof.objects import listed
from proof.simulation import Progress, Stand
from proof.violations import Finding

LOST = "quorate.io/lost"
"""Annotation that silences a node's simulated kubelet."""
PAIRED = 5
"""Members from which a quorum must survive the loss of any two servers."""


@dataclass(frozen=True)
class Held:
    """A quorum after a loss."""

    row: str
    members: int
    left: int
    majority: int

    @property
    def holds(self) -> bool:
        return self.left >= self.majority


@dataclass(frozen=True)
class Loss:
    """What the loss of some servers did."""

    servers: tuple[str, ...]
    nodes: tuple[str, ...]
    pods: int
    quorums: tuple[Held, ...]
    """Quorums that lost a member."""
    below: tuple[tuple[str, int, int], ...]
    """Rows below their count once the cluster had done what it could: row, left, wanted."""
    elsewhere: tuple[tuple[str, str], ...]
    """What came back on another node: row, node."""


def lose_each(stand: Stand, say: Progress) -> tuple[list[Loss], list[Finding]]:
    """Every physical server in turn, then the pairs."""
    losses: list[Loss] = []
    findings: list[Finding] = []
    servers = servers_of(stand)
    for number, server in enumerate(servers, start=1):
        say(f"server {number} of {len(servers)} dies: {server}")
        loss, wrong = lose(stand, (server,))
        losses.append(loss)
        findings += wrong
    stand.await_whole()
    pairs = sorted({pair for row in stand.norm.rows for pair in _pairs(stand, row)})
    for number, pair in enumerate(pairs, start=1):
        say(f"pair {number} of {len(pairs)} dies: {' and '.join(pair)}")
        loss, wrong = lose(stand, pair)
        losses.append(loss)
        findings += wrong
    stand.await_whole()
    return losses, findings


def servers_of(stand: Stand) -> list[str]:
    """The physical hosts, by their nodes' labels."""
    return sorted({node.server for node in stand.cluster().nodes.values() if node.server})


def lose(stand: Stand, servers: tuple[str, ...]) -> tuple[Loss, list[Finding]]:
    """Takes servers away, looks, and brings them back."""
    there = stand.cluster_nodes()
    nodes = tuple(sorted(node.name for node in there if node.server in servers))
    gone = stand.pods_on(nodes)
    rows = {pod.row for pod in gone if pod.row}
    here = [pod for pod in stand.pods_of(rows) if pod.node not in nodes]
    _kill(stand, nodes, gone)
    counted = [each for each in stand.norm.rows if each.name in rows and each.instances is not None]
    quorums = tuple(_held(each, here) for each in counted if _must_hold(each, len(servers)))
    quorums += tuple(_etcd(there, servers))
    findings = [
        Finding("quorum-survives", held.row, f"{held.left} of {held.members} members are left without {_all(servers)}")
        for held in quorums
        if not held.holds
    ]
    elsewhere: list[tuple[str, str]] = []
    if counted:
        names = [each.name for each in counted]
        stayed = {pod.uid for pod in here if pod.ready}
        if not stand.wait(lambda: _mended(stand, names), timeout=90):
            findings += _undecided(stand, names, servers)
        new = [pod for pod in stand.pods_of(names) if pod.ready and pod.uid not in stayed]
        elsewhere = sorted((pod.row or "", pod.node or "") for pod in new)
    below = tuple(_below(stand, counted))
    findings += _bring_back(stand, nodes, whole=bool(counted))
    return Loss(servers, nodes, len(gone), quorums, below, tuple(elsewhere)), findings


def _kill(stand: Stand, nodes: Sequence[str], pods: Sequence[Pod]) -> None:
    silent = {"metadata": {"annotations": {LOST: "true"}}}
    unknown = {"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}}
    for node in nodes:
        stand.api.ask("PATCH", f"/api/v1/nodes/{node}", silent, content=STRATEGIC)
        stand.api.ask("PATCH", f"/api/v1/nodes/{node}/status", unknown, content=STRATEGIC)
    stand.wait(lambda: all(_is_given_up(stand, node) for node in nodes), timeout=30)
    for node in nodes:
        stand.api.ask("DELETE", f"/api/v1/nodes/{node}")
    for pod in pods:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        try:
            stand.api.ask("DELETE", path, {"gracePeriodSeconds": 0})
        except ApiError as refused:
            if refused.status != 404:
                raise
    lost = {pod.uid for pod in pods}
    stand.wait(lambda: not any(stand.live.get("nodes", node) for node in nodes) and not stand.has_pods(lost))


def _is_given_up(stand: Stand, node: str) -> bool:
    """The node controller has seen that the node is silent."""
    item = stand.live.get("nodes", node)
    return item is None or any(taint["key"].endswith("/unreachable") for taint in listed(item, "spec", "taints"))


def _must_hold(expected: Expected, servers: int) -> bool:
    """A quorum survives any one server; with five members any two."""
    return (expected.quorum and servers == 1) or (servers == 2 and (expected.instances or 0) >= PAIRED)


def _held(expected: Expected, here: Sequence[Pod]) -> Held:
    """Members that were ready elsewhere: what runs on without a moment's pause."""
    left = sum(pod.ready for pod in here if pod.row == expected.name)
    return Held(expected.name, expected.instances or 0, left, majority(expected.instances or 0))


def _etcd(nodes: Sequence[Node], servers: Sequence[str]) -> Iterator[Held]:
    """etcd, whose members are no pods: one on each master."""
    masters = [node for node in nodes if node.is_master]
    left = sum(node.server not in servers for node in masters)
    if left < len(masters) and len(servers) == 1:
        yield Held("etcd", len(masters), left, majority(len(masters)))


def _mended(stand: Stand, rows: Sequence[str]) -> bool:
    """Each pod that was made anew has a node and runs, or has been refused by the scheduler."""
    wanted = sum(each.instances or 0 for each in stand.norm.rows if each.name in rows)
    pods = stand.pods_of(rows)
    return len(pods) >= wanted and all(pod.ready or pod.refusal for pod in pods)


def _undecided(stand: Stand, rows: Sequence[str], servers: Sequence[str]) -> list[Finding]:
    """Pods that neither came up elsewhere nor were told that they cannot."""
    stuck = [pod for pod in stand.pods_of(rows) if not pod.ready and not pod.refusal]
    where = f"without {_all(servers)}"
    return [
        Finding("mends-itself", pod.title, f"{pod.name} on {pod.node or 'no node'} does not come up {where}")
        for pod in stuck
    ]


def _below(stand: Stand, rows: Sequence[Expected]) -> Iterator[tuple[str, int, int]]:
    for expected in rows:
        ready = sum(pod.ready for pod in stand.pods_of([expected.name]))
        if expected.instances is not None and ready < expected.instances:
            yield expected.name, ready, expected.instances


def _bring_back(stand: Stand, nodes: Sequence[str], *, whole: bool) -> list[Finding]:
    """Registers the nodes again. Where only daemons were lost, they may start while the next server dies."""
    wrong = simulated_nodes.register_all(stand.api, [stand.machines[node] for node in nodes])
    stand.wait(lambda: stand.open_nodes(nodes), timeout=60)
    if whole and not stand.wait(stand.is_whole, timeout=120):
        waiting = [pod for pod in stand.cluster().pods if not pod.ready]
        wrong += [
            Finding("mends-itself", pod.title, f"{pod.name} did not come back with {_all(nodes)}: {pod.refusal}")
            for pod in waiting
        ]
    return wrong


def _pairs(stand: Stand, expected: Expected) -> Iterator[tuple[str, ...]]:
    if (expected.instances or 0) < PAIRED or not (expected.quorum or expected.row.owner):
        return
    cluster = stand.cluster()
    hosts: dict[str, int] = defaultdict(int)
    for pod in cluster.of_row(expected.name):
        hosts[cluster.server_of(pod) or ""] += 1
    yield from combinations(sorted(host for host in hosts if host), 2)


def _all(names: Sequence[str]) -> str:
    return " and ".join(names)
