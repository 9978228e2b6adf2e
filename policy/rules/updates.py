"""What a change does to what stands: compared with the stack's own last deployment.

A program leaves its quorums behind as an output and shows a policy what the last one left (Previous). Before a stack's
first deployment, and where its state cannot be opened, there is nothing to compare, and the rules do not apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policy.facts.components import Previous, QuorumState
from policy.facts.quorums import is_member, majority
from policy.facts.resource import Resource
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule
from policy.wording import join_names, pluralize

NOTHING_STOOD = "no earlier deployment of this stack is known: it is its first, or its state was not opened"
VALIDATION = Source("004", "5.5.9", "check that scale down or node decommissioning does not cause data lose")


@dataclass(frozen=True)
class Change:
    """A quorum before and after."""

    resource: Resource
    name: str
    before: QuorumState
    now: QuorumState

    @property
    def title(self) -> str:
        """What a message calls it."""
        return f"quorum {self.name}"

    @property
    def gone(self) -> set[str]:
        """Nodes that may have carried a member and will not; one that moves to another server leaves its disk."""
        return {node for node, server in self.before.nodes.items() if self.now.nodes.get(node) != server}

    @property
    def lost(self) -> int:
        """Members that go at the worst. One that goes along with its node counts once."""
        fewer = self.before.members - self.now.members
        return max(fewer, min(len(self.gone), self.before.members), 0)

    def problem(self, expected: str) -> Problem:
        """What goes, in words."""
        seen = f"{self.lost} of its {self.before.members} members go at once"
        if self.now.members < self.before.members:
            seen += f"; {pluralize(self.now.members, 'member')} will be left"
        if self.gone:
            seen += f"; {join_names(self.gone)} may carry one and will not be there, or be on another server"
        return Problem(seen, expected)


def changes(facts: Facts) -> Iterator[Change]:
    """Every quorum that stood, with what becomes of it."""
    for previous in _previous(facts):
        for name, before in previous.quorums():
            resource, now = _standing(facts, name) or (previous.resource, QuorumState(0, {}))
            yield Change(resource, name, before, now)


def _previous(facts: Facts) -> Iterator[Previous]:
    for resource in facts.resources:
        if resource.type == Previous.TYPE and (previous := Previous(resource)).known:
            yield previous


def _standing(facts: Facts, name: str) -> tuple[Resource, QuorumState] | None:
    """The quorum as this stack has it: etcd by its machines, every other by the workload of the service's name."""
    servers = {node.name: node.server or node.name for node in facts.nodes}
    if name == "etcd":
        for etcd in facts.etcds:
            nodes = {member.node: servers.get(member.node, member.server) for member in etcd.members}
            return etcd.resource, QuorumState(len(nodes), nodes)
    for workload in facts.workloads:
        if is_member(facts, workload) and facts.service(workload) == name:
            nodes = {node.name: servers[node.name] for node in facts.eligible(workload)}
            replicas = workload.replicas
            return workload.resource, QuorumState(len(nodes) if replicas is None else replicas, nodes)
    return None


@rule(
    id="one-member-at-a-time",
    title="A change takes at most one member away from a quorum",
    severity=Severity.CRITICAL,
    rationale="A member that goes takes its copy of the data along. Its successor must have joined and caught up "
    "before the next one goes.",
    sources=(
        VALIDATION,
        Source(
            "004",
            "5.5.10",
            "nodes has to be updated one-by-one, without restarting services on all nodes simultaneously",
        ),
    ),
    remediation="Make two changes of it: take one member away (one replica, or one server with another in its place), "
    "run `make up`, wait until its successor has joined, and take the next. Where the size between is an even one, "
    "waive the rule on sizes for that day. Put the new server where the old one stood in quorate:servers: one that is "
    "taken out of the middle moves every later one into another pool.",
    subjects=changes,
    not_applicable_reason=NOTHING_STOOD,
    parameters={"most": 1},
    since="0.2.0",
)
def one_member_at_a_time(_facts: Facts, change: Change) -> Iterator[Problem]:
    """With more nodes than members nobody can say which nodes carry one: each that goes counts."""
    if change.lost > 1:
        yield change.problem("1 at most in one update")


@rule(
    id="majority-survives-change",
    title="A change leaves a majority of a quorum's members as they are",
    severity=Severity.CRITICAL,
    rationale="The members that stay must be able to go on without those that go: below the majority of what stood, "
    "nobody may write, and new members cannot be let in.",
    sources=(
        VALIDATION,
        Source("004", "5.5.9", "check that quorum for etcd cluster is satisfied"),
        Source("project", "Quorums", "an update keeps a majority of the existing members of every quorum"),
    ),
    remediation="Add members first, with an update of its own, and take others away once these have joined. A quorum "
    "that is to go for good goes with `make destroy`, or under a waiver that says where its data went.",
    subjects=changes,
    not_applicable_reason=NOTHING_STOOD,
    since="0.2.0",
)
def majority_survives_change(_facts: Facts, change: Change) -> Iterator[Problem]:
    """The majority is that of the members which stood: they hold the data."""
    least = majority(change.before.members)
    if change.before.members - change.lost < least:
        yield change.problem(f"at least {least} of them stay")


@dataclass(frozen=True)
class Carrier:
    """A virt host that stood, and the members that it may have carried."""

    resource: Resource
    server: str
    guests: frozenset[str]

    @property
    def title(self) -> str:
        """What a message calls it."""
        return f"virt host {self.server}"


def carriers(facts: Facts) -> Iterator[Carrier]:
    """Servers whose virtual machines were nodes of a quorum."""
    for previous in _previous(facts):
        guests: dict[str, set[str]] = {}
        for _, before in previous.quorums():
            for node, server in before.nodes.items():
                if node != server:
                    guests.setdefault(server, set()).add(node)
        hosts = {host.server: host.resource for host in facts.virt_hosts}
        for server, names in guests.items():
            yield Carrier(hosts.get(server, previous.resource), server, frozenset(names))


@rule(
    id="virt-host-leaves-empty",
    title="A virt host goes only after its members have left every quorum",
    severity=Severity.CRITICAL,
    rationale="A virt host's virtual machines go with it. Fuel asked for a warning before such a node is deleted; "
    "where a quorum's member is on it, a warning is too little.",
    sources=(
        Source("000", "Acceptance criteria", "show warning before delete node with virt role"),
        Source("project", "Quorums", "a virt host is removed only after its members have left every quorum"),
        VALIDATION,
    ),
    remediation="Leave the server in quorate:servers, move its virtual machines to another virt host one at a time (an "
    "update each), and take the server out when it carries none that is a node of a quorum.",
    subjects=carriers,
    not_applicable_reason=NOTHING_STOOD + ", or no virtual machine was a node of a quorum",
    since="0.2.0",
)
def virt_host_leaves_empty(facts: Facts, carrier: Carrier) -> Iterator[Problem]:
    """A server that is no virt host any more carries no virtual machine either."""
    if not any(host.server == carrier.server for host in facts.virt_hosts):
        yield Problem(
            f"it goes, and carried {join_names(carrier.guests)}, each a node of a quorum", "its members gone before it"
        )


@rule(
    id="one-storage-node-at-a-time",
    title="A change takes at most one node with data away",
    severity=Severity.CRITICAL,
    rationale="Ceph keeps copies of each object on different nodes and makes new ones when a node goes. Nodes that go "
    "together can take every copy of an object along.",
    sources=(
        VALIDATION,
        Source(
            "004",
            "5.5.2",
            "a sequence of actions has to be performed to gracefully remove services from cluster and migrate workload",
        ),
    ),
    remediation="Take one storage node out of quorate:servers, run `make up`, wait until Ceph has all copies again "
    "(`ceph -s` says HEALTH_OK), and take the next.",
    subjects=_previous,
    applies=lambda _facts, previous: bool(previous.storage),
    not_applicable_reason=NOTHING_STOOD + ", or no node held data",
    parameters={"most": 1},
    since="0.2.0",
)
def one_storage_node_at_a_time(facts: Facts, previous: Previous) -> Iterator[Problem]:
    """By the nodes' names and physical hosts: one that moves to another server leaves its disks."""
    servers = {node.name: node.server or node.name for node in facts.nodes if node.pool == "storage"}
    gone = {name for name, server in previous.storage.items() if servers.get(name) != server}
    if len(gone) > 1:
        yield Problem(f"{join_names(gone)} go in one update", "1 at most")
