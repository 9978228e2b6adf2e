"""Scheduling rules of pods: the plan's pools, anti-affinity and topology spread.

The planner and the policy rules assume these rules. Members of a quorum have required anti-affinity over nodes and over
physical hosts, because a host's failure stops all its virtual machines. Instances of other services never share a node,
but they spread over physical hosts only if possible, so that a small site works.
"""

from __future__ import annotations

from collections.abc import Sequence

from blueprint.plan.layout import ServicePlan
from components.kubernetes_api import core, meta
from contract import CONTROL_PLANE_TAINT, DEDICATED, HOSTNAME, MASTER_POOL, NAME, POOL, SERVER


def affinity(service: ServicePlan) -> core.AffinityArgs:
    """Returns affinity that requires nodes of the service's pools, and anti-affinity between instances of the service.

    The anti-affinity also excludes nodes with services from which the plan keeps this service apart. A DaemonSet needs
    no anti-affinity between its own instances.
    """
    terms: list[core.PodAffinityTermArgs] = []
    own = [] if service.everywhere else [service.name]
    # One anti-affinity term over nodes covers all these services. When a pod is deleted, the scheduler (1.37.2,
    # interpodaffinity) retries a pending pod only if the deleted pod matches all terms of the pending pod. No pod
    # matches the names of two services, so with one term per service, a rollout would wait five minutes.
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
    """Returns affinity that requires nodes of the service's pools, without anti-affinity. For jobs."""
    return core.AffinityArgs(node_affinity=_node_affinity(service))


def tolerations(service: ServicePlan) -> list[core.TolerationArgs]:
    """Returns tolerations for the taints of the service's pools, and for no other taints."""
    return [
        core.TolerationArgs(key=CONTROL_PLANE_TAINT, operator="Exists", effect="NoSchedule")
        if pool == MASTER_POOL
        else core.TolerationArgs(key=DEDICATED, operator="Equal", value=pool, effect="NoSchedule")
        for pool in service.pools
    ]


def spread(service: ServicePlan) -> list[core.TopologySpreadConstraintArgs] | None:
    """Returns a constraint that spreads a service's pods over physical hosts if possible.

    Returns None for quorums, which have required anti-affinity instead, and for DaemonSets.
    """
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
    terms = [core.NodeSelectorRequirementArgs(key=POOL, operator="In", values=list(service.pools))]
    if service.only_nodes is not None:
        # Labels of a node that exists change only by hand, and a list of names with every update.
        names = core.NodeSelectorRequirementArgs(key=HOSTNAME, operator="In", values=list(service.only_nodes))
        terms.append(names)
    return core.NodeAffinityArgs(
        required_during_scheduling_ignored_during_execution=core.NodeSelectorArgs(
            node_selector_terms=[core.NodeSelectorTermArgs(match_expressions=terms)]
        )
    )


def _apart(topology: str, services: Sequence[str]) -> core.PodAffinityTermArgs:
    if len(services) == 1:
        selector = meta.LabelSelectorArgs(match_labels={NAME: services[0]})
    else:
        those = meta.LabelSelectorRequirementArgs(key=NAME, operator="In", values=list(services))
        selector = meta.LabelSelectorArgs(match_expressions=[those])
    return core.PodAffinityTermArgs(topology_key=topology, label_selector=selector)
