"""Counts how many pods of a workload, or members of a quorum, can run on one physical host or in one rack, at most.

The policy rules on placement use these counts. Each count is computed once per evaluation of a stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from contract import HOSTNAME
from policy.facts.kubernetes.scheduling import share_host_port
from policy.facts.kubernetes.workload import Workload
from policy.facts.placement.placement_map import Numbering, Placed, apart_keys, instances
from policy.facts.placement.worst_case import capacity, losses
from policy.facts.stack import Facts, NoNodes


class PlacementCounts:
    """Counts of pods for the worst placement that the scheduling rules of a stack allow."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._numbering = Numbering(facts.nodes)
        self._placed: dict[Workload, Placed] = {}
        self._worst: dict[tuple[tuple[Workload, ...], str], Mapping[str, int]] = {}

    def worst(self, workloads: Sequence[Workload], key: str) -> Mapping[str, int]:
        """Returns the maximum number of pods of all `workloads` together on the nodes with each value of label `key`.

        `workloads`: one workload, or all workloads of one quorum. Nodes without the label count together, under "",
        since they may all be in one place. Raises NoNodes if the stack describes no node.
        """
        asked = (tuple(workloads), key)
        if asked not in self._worst:
            members = [self._of(each) for each in workloads]
            self._worst[asked] = losses(members, key, self._numbering.topologies)
        return self._worst[asked]

    def one_each(self, workload: Workload) -> bool:
        """Whether no node can run two pods of the workload."""
        if workload.replicas is None or HOSTNAME in apart_keys(self._facts, workload):
            return True
        if not apart_keys(self._facts, workload) and not workload.spreads:
            return False
        return max(self.worst([workload], HOSTNAME).values(), default=0) <= 1

    def room(self, workload: Workload, pods: int) -> int:
        """Returns how many of `pods` pods of the workload its anti-affinity and host ports allow to run at once."""
        placed = self._of(workload)
        return capacity(placed.nodes, pods, placed.apart, self._numbering.topologies)

    def never_meet(self, one: Workload, other: Workload, key: str) -> bool:
        """Whether no two nodes with the same value of label `key` can run pods of both workloads.

        An anti-affinity over another label suffices if nodes with the same value of `key` also have the same value of
        that label: pods in distinct racks are also on distinct hosts.
        """
        keys = set(self._facts.anti_affine_keys(one, other))
        if share_host_port(one, other):
            keys.add(HOSTNAME)
        if not keys or key in keys:
            return key in keys
        if not self._facts.nodes:
            raise NoNodes
        mine, others = set(self._of(one).nodes), set(self._of(other).nodes)
        return any(self._within(sorted(mine | others), key, coarser) for coarser in keys)

    def _within(self, nodes: Sequence[int], fine: str, coarse: str) -> bool:
        """Whether nodes with the same value of label `fine` also have the same value of label `coarse`, not ""."""
        found: dict[str, str] = {}
        fine_values, coarse_values = self._numbering.topologies[fine], self._numbering.topologies[coarse]
        return all(
            coarse_values[node] and found.setdefault(fine_values[node], coarse_values[node]) == coarse_values[node]
            for node in nodes
        )

    def _of(self, workload: Workload) -> Placed:
        if workload not in self._placed:
            self._placed[workload] = instances(self._facts, workload, self._numbering)
        return self._placed[workload]


@lru_cache(maxsize=2)  # a comparison of two stacks needs both
def counts(facts: Facts) -> PlacementCounts:
    """Returns the placement counts of a stack; a second call with the same facts returns the same object."""
    return PlacementCounts(facts)
