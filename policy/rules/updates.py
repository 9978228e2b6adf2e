"""Changes to quorums and storage since the stack's last deployment.

A Quorate program records its quorum members in the stack's outputs. The component Previous contains the record of the
last deployment, which these rules compare with the update. Before a stack's first deployment, and if its state cannot
be opened, there is no record, and the rules do not apply.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policy.facts.components import PreviousFacts
from policy.facts.membership import EMPTY, Departure, QuorumState, departures, hosts_left
from policy.facts.quorums.quorum_state import quorum_state
from policy.facts.quorums.quorums import MemberGroup, groups, is_member, majority
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.resource import Resource
from policy.rule import IN_ANY_PROFILE, RuleProblem, RuleSource, rule
from policy.wording import join_names

NO_RECORD = "no earlier deployment of this stack is known: it is the first, or its state was not opened"
VALIDATION = RuleSource("004", "5.5.9", 6)


@dataclass(frozen=True)
class UpdatedQuorum:
    """A quorum of the last deployment, and the members that an update removes from it."""

    resource: Resource
    name: str
    departure: Departure

    @property
    def title(self) -> str:
        """The quorum's name in messages."""
        return f"quorum {self.name}"

    @property
    def now(self) -> QuorumState:
        """The quorum after the update."""
        return self.departure.after

    def problem(self, expected: str) -> RuleProblem:
        """Returns a problem that lists the removed members. `expected`: the required state, for the message."""
        lost, members = self.departure.lost, self.departure.before.members
        verb = "is" if lost == 1 else "are"
        return RuleProblem(f"{lost} of {members} members {verb} removed at once ({self.departure.words})", expected)


@dataclass(frozen=True)
class Update:
    """The changes of all quorums since the last deployment."""

    resource: Resource
    changes: tuple[UpdatedQuorum, ...]

    @property
    def title(self) -> str:
        """The update's name in messages."""
        return "update"


def updates(facts: Facts) -> Iterator[Update]:
    """Yields one Update with the changes of all quorums since the last deployment; nothing if no record is known."""
    for previous in _previous(facts):
        before = previous.quorums()
        groups_now = {name: _group(facts, name) for name in before}
        now = {name: quorum_state(facts, group) if group else EMPTY for name, group in groups_now.items()}
        found = departures(before, now)
        resources = {name: group.resource if group else previous.resource for name, group in groups_now.items()}
        yield Update(
            previous.resource, tuple(UpdatedQuorum(resources[name], name, each) for name, each in found.items())
        )


def changes(facts: Facts) -> Iterator[UpdatedQuorum]:
    """Yields every quorum of the last deployment, with the members that the update removes."""
    for update in updates(facts):
        yield from update.changes


def _previous(facts: Facts) -> Iterator[PreviousFacts]:
    for resource in facts.resources:
        if resource.type == PreviousFacts.TYPE and (previous := PreviousFacts(resource)).known:
            yield previous


def _group(facts: Facts, name: str) -> MemberGroup | None:
    """Returns the quorum with this name: etcd on machines, or the workloads of the service; None if it is gone."""
    for group in groups(facts):
        if group.etcd and name == "etcd":
            return group
        if any(facts.service(each) == name and is_member(facts, each) for each in group.workloads):
            return group
    return None


@rule(
    id="one-server-at-a-time",
    title="An update removes the quorum members of at most one physical host",
    severity=Severity.CRITICAL,
    rationale="Quorums depend on each other: OpenStack needs the database, the message queue and Kubernetes at the "
    "same time. If one host's members leave several quorums, that is one failure. If members on two hosts leave, "
    "that is two failures at once, and the quorums may not tolerate another one.",
    sources=(
        VALIDATION,
        RuleSource("004", "5.5.10", 15),
        RuleSource("project", "Quorums", 9),
    ),
    remediation="Split the change: remove, replace or move one server, run `make up`, wait until its members have "
    "joined again, then continue. If other servers move although you did not change them, pin their pools (`make "
    "pin`) and keep their names and addresses.",
    subjects=updates,
    not_applicable_reason=NO_RECORD,
    parameters={"most": 1},
    since="0.2.0",
)
def one_server_at_a_time(_facts: Facts, update: Update) -> Iterator[RuleProblem]:
    """Accepts that several quorums lose a member each, if all these members are on the same physical host."""
    leaving = [each for each in update.changes if each.departure.lost]
    hosts = hosts_left(each.departure for each in leaving)
    if hosts > 1:
        what = "; ".join(f"quorum {each.name}: {each.departure.words}" for each in leaving)
        yield RuleProblem(f"members on {hosts} physical hosts leave in one update ({what})", "members on at most 1")


@rule(
    id="one-member-at-a-time",
    title="An update removes at most one member from a quorum",
    severity=Severity.CRITICAL,
    rationale="When a member is removed, its copy of the data is lost. Its replacement must have joined and caught up "
    "before the next member is removed.",
    sources=(
        VALIDATION,
        RuleSource("004", "5.5.10", 15),
        RuleSource("project", "Quorums", 10),
    ),
    remediation="Split the change: remove one member (one replica, or one server and its replacement), run `make up`, "
    "wait until the replacement has joined, then continue. If a size in between is even, waive the size rule for that "
    "day.",
    subjects=changes,
    not_applicable_reason=NO_RECORD,
    parameters={"most": 1},
    since="0.2.0",
)
def one_member_at_a_time(_facts: Facts, change: UpdatedQuorum) -> Iterator[RuleProblem]:
    """Counts removed members at worst: in a quorum with more nodes than members, each removed node may run a member."""
    if change.departure.lost > 1:
        yield change.problem("at most 1 per update")


@rule(
    id="majority-survives-change",
    title="An update keeps a majority of each quorum's existing members",
    severity=Severity.CRITICAL,
    rationale="The members that stay must work without those that leave. Below the majority of the existing members, "
    "the quorum accepts no writes and no new members.",
    sources=(
        VALIDATION,
        RuleSource("004", "5.5.9", 5),
        RuleSource("project", "Quorums", 3),
    ),
    remediation="Add members in a separate update; remove others after the new ones have joined. To retire a "
    "quorum, run `make destroy`, or waive this rule and state where its data went. To move etcd between masters and "
    "machines of role etcd, restore a copy of its data there (docs/operations.md).",
    subjects=changes,
    not_applicable_reason=NO_RECORD,
    since="0.2.0",
    enforcement=IN_ANY_PROFILE,
)
def majority_survives_change(_facts: Facts, change: UpdatedQuorum) -> Iterator[RuleProblem]:
    """Requires that a majority of the members before the update stays, because only they have the data."""
    members = change.departure.before.members
    if members - change.departure.lost < majority(members):
        yield change.problem(f"at least {majority(members)} of them to stay")


@dataclass(frozen=True)
class Carrier:
    """A virt host of the last deployment, and its virtual machines that were nodes of a quorum."""

    resource: Resource
    server: str
    guests: frozenset[str]

    @property
    def title(self) -> str:
        """The virt host's name in messages."""
        return f"virt host {self.server}"


def carriers(facts: Facts) -> Iterator[Carrier]:
    """Yields the servers whose virtual machines were nodes of a quorum in the last deployment."""
    for previous in _previous(facts):
        guests: dict[str, set[str]] = {}
        for before in previous.quorums().values():
            for name, node in before.nodes.items():
                if name != node.server:
                    guests.setdefault(node.server, set()).add(name)
        hosts = {host.server: host.resource for host in facts.virt_hosts}
        for server, names in guests.items():
            yield Carrier(hosts.get(server, previous.resource), server, frozenset(names))


@rule(
    id="virt-host-leaves-empty",
    title="A virt host is removed only after its VMs have left every quorum",
    severity=Severity.CRITICAL,
    rationale="A virt host's virtual machines are removed along with it. Fuel asked for a warning before such a "
    "node is deleted; if the host carries a quorum member, a warning is not enough.",
    sources=(
        RuleSource("000", "Acceptance criteria", 3),
        RuleSource("project", "Quorums", 4),
        VALIDATION,
    ),
    remediation="Leave the server in quorate:servers, move its virtual machines to another virt host one at a time "
    "(one update each), and remove the server when it carries no quorum node.",
    subjects=carriers,
    not_applicable_reason=NO_RECORD + ", or no virtual machine was a node of a quorum",
    since="0.2.0",
)
def virt_host_leaves_empty(facts: Facts, carrier: Carrier) -> Iterator[RuleProblem]:
    """Reports a server that ran quorum nodes in virtual machines and is no longer a virt host of the stack."""
    if not any(host.server == carrier.server for host in facts.virt_hosts):
        yield RuleProblem(
            f"removed while {join_names(carrier.guests)} were quorum nodes on it", "their removal in an earlier update"
        )


@rule(
    id="one-storage-node-at-a-time",
    title="An update removes at most one storage node",
    severity=Severity.CRITICAL,
    rationale="Ceph keeps copies of each object on different nodes and makes new copies when a node is removed. Nodes "
    "that are removed together can hold every copy of an object.",
    sources=(
        VALIDATION,
        RuleSource("004", "5.5.2", 53),
        RuleSource("project", "Updates", 4),
    ),
    remediation="Remove one storage node from quorate:servers, run `make up`, wait until `ceph -s` reports HEALTH_OK, "
    "then remove the next.",
    subjects=_previous,
    applies=lambda _facts, previous: bool(previous.storage),
    not_applicable_reason=NO_RECORD + ", or no node held data",
    parameters={"most": 1},
    since="0.2.0",
    enforcement=IN_ANY_PROFILE,
)
def one_storage_node_at_a_time(facts: Facts, previous: PreviousFacts) -> Iterator[RuleProblem]:
    """Counts storage nodes that are removed, or on another physical host than before: their disks do not move along."""
    servers: Mapping[str, str] = {
        node.name: node.server or node.name for node in facts.nodes if "storage" in node.roles
    }
    gone = {name for name, node in previous.storage.items() if servers.get(name) != node.server}
    if len(gone) > 1:
        yield RuleProblem(f"{join_names(gone)} are removed or moved in one update", "at most 1")
