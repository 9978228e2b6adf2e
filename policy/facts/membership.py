"""Who leaves a quorum in a change: one pure function over the members before and the members after.

The policy rules call it with the record of the last deployment, `changes/` with two previews. A member is bound to its
node, and the node to its physical host, its address, its pool and the places of its data. If one of these differs, the
member has left, whatever the node is called. If a quorum has more nodes than members, every node that leaves counts as
one that carried a member.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from policy.wording import join_names


@dataclass(frozen=True)
class MemberNode:
    """A node that carries a member of a quorum, or may carry one."""

    server: str
    """Its physical host."""
    address: str = ""
    pool: str = ""
    data: frozenset[str] = frozenset()
    """Where members on it keep their data: disks of its virtual machine, local volumes."""


@dataclass(frozen=True)
class QuorumState:
    """A quorum before or after a change."""

    members: int
    nodes: Mapping[str, MemberNode]
    """The nodes that may carry members, by name."""


EMPTY = QuorumState(0, {})
"""A quorum that is not there."""


@dataclass(frozen=True)
class Departure:
    """The members that leave one quorum."""

    before: QuorumState
    after: QuorumState

    @cached_property
    def nodes(self) -> Mapping[str, str]:
        """Nodes that may have carried a member which leaves, each with the reason."""
        pairs = ((name, _reason(node, self.after.nodes.get(name))) for name, node in self.before.nodes.items())
        return {name: reason for name, reason in pairs if reason}

    @property
    def lost(self) -> int:
        """How many members leave at worst. A member that leaves along with its node counts once."""
        fewer = self.before.members - self.after.members
        return max(fewer, min(len(self.nodes), self.before.members), 0)

    @property
    def servers(self) -> frozenset[str]:
        """Physical hosts of the nodes that leave, as they were before."""
        return frozenset(self.before.nodes[name].server for name in self.nodes)

    @property
    def without_node(self) -> int:
        """Members that leave while all nodes stay: it is not known from which host."""
        return max(self.lost - len(self.nodes), 0)

    @property
    def words(self) -> str:
        """Why members leave, in a few words; empty if none does."""
        return "; ".join(self._clauses())

    def _clauses(self) -> Iterator[str]:
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.nodes.items():
            by_reason.setdefault(reason, []).append(name)
        yield from (f"{join_names(names)} {reason}" for reason, names in sorted(by_reason.items()))
        if self.after.members < self.before.members:
            yield f"{self.after.members} members instead of {self.before.members}"


def departures(before: Mapping[str, QuorumState], after: Mapping[str, QuorumState]) -> dict[str, Departure]:
    """Every quorum that was there, with the members that leave it; the keys are the same in both."""
    return {name: Departure(state, after.get(name, EMPTY)) for name, state in before.items()}


def hosts_left(found: Iterable[Departure]) -> int:
    """From how many physical hosts members leave in one change, at worst, over all quorums together.

    A member that leaves without its node may be on a host of its own: it counts as one host more.
    """
    those = list(found)
    servers = frozenset[str]().union(*(each.servers for each in those))
    return len(servers) + sum(each.without_node for each in those)


def _reason(before: MemberNode, after: MemberNode | None) -> str:
    """Why the member that was on a node is not the one that will be; empty if it is.

    What was not known of the node before is not compared.
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
