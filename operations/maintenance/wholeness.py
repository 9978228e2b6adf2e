"""What of a domain is not whole: its machines, members, pods, agents and OSDs. A pure function of the living state."""

from __future__ import annotations

from collections.abc import Iterator

from cluster import unready
from cluster.objects import at, has_ended, holds, name, text
from operations.living.cloud import LivingCloud, is_ready
from operations.maintenance.failure_domains import MaintenanceDomain


def not_ready(cloud: LivingCloud, domain: MaintenanceDomain) -> list[str]:
    """Returns the nodes of a domain that are not ready, each as text."""
    ready = {name(node) for node in cloud.nodes if holds(node, "Ready")}
    return [f"node {node} is not Ready" for node in domain.nodes if node not in ready]


def lacking(cloud: LivingCloud, domain: MaintenanceDomain) -> list[str]:
    """Returns what of a domain is not whole, each as text; [] if everything is back.

    A member that is lost on a machine elsewhere is not the domain's, and not waited for.
    """
    return [
        *cloud.problems,
        *not_ready(cloud, domain),
        *_closed(cloud, domain),
        *_members(cloud, domain),
        *_pods(cloud, domain),
        *_agents(cloud, domain),
        *_storage(cloud, domain),
    ]


def _closed(cloud: LivingCloud, domain: MaintenanceDomain) -> Iterator[str]:
    """Yields the nodes that are closed although the maintenance has opened those that it had closed."""
    for node in cloud.nodes:
        if name(node) in domain.nodes and at(node, "spec", "unschedulable"):
            yield f"node {name(node)} was cordoned by somebody else: `kubectl uncordon {name(node)}` opens it"


def _members(cloud: LivingCloud, domain: MaintenanceDomain) -> Iterator[str]:
    known = {node.name for node in cloud.plan.machines}
    # A member whose pod has no node yet may be of the domain, unless it may be of another node that is closed.
    others = [node for node in cloud.nodes if name(node) not in domain.nodes and at(node, "spec", "unschedulable")]
    for quorum in cloud.quorums:
        for member in quorum.members:
            place = cloud.places.get((quorum.name, member.name))
            if not member.counts and (place in domain.all or (place not in known and not others)):
                yield f"{member.name} of {quorum.name}: {member.says}"


def _pods(cloud: LivingCloud, domain: MaintenanceDomain) -> Iterator[str]:
    for pod in cloud.pods:
        here = text(pod, "spec", "nodeName") in domain.nodes
        if here and not is_ready(pod) and not has_ended(pod):
            yield f"pod {name(pod)} on {text(pod, 'spec', 'nodeName')} is not ready: {unready.why(pod)}"


def _agents(cloud: LivingCloud, domain: MaintenanceDomain) -> Iterator[str]:
    for agent in cloud.silent_agents:
        if agent.host in domain.nodes:
            yield f"{agent.kind} on {agent.host} has sent no heartbeat for {agent.age} s"


def _storage(cloud: LivingCloud, domain: MaintenanceDomain) -> Iterator[str]:
    if not domain.storage:
        return
    if cloud.storage is None:
        yield "Ceph could not be asked about its OSDs"
        return
    yield from (f"no OSD of {host} is up" for host in domain.storage if not cloud.storage.up.get(host))
    if cloud.storage.unclean:
        yield f"{cloud.storage.unclean} placement groups have not all copies where they belong"
