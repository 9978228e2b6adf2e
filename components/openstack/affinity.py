"""Where pods may stand: the plan's pools, and who must be apart from whom.

The rules are the contract between planner, components and policy. Hard for members of a quorum, over nodes and over
physical hosts: two virtual machines of one host are one failure domain. Others never share a node with their like,
and spread over physical hosts as far as these allow, so that a small site still runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from blueprint.plan.planner import ServicePlan
from components.kubernetes_api import core, meta
from contract import DEDICATED, HOSTNAME, NAME, POOL, SERVER


def affinity(service: ServicePlan) -> core.AffinityArgs:
    """Onto the service's pools, apart from its like and from those that the architecture keeps off its nodes."""
    terms: list[core.PodAffinityTermArgs] = []
    own = [] if service.everywhere else [service.name]
    # One term over nodes, not one for each rival: the scheduler (1.36.3, interpodaffinity) tries a waiting pod again
    # when a pod goes that matches all its terms, and no pod has two names. A rollout would wait five minutes for it.
    if on_node := [*own, *service.apart_from]:
        terms.append(_apart(HOSTNAME, on_node))
    if own and service.quorum:
        terms.append(_apart(SERVER, own))
    return core.AffinityArgs(
        node_affinity=_node_affinity(service),
        pod_anti_affinity=core.PodAntiAffinityArgs(required_during_scheduling_ignored_during_execution=terms)
        if terms
        else None,
    )


def on_pools(service: ServicePlan) -> core.AffinityArgs:
    """Onto the service's pools, beside anything."""
    return core.AffinityArgs(node_affinity=_node_affinity(service))


def tolerations(service: ServicePlan) -> list[core.TolerationArgs]:
    """Of the taints of the service's own pools, and of no other."""
    return [
        core.TolerationArgs(key=DEDICATED, operator="Equal", value=pool, effect="NoSchedule") for pool in service.pools
    ]


def spread(service: ServicePlan) -> list[core.TopologySpreadConstraintArgs] | None:
    """Over physical hosts, where no hard rule says so already."""
    if service.everywhere or service.quorum:
        return None
    return [
        core.TopologySpreadConstraintArgs(
            topology_key=SERVER,
            max_skew=1,
            when_unsatisfiable="ScheduleAnyway",
            label_selector=meta.LabelSelectorArgs(match_labels={NAME: service.name}),
        )
    ]


def _node_affinity(service: ServicePlan) -> core.NodeAffinityArgs:
    pools = core.NodeSelectorRequirementArgs(key=POOL, operator="In", values=list(service.pools))
    return core.NodeAffinityArgs(
        required_during_scheduling_ignored_during_execution=core.NodeSelectorArgs(
            node_selector_terms=[core.NodeSelectorTermArgs(match_expressions=[pools])]
        )
    )


def _apart(topology: str, services: Sequence[str]) -> core.PodAffinityTermArgs:
    if len(services) == 1:
        selector = meta.LabelSelectorArgs(match_labels={NAME: services[0]})
    else:
        those = meta.LabelSelectorRequirementArgs(key=NAME, operator="In", values=list(services))
        selector = meta.LabelSelectorArgs(match_expressions=[those])
    return core.PodAffinityTermArgs(topology_key=topology, label_selector=selector)
