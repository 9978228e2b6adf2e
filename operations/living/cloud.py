"""The living state of a stack's cloud: its quorums, where their members are, and what else a server carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import contract
from blueprint.plan.layout import ServicePlan
from blueprint.plan.plan import Plan
from cluster.objects import Object, holds, name, text, texts
from doctor.login import write_known_hosts
from openstack.config.wiring import ENVIRONMENT
from operations.live_cluster import LiveCluster
from operations.living import asking, ceph, etcd
from operations.living.answers import Answer
from operations.living.asking import Ask
from operations.living.quorum import LivingQuorum
from operations.living.readers import READERS

ETCD = "etcd"
_PODS = f"/api/v1/namespaces/{ENVIRONMENT}/pods"
_BUDGETS = f"/apis/policy/v1/namespaces/{ENVIRONMENT}/poddisruptionbudgets"
OSD = "ceph-osd"


@dataclass(frozen=True)
class LivingCloud:
    """A cloud as its own programs see it now."""

    plan: Plan
    quorums: tuple[LivingQuorum, ...]
    places: Mapping[tuple[str, str], str]
    """Node of each member, by the names of quorum and member. Without those whose node is not known."""
    storage: ceph.Storage | None = None
    """None if no monitor of Ceph tells it, or the stack has no Ceph."""
    nodes: Sequence[Object] = ()
    pods: Sequence[Object] = ()
    budgets: Sequence[Object] = ()
    problems: tuple[str, ...] = ()
    """What could not be asked beside the quorums' members."""
    instances: Mapping[str, int] | None = field(default=None)
    """Number of instances by compute; None if it is not known."""


def quorums_of(plan: Plan) -> tuple[ServicePlan, ...]:
    """Returns the services of a plan whose instances are a quorum in pods."""
    return tuple(process for process in plan.processes if process.quorum and process.instances)


def members_of(service: ServicePlan) -> tuple[str, ...]:
    """Returns the names of a quorum's members, which are those of its StatefulSet's pods."""
    return tuple(f"{service.name}-{number}" for number in range(service.instances))


def read_cloud(plan: Plan, cluster: LiveCluster | None, problem: str = "") -> LivingCloud:
    """Asks all quorums of a cloud at the same time. Changes nothing.

    `cluster`: None if no API server answers, for the reason `problem`: then only etcd can be asked. Raises ApiError or
    Unreachable if the API server refuses to list pods or budgets, or ends to answer.
    """
    pods = cluster.api.items(_PODS)[0] if cluster else []
    budgets = cluster.api.items(_BUDGETS)[0] if cluster else []
    by_name = {name(pod): pod for pod in pods}
    asks: dict[tuple[str, str], Ask] = {}
    for service in quorums_of(plan):
        reader = READERS[service.process]
        for member in members_of(service):
            asks[service.name, member] = (
                partial(asking.in_pod, cluster.api, by_name.get(member), reader.container, reader.questions)
                if cluster
                else partial(Answer, problem=problem)
            )
    with TemporaryDirectory(prefix="quorate-status-") as directory:
        if plan.settings.cluster is None:
            known_hosts = Path(directory) / "known_hosts"
            write_known_hosts(known_hosts, tuple(node.machine for node in plan.members), plan.settings.ssh)
            asks |= {
                (ETCD, node.name): partial(asking.on_machine, node, plan.settings.ssh, known_hosts)
                for node in plan.members
            }
        answers = asking.ask_all(asks)
    return LivingCloud(
        plan,
        quorums=_read(plan, answers),
        places=places(plan, by_name),
        storage=ceph.storage({member: each for (quorum, member), each in answers.items() if quorum == "ceph-mon"}),
        nodes=cluster.nodes if cluster else (),
        pods=pods,
        budgets=budgets,
        problems=(problem,) if problem else (),
    )


def _read(plan: Plan, answers: Mapping[tuple[str, str], Answer]) -> tuple[LivingQuorum, ...]:
    found: list[LivingQuorum] = []
    if members := {member: answer for (quorum, member), answer in answers.items() if quorum == ETCD}:
        found.append(etcd.read(ETCD, tuple(members), members))
    for service in quorums_of(plan):
        members = {member: answers[service.name, member] for member in members_of(service)}
        found.append(READERS[service.process].read(service.name, tuple(members), members))
    return tuple(found)


def places(plan: Plan, pods: Mapping[str, Object]) -> dict[tuple[str, str], str]:
    """Returns the node of each member, by the names of quorum and member. A pod without a node has none."""
    found = {(ETCD, node.name): node.name for node in plan.members}
    for service in quorums_of(plan):
        for member in members_of(service):
            if node := text(pods.get(member, {}), "spec", "nodeName"):
                found[service.name, member] = node
    return found


def workload_of(pod: Object) -> str:
    """Returns the name of the workload that a pod is of, such as keystone."""
    return texts(pod, "metadata", "labels").get(contract.NAME, "")


def is_ready(pod: Object) -> bool:
    """Whether a pod is Ready and not being deleted."""
    return holds(pod, "Ready") and not text(pod, "metadata", "deletionTimestamp")
