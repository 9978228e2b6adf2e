"""Computes how many pods of a workload one host or rack can run, for the worst placement that scheduling rules allow.

The policy pack calls these functions for a stack's resources, and the audit report for the pack's record of them. The
results are upper bounds. For one workload they are exact if domains are nested (nodes in hosts in racks) and at most
one spread constraint applies. A domain is the set of nodes with the same value of a label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

Topologies = Mapping[str, Sequence[str]]
"""Label values by the label's key, then by the node's number; "" for a node without the label."""


@dataclass(frozen=True)
class Spread:
    """A required topology spread constraint (DoNotSchedule) of a workload that counts the workload's own pods."""

    topology: str
    skew: int
    domains: int
    """Number of values of the topology label over which the scheduler computes the global minimum of pods."""
    rises: bool
    """Whether the global minimum can exceed zero: at least minDomains domains, each of which can run counted pods."""
    counts: tuple[str, ...]
    """URNs of the workloads whose pods the constraint counts."""
    pods: int
    """Number of the pods that the constraint counts."""


class PlacedPods(Protocol):
    """Pods of one workload, with the limits on their placement."""

    @property
    def resource(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def nodes(self) -> tuple[int, ...]:
        """Numbers of the workload's eligible nodes."""
        ...

    @property
    def apart(self) -> tuple[str, ...]:
        """Label keys of which no two of the pods share a value, the key with the fewest values first."""
        ...

    @property
    def between(self) -> tuple[str, ...]:
        """Label keys of which no two members in different workloads of the quorum share a value."""
        ...

    @property
    def spreads(self) -> tuple[Spread, ...]: ...


def losses(members: Sequence[PlacedPods], failing: str, topologies: Topologies) -> dict[str, int]:
    """Returns the maximum number of pods of all these workloads together on nodes with each value of label `failing`.

    `members`: one workload, or all workloads of one quorum. Nodes without the label are counted together, under "".
    """
    parts = [_parts(each.nodes, topologies[failing]) for each in members]
    lowest = [_lowest(each, topologies) for each in members]
    domains = dict.fromkeys(name for part in parts for name in part)
    return {
        name: _most_together(members, lowest, [part.get(name, []) for part in parts], topologies) for name in domains
    }


def capacity(nodes: Sequence[int], count: int, apart: Sequence[str], topologies: Topologies) -> int:
    """Returns how many of `count` pods fit on these nodes if no two pods share a value of a label in `apart`.

    On a node without the label, the scheduler applies no anti-affinity over it.
    """
    if not nodes:
        return 0
    orders = ((first, *(key for key in apart if key != first)) for first in apart)
    return min([count, *(_cover(nodes, count, order, topologies) for order in orders)])


def room(members: PlacedPods, nodes: Sequence[int], topologies: Topologies) -> int:
    """Returns how many pods of a workload can run on `nodes` while its other eligible nodes are down."""
    most = capacity(nodes, members.count, members.apart, topologies)
    for spread in members.spreads:
        domains = len(_parts(nodes, topologies[spread.topology]))
        if domains < spread.domains or not spread.rises:
            most = min(most, domains * spread.skew)  # a domain whose nodes are down counts with zero pods
    return most


def _cover(nodes: Sequence[int], count: int, keys: Sequence[str], topologies: Topologies) -> int:
    """Returns an upper limit of the pods on `nodes` if no two share a value of a label in `keys`, at most `count`.

    Counts one pod per value of the first key, then per value of each next key on the nodes without the earlier labels.
    """
    taken, left = 0, nodes
    for key in keys:
        values = topologies[key]
        taken += len({values[node] for node in left} - {""})
        left = [node for node in left if not values[node]]
        if not left:
            return taken
    return count


def _most_together(
    members: Sequence[PlacedPods], lowest: Sequence[Sequence[int]], here: Sequence[list[int]], topologies: Topologies
) -> int:
    """Returns the maximum number of pods of all these workloads on nodes that fail together, such as one host's.

    `here`: for each workload, those of the nodes that are eligible. `lowest`: see `_lowest`, for each workload.
    """
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


def _most(members: PlacedPods, lowest: Sequence[int], here: Sequence[int], topologies: Topologies) -> int:
    most = capacity(here, members.count, members.apart, topologies)
    for spread, floor in zip(members.spreads, lowest, strict=True):
        parts = _parts(here, topologies[spread.topology]).values()
        inside = [capacity(part, members.count, members.apart, topologies) for part in parts]
        most = min(most, _spread_limit(spread, floor, inside))
    return most


def _lowest(members: PlacedPods, topologies: Topologies) -> list[int]:
    """Returns for each spread constraint of a workload the most pods that its emptiest domain can have.

    Kubernetes compares the other domains with the emptiest one.
    """
    found: list[int] = []
    for spread in members.spreads:
        if spread.counts == (members.resource,):
            parts = _parts(members.nodes, topologies[spread.topology]).values()
            found.append(min((capacity(part, members.count, members.apart, topologies) for part in parts), default=0))
        else:  # the constraint also counts pods of other workloads, which may be in any domain
            found.append(spread.pods)
    return found


def _spread_limit(spread: Spread, highest: int, inside: Sequence[int]) -> int:
    """Returns how many pods a spread constraint allows on nodes that fail together.

    The constraint: no domain has more than `skew` pods more than the emptiest domain (the minimum). `inside`: how many
    pods fit on the failing nodes in each domain. `highest`: the highest possible minimum.
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
    """Groups node numbers by the nodes' values of a label. `values`: the label's value by node number."""
    found: dict[str, list[int]] = {}
    for node in nodes:
        found.setdefault(values[node], []).append(node)
    return found
