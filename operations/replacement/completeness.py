"""What of a cloud is not complete after a machine was replaced. A pure function of the living state."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from cluster.objects import holds, mapping, name
from operations.living.cloud import LivingCloud
from operations.replacement.dead_machine import COMPUTE, carries


def incomplete(cloud: LivingCloud, place: str, away: Collection[tuple[str, str]] = ()) -> list[str]:
    """Returns what is missing, each as text; [] if nothing is.

    `place`: the machine that came. `away`: quorum and member of those that are not awaited.
    """
    return [*cloud.problems, *_machine(cloud, place), *_members(cloud, away)]


def fenced(cloud: LivingCloud, place: str) -> list[str]:
    """Returns the nodes beside `place` that are cordoned and not Ready: dead machines, as `restore` leaves them.

    Their members come when they are replaced, which another operation in progress would prevent.
    """
    return [
        name(node)
        for node in cloud.nodes
        if name(node) != place and not holds(node, "Ready") and mapping(node, "spec").get("unschedulable") is True
    ]


def _machine(cloud: LivingCloud, place: str) -> Iterator[str]:
    node = next((each for each in cloud.plan.machines if each.name == place), None)
    if node is None:
        yield f"the stack file has no machine {place}"
        return
    if node.is_kubernetes_node and not any(name(each) == place and holds(each, "Ready") for each in cloud.nodes):
        yield f"node {place} is not Ready"
    if carries(cloud.plan, node, COMPUTE) and not any(
        agent.host == place and agent.kind == COMPUTE and not agent.is_silent for agent in cloud.agents.agents
    ):
        yield f"nova-compute on {place} has sent no heartbeat"


def _members(cloud: LivingCloud, away: Collection[tuple[str, str]]) -> Iterator[str]:
    for quorum in cloud.quorums:
        if quorum.serves is None:
            yield f"{quorum.name} could not be asked"
        for each in quorum.members:
            if not each.counts and (quorum.name, each.name) not in away:
                yield f"{each.name} of {quorum.name}: {each.says}"
