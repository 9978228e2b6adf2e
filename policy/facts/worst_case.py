"""Computes how many pods one host or rack can run, for the worst placement that the scheduling rules allow.

Pure arithmetic on node numbers and labels, used by the pack on the resources and by the audit on the pack's record. The
result is an upper bound of what the scheduler can do. For one workload it is exact if domains are nested (nodes in
hosts in racks) and at most one spread constraint applies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

Topologies = Mapping[str, Sequence[str]]
"""The value of a label on each node, by the label's key and the node's number; empty where a node lacks the label."""


@dataclass(frozen=True)
class Spread:
    """A required topology spread constraint (DoNotSchedule) that counts its own workload's pods."""

    topology: str
    skew: int
    domains: int
    """Number of domains over which the scheduler computes the global minimum."""
    rises: bool
    """Whether the minimum can exceed zero: at least minDomains domains, and counted pods can run in each of them."""
    counts: tuple[str, ...]
    """URNs of the workloads whose pods it counts."""
    pods: int
    """The number of these pods."""


class Members(Protocol):
    """Pods of one workload, with the limits on their placement."""

    @property
    def resource(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def nodes(self) -> tuple[int, ...]:
        """Numbers of the eligible nodes."""
        ...

    @property
    def apart(self) -> tuple[str, ...]:
        """Keys over which no two pods share a domain, the key with the fewest domains first."""
        ...

    @property
    def between(self) -> tuple[str, ...]:
        """Keys over which no two members in different workloads of one quorum share a domain."""
        ...

    @property
    def spreads(self) -> tuple[Spread, ...]: ...


def losses(members: Sequence[Members], failing: str, topologies: Topologies) -> dict[str, int]:
    """The most pods of these workloads together in each domain of the key `failing`.

    `members`: one workload, or all workloads of one quorum. Nodes without the label are one domain with an empty name.
    """
    parts = [_parts(each.nodes, topologies[failing]) for each in members]
    lowest = [_lowest(each, topologies) for each in members]
    domains = dict.fromkeys(name for part in parts for name in part)
    return {
        name: _most_together(members, lowest, [part.get(name, []) for part in parts], topologies) for name in domains
    }


def capacity(nodes: Sequence[int], count: int, apart: Sequence[str], topologies: Topologies) -> int:
    """How many of `count` pods fit on these nodes if no two share a domain of any of the keys `apart`.

    A node without a label is in no domain of that key: the scheduler applies no anti-affinity there.
    """
    if not nodes:
        return 0
    orders = ((first, *(key for key in apart if key != first)) for first in apart)
    return min([count, *(_cover(nodes, count, order, topologies) for order in orders)])


def room(members: Members, nodes: Sequence[int], topologies: Topologies) -> int:
    """How many of a workload's pods can run on these of its eligible nodes while the other nodes are down."""
    most = capacity(nodes, members.count, members.apart, topologies)
    for spread in members.spreads:
        domains = len(_parts(nodes, topologies[spread.topology]))
        if domains < spread.domains or not spread.rises:
            most = min(most, domains * spread.skew)  # a domain that is down still counts as the minimum, with no pod
    return most


def _cover(nodes: Sequence[int], count: int, keys: Sequence[str], topologies: Topologies) -> int:
    """Counts one pod per domain of the first key, then of each next key on the nodes without the earlier labels."""
    taken, left = 0, nodes
    for key in keys:
        values = topologies[key]
        taken += len({values[node] for node in left} - {""})
        left = [node for node in left if not values[node]]
        if not left:
            return taken
    return count


def _most_together(
    members: Sequence[Members], lowest: Sequence[Sequence[int]], here: Sequence[list[int]], topologies: Topologies
) -> int:
    """The most pods of all these workloads on nodes that fail together. `here`: those nodes, for each workload."""
    each = [_most(one, floors, nodes, topologies) for one, floors, nodes in zip(members, lowest, here, strict=True)]
    present = [one for one, nodes in zip(members, here, strict=True) if nodes]
    total = sum(each)
    if len(present) < 2 or not total:
        return total
    nodes = sorted({node for some in here for node in some})
    keys = [key for key in present[0].between if all(one.count == 1 or key in one.apart for one in present)]
    total = capacity(nodes, total, keys, topologies)
    for spread in present[0].spreads:
        if all(spread in one.spreads and one.resource in spread.counts for one in present):
            parts = _parts(nodes, topologies[spread.topology]).values()
            inside = [capacity(part, total, keys, topologies) for part in parts]
            total = min(total, _spread_limit(spread, spread.pods, inside))
    return total


def _most(members: Members, lowest: Sequence[int], here: Sequence[int], topologies: Topologies) -> int:
    most = capacity(here, members.count, members.apart, topologies)
    for spread, floor in zip(members.spreads, lowest, strict=True):
        parts = _parts(here, topologies[spread.topology]).values()
        inside = [capacity(part, members.count, members.apart, topologies) for part in parts]
        most = min(most, _spread_limit(spread, floor, inside))
    return most


def _lowest(members: Members, topologies: Topologies) -> list[int]:
    """For each spread constraint, the highest possible minimum over its domains."""
    found: list[int] = []
    for spread in members.spreads:
        if spread.counts == (members.resource,):
            parts = _parts(members.nodes, topologies[spread.topology]).values()
            found.append(min((capacity(part, members.count, members.apart, topologies) for part in parts), default=0))
        else:  # other workloads' pods can fill the domains too
            found.append(spread.pods)
    return found


def _spread_limit(spread: Spread, highest: int, inside: Sequence[int]) -> int:
    """The most pods on nodes that fail together while no domain exceeds the emptiest by more than `skew` pods.

    `inside`: number of pods that fit on these nodes in each domain. `highest`: the highest possible minimum.
    A domain holds at most the minimum plus the skew, and every other domain holds at least the minimum. A higher
    minimum therefore allows more pods per domain, but leaves fewer pods for these nodes.
    """
    best = sum(min(fits, spread.skew) for fits in inside)
    if not spread.rises:
        return best
    for minimum in range(1, min(highest, spread.pods // spread.domains) + 1):
        elsewhere = (spread.domains - len(inside)) * minimum + sum(max(0, minimum - fits) for fits in inside)
        best = max(best, min(sum(min(fits, minimum + spread.skew) for fits in inside), spread.pods - elsewhere))
    return best


def _parts(nodes: Sequence[int], values: Sequence[str]) -> dict[str, list[int]]:
    """Groups nodes by their value of a label."""
    found: dict[str, list[int]] = {}
    for node in nodes:
        found.setdefault(values[node], []).append(node)
    return found
