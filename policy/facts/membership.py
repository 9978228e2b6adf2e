"""Computes which members leave a quorum in a change, from the members before and after the change.

The policy rules compare the stack with the record of its last deployment; `changes/` compares two previews. A member is
identified by its node and the node's physical host, address, pool and data locations. If one of these differs, the
member has left, even if the node's name is the same. If a quorum has more eligible nodes than members, every node that
leaves counts as a node that runs a member.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from policy.wording import join_names


@dataclass(frozen=True)
class MemberNode:
    """A node that runs a quorum member, or is eligible for one."""

    server: str
    """Its physical host."""
    address: str = ""
    pool: str = ""
    data: frozenset[str] = frozenset()
    """Where members on the node keep their data: disks of the virtual machine, local volumes."""


@dataclass(frozen=True)
class QuorumState:
    """A quorum before or after a change."""

    members: int
    nodes: Mapping[str, MemberNode]
    """The nodes that are eligible for members, by name."""


EMPTY = QuorumState(0, {})
"""The state of a quorum that does not exist."""


@dataclass(frozen=True)
class Departure:
    """The members that leave one quorum."""

    before: QuorumState
    after: QuorumState

    @cached_property
    def nodes(self) -> Mapping[str, str]:
        """The reason for each node whose member leaves, by the node's name."""
        pairs = ((name, _reason(node, self.after.nodes.get(name))) for name, node in self.before.nodes.items())
        return {name: reason for name, reason in pairs if reason}

    @property
    def lost(self) -> int:
        """The worst-case number of members that leave. A member that leaves together with its node counts once."""
        fewer = self.before.members - self.after.members
        return max(fewer, min(len(self.nodes), self.before.members), 0)

    @property
    def servers(self) -> frozenset[str]:
        """The physical hosts, before the change, of the nodes whose members leave."""
        return frozenset(self.before.nodes[name].server for name in self.nodes)

    @property
    def without_node(self) -> int:
        """How many members leave although their nodes stay, because the quorum has fewer members.

        Their host is unknown.
        """
        return max(self.lost - len(self.nodes), 0)

    @property
    def words(self) -> str:
        """Why members leave the quorum, for messages; "" if no member leaves."""
        return "; ".join(self._clauses())

    def _clauses(self) -> Iterator[str]:
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.nodes.items():
            by_reason.setdefault(reason, []).append(name)
        yield from (f"{join_names(names)} {reason}" for reason, names in sorted(by_reason.items()))
        if self.after.members < self.before.members:
            yield f"{self.after.members} members instead of {self.before.members}"


def departures(before: Mapping[str, QuorumState], after: Mapping[str, QuorumState]) -> dict[str, Departure]:
    """Returns the members that leave each quorum that existed before a change, by the quorum's name.

    `before`, `after`: the quorums before and after the change, by the same names.
    """
    return {name: Departure(state, after.get(name, EMPTY)) for name, state in before.items()}


def hosts_left(found: Iterable[Departure]) -> int:
    """Returns the worst-case number of physical hosts that lose a quorum member in one change.

    A member that leaves although its node stays counts as one more host, because its host is unknown.
    """
    those = list(found)
    servers = frozenset[str]().union(*(each.servers for each in those))
    return len(servers) + sum(each.without_node for each in those)


def _reason(before: MemberNode, after: MemberNode | None) -> str:
    """Returns why the node's member counts as having left its quorum, for messages; "" if the member stays.

    Address and pool are compared only if they were known before.
    """
    if after is None:
        return "no longer among its nodes"
    if before.server != after.server:
        return "on another physical host"
    if before.address and before.address != after.address:
        return "at another address"
    if before.pool and before.pool != after.pool:
        return "in another pool"
    return "without its data" if before.data - after.data else ""
