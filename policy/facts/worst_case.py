"""The most instances that the failure of one physical host, or of one rack, can take.

Computed for the worst placement that the scheduling rules allow, not for the one that the scheduler happens to choose.
The policy rules on failures and the audit's map of losses both use it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from policy.facts.placement_map import Place, Placed


def most_lost(members: Sequence[Placed], here: Collection[int], places: Sequence[Place]) -> int:
    """The most instances of these workloads together that can be on the nodes `here`.

    `members`: one workload, or all workloads of one quorum. `here`: numbers of the nodes that fail together.
    """
    there = [[node for node in placed.nodes if node in here] for placed in members]
    each = [most(placed, nodes, places) for placed, nodes in zip(members, there, strict=True)]
    present = [placed for placed, count in zip(members, each, strict=True) if count]
    total = sum(each)
    if len(present) < 2:
        return total
    nodes = {node for some in there for node in some}
    for topology in members[0].between:
        domains = _domains(topology, nodes, places)
        if domains == 1:
            return max(each)
        if domains and all(placed.count == 1 or topology in placed.apart for placed in present):
            total = min(total, domains)
    return total


def most(placed: Placed, nodes: Collection[int], places: Sequence[Place]) -> int:
    """The most instances of one workload that can be on these of its nodes."""
    if not nodes:
        return 0
    limits = (_domains(topology, nodes, places) for topology in placed.apart)
    return min([placed.count, *(limit for limit in limits if limit)])


def _domains(topology: str, nodes: Collection[int], places: Sequence[Place]) -> int:
    """How many domains these nodes span; 0 if one of them has no label, for then the scheduler sets no limit."""
    if topology == "node":
        return len(nodes)
    values = {places[node].server if topology == "server" else places[node].rack for node in nodes}
    return 0 if "" in values else len(values)
