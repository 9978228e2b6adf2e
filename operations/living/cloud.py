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
from cluster.api import ApiError, Unreachable
from cluster.objects import Object, holds, name, text, texts
from doctor.login import write_known_hosts
from openstack import ovn_clients
from openstack.config.wiring import ENVIRONMENT, wiring
from operations.live_cluster import LiveCluster
from operations.living import agents, asking, backups, ceph, certificates, copy_tests, etcd, ovn_agents
from operations.living.agents import LivingAgent, LivingAgents
from operations.living.answers import Answer
from operations.living.asking import Ask
from operations.living.backups import CopyTest, LivingBackups
from operations.living.certificates import Certificate
from operations.living.firing import LivingAlerts
from operations.living.node_stats import LivingNodes
from operations.living.quorum import LivingQuorum
from operations.living.readers import READERS

ETCD = "etcd"
_AGENTS_OF = {"nova": "nova-api", "neutron": "neutron-server", "cinder": "cinder-api"}
"""A process of each project with agents, which a stack runs if it has the project."""
_PODS = f"/api/v1/namespaces/{ENVIRONMENT}/pods?resourceVersion=0"
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
    agents: LivingAgents = field(default_factory=LivingAgents)
    certificates: tuple[Certificate, ...] = ()
    """Those of machines with a member of etcd that are asked over SSH."""
    backups: LivingBackups = field(default_factory=LivingBackups)
    stats: LivingNodes = field(default_factory=LivingNodes)
    """Disks and clocks of the nodes, which only `status` asks."""
    alerts: LivingAlerts = field(default_factory=LivingAlerts)
    """The alerts that fire, for which only `status` asks."""

    @property
    def silent_agents(self) -> tuple[LivingAgent, ...]:
        """The agents that their project calls down, the longest silent first; without records of former pods."""
        processes = self.plan.processes
        moving: dict[str, list[str]] = {each.name: [] for each in processes if not (each.everywhere or each.every_node)}
        for pod in self.pods:
            if (workload := workload_of(pod)) in moving:
                moving[workload].append(text(pod, "spec", "nodeName"))
        return self.agents.silent([node.name for node in self.plan.nodes], moving)


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
        for member in members_of(service):
            asks[service.name, member] = (
                _in_pod(cluster, service, by_name.get(member))
                if cluster
                else partial(Answer, problem="its pod was not asked")
            )
    with TemporaryDirectory(prefix="quorate-status-") as directory:
        if plan.settings.cluster is None:
            known_hosts = Path(directory) / "known_hosts"
            write_known_hosts(known_hosts, tuple(node.machine for node in plan.members), plan.settings.ssh)
            for node in plan.members:
                # Nobody but `up` knows the host keys of machines that it makes.
                asks[ETCD, node.name] = (
                    partial(asking.by_metrics, cluster.api, node.name)
                    if cluster and node.machine.host_key is None and node.is_kubernetes_node
                    else partial(asking.on_machine, node, plan.settings.ssh, known_hosts)
                )
        answers = asking.ask_all(asks)
    quorums = _read(plan, answers)
    of_etcd = {member: each for (quorum, member), each in answers.items() if quorum == ETCD}
    return LivingCloud(
        plan,
        quorums=quorums,
        places=places(plan, by_name),
        storage=ceph.storage({member: each for (quorum, member), each in answers.items() if quorum == "ceph-mon"}),
        nodes=cluster.nodes if cluster else (),
        pods=pods,
        budgets=budgets,
        problems=(problem,) if problem else (),
        certificates=certificates.read(of_etcd),
        backups=_backups(cluster, plan, of_etcd),
        agents=_agents(cluster, quorums, by_name) if cluster else LivingAgents(),
    )


def _backups(cluster: LiveCluster | None, plan: Plan, of_etcd: Mapping[str, Answer]) -> LivingBackups:
    copied = wiring(plan, ENVIRONMENT).copied
    copies = backups.of_etcd(of_etcd, has_copies=bool(copied))
    databases = (
        backups.of_galera(cluster.api, wiring(plan, ENVIRONMENT))
        if cluster
        else LivingBackups(unasked=("the backups of Galera were not read: no API server answers",))
    )
    unasked = [*databases.unasked, *copies.unasked]
    tests: tuple[CopyTest, ...] = ()
    if cluster and copied:
        try:
            tests = copy_tests.read(cluster.api, copied)
        except (ApiError, Unreachable) as error:
            unasked.append(f"when copies were restored was not read: {error}")
    return LivingBackups((*databases.found, *copies.found), tuple(unasked), tests)


def read_quorum(cluster: LiveCluster, name_: str, pods: Sequence[Object]) -> LivingQuorum:
    """Asks one quorum in its members' pods, `pods`. Raises KeyError if the plan has no quorum of the name."""
    service = {each.name: each for each in quorums_of(cluster.plan)}[name_]
    by_name = {name(pod): pod for pod in pods}
    asks = {(name_, member): _in_pod(cluster, service, by_name.get(member)) for member in members_of(service)}
    answers = {member: answer for (_, member), answer in asking.ask_all(asks).items()}
    return READERS[service.process].read(name_, tuple(answers), answers)


def _in_pod(cluster: LiveCluster, service: ServicePlan, pod: Object | None) -> Ask:
    reader = READERS[service.process]
    return partial(asking.in_pod, cluster.api, pod, reader.container, reader.questions)


def _agents(cluster: LiveCluster, quorums: Sequence[LivingQuorum], pods: Mapping[str, Object]) -> LivingAgents:
    """Asks for the agents of each project in a member that counts of the Galera that has the project's databases.

    Those of OVN are asked in a member of its southbound database.
    """
    around = wiring(cluster.plan, ENVIRONMENT)
    projects = [each for each, process in _AGENTS_OF.items() if around.has(process)]

    def ask(quorum: str, process: str, questions: Mapping[str, str]) -> Answer:
        members = next(each for each in quorums if each.name == quorum).members
        member = next((each.name for each in members if each.counts), "")
        if not member:
            return Answer(problem=f"no member of {quorum} takes part")
        return asking.in_pod(cluster.api, pods.get(member), READERS[process].container, questions)

    answers: dict[str, Answer] = {}
    for galera in dict.fromkeys(map(around.galera, projects)):
        here = [project for project in projects if around.galera(project) == galera]
        answers |= dict.fromkeys(here, ask(galera, "mysqld", agents.questions(here)))
    found = agents.read(answers)
    if around.backend != ovn_clients.BACKEND:
        return found
    return ovn_agents.read(ask(ovn_clients.SB, ovn_clients.SB, ovn_agents.questions()), found)


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
