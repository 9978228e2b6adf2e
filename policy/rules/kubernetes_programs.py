"""Settings of Kubernetes' own programs: schedulers, controller managers, API servers, DNS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from formats.image_reference import parse
from policy.facts.kubernetes.configuration import command_line
from policy.facts.machines.machine import MachineFacts
from policy.facts.pods import POD_TYPES, Pods, pods
from policy.facts.product_defaults import DEPLOYMENT_REPLICAS, DNS_REPLICAS, LEADER_ELECT
from policy.facts.programs import QuorumKind
from policy.facts.quorums.quorums import MemberGroup, groups
from policy.facts.stack import Facts
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Severity
from policy.resource import Resource
from policy.rule import RuleProblem, RuleSource, rule
from policy.rules.api import LARGE, arguments, configured, large
from text.plural import pluralize

LEAST_DNS, LEAST_DNS_OF_LARGE = 2, 6
_ELECT = frozenset({"kube-scheduler", "kube-controller-manager"})
_SERVERS = "--etcd-servers="
_OWN_NODE = ("127.0.0.1", "localhost", "::1")


def _electing(facts: Facts) -> Iterator[MachineFacts | Pods]:
    """Yields the masters with a kubeadm ClusterConfiguration, and the pods of schedulers and controller managers."""
    yield from configured(facts)
    yield from (each for each in pods(facts) if each.names & _ELECT)


@rule(
    id="leader-election",
    title="Schedulers and controller managers use leader election",
    severity=Severity.CRITICAL,
    rationale="Three replicas run and one is active. Without leader election all three act on the same pods at the "
    "same time.",
    sources=(
        RuleSource("004", "5.5.4", 16),
        RuleSource("004", "5.5.4", 25),
    ),
    remediation="Set extraArgs leader-elect to true for scheduler and controllerManager in kubeadm's "
    "ClusterConfiguration, or --leader-elect=true in their pods.",
    subjects=_electing,
    not_applicable_reason="no master has a ClusterConfiguration, and no pod runs a scheduler or controller manager",
    reads_machine_files=True,
    since="0.2.0",
    single=POD_TYPES,
)
def leader_election(_facts: Facts, subject: MachineFacts | Pods) -> Iterator[RuleProblem]:
    """Reports leader-elect settings other than true. A missing setting passes, because the default is true."""
    if isinstance(subject, Pods):
        for container in subject.lasting_containers():
            for word in command_line(container):
                if word.startswith("--leader-elect=") and word != "--leader-elect=true":
                    yield RuleProblem(f"container {container.at('name').text()} has {word}", "true")
        return
    for configuration in subject.of_kind("ClusterConfiguration"):
        for component in ("scheduler", "controllerManager"):
            said = arguments(configuration, component).get(LEADER_ELECT.setting, LEADER_ELECT.value)
            if said != "true":
                yield RuleProblem(f"{component} has {LEADER_ELECT.setting}={said}", "true")


@dataclass(frozen=True)
class Dns:
    """The cluster's DNS: a Deployment of the stack, or CoreDNS as kubeadm installs it on a master."""

    resource: Resource
    title: str
    replicas: int


def _dns(facts: Facts) -> Iterator[Dns]:
    """Yields the DNS Deployments of the stack. If there are none, yields the CoreDNS that kubeadm installs.

    Its replicas are those in a master's file, or else kubeadm's default of two. One file suffices, whichever master
    applies it: all masters belong to one cluster.
    """
    found = False
    for workload in facts.workloads:
        if workload.kind == "Deployment" and any(_is_dns(image) for image in workload.images):
            found = True
            yield Dns(workload.resource, workload.title, workload.replicas or 0)
    if not found:
        yield from _of_kubeadm(list(configured(facts)))


def _of_kubeadm(masters: Sequence[MachineFacts]) -> Iterator[Dns]:
    files = [
        (machine, document)
        for machine in masters
        for document in machine.of_kind("Deployment")
        if document["metadata"]["name"] == "coredns"
    ]
    for machine, document in files:
        replicas = document.get("spec", {}).get("replicas", DEPLOYMENT_REPLICAS.value)
        yield Dns(machine.resource, f"CoreDNS of {machine.title}", int(replicas))
    if masters and not files:
        first = min(masters, key=lambda machine: machine.resource.urn)
        yield Dns(first.resource, f"CoreDNS of {first.title}", int(DNS_REPLICAS.value))


def _is_dns(image: str) -> bool:
    return parse(image).name in ("coredns", "kube-dns", "k8s-dns-kube-dns")


@rule(
    id="dns-scale",
    title="DNS runs at least 2 replicas, and 6 in clusters of 1000 nodes or more",
    severity=Severity.MEDIUM,
    rationale="Every pod of every node resolves names through DNS, and members of quorums find each other by name. "
    "kubeadm's two replicas are for a small cluster.",
    sources=(
        RuleSource("004", "5.5.8", 30),
        RuleSource("project", "Networks", 2),
    ),
    remediation="Give CoreDNS 2 replicas, or 6 from 1000 nodes (file dns/coredns.yaml of the first master, "
    "applied over kubeadm's own).",
    subjects=_dns,
    applies=lambda facts, _dns: facts.profile == PRODUCTION or large(facts),
    not_applicable_reason="the stack is a small lab, or does not contain its DNS",
    parameters={"least": LEAST_DNS, f"from {LARGE} nodes": LEAST_DNS_OF_LARGE},
    since="0.2.0",
)
def dns_scale(facts: Facts, dns: Dns) -> Iterator[RuleProblem]:
    """Compares the replicas of DNS with the minimum for the size of the cluster. Small labs are not evaluated."""
    least = LEAST_DNS_OF_LARGE if large(facts) else LEAST_DNS
    if dns.replicas < least:
        yield RuleProblem(pluralize(dns.replicas, "replica"), f"at least {least}")


def _servers(each: Pods) -> list[str]:
    """Returns the distinct etcd URLs in --etcd-servers of an API server's pods."""
    words = [word for container in each.lasting_containers() for word in command_line(container)]
    urls = (url for word in words if word.startswith(_SERVERS) for url in word.removeprefix(_SERVERS).split(","))
    return list(dict.fromkeys(filter(None, urls)))


def _etcds(facts: Facts) -> list[MemberGroup]:
    return [each for each in groups(facts) if each.kind is QuorumKind.ETCD and each.size(facts) > 1]


@rule(
    id="api-server-lists-etcd",
    title="API servers connect to every etcd member, to the member on their node, or to a Service for all members",
    severity=Severity.HIGH,
    rationale="If all API servers use the same single member, its failure ends the Kubernetes API while etcd still "
    "has its quorum.",
    sources=(RuleSource("project", "Quorums", 20),),
    remediation="List the client URL of every member in --etcd-servers.",
    subjects=lambda facts: [each for each in pods(facts) if "kube-apiserver" in each.names],
    applies=lambda facts, each: bool(_servers(each)) and bool(_etcds(facts)),
    not_applicable_reason="no pod of the stack is an API server with --etcd-servers, or the stack has no etcd",
    since="0.4.0",
)
def api_server_lists_etcd(facts: Facts, each: Pods) -> Iterator[RuleProblem]:
    """Reports API servers that list a single etcd URL, unless it is local or that of a Service for all members.

    A URL with a variable counts as local, because the variable contains the node's own address.
    """
    urls = _servers(each)
    host = urlsplit(urls[0]).hostname or ""
    balanced = any(
        service.name == host.partition(".")[0] and all(map(service.selects, group.workloads))
        for group in _etcds(facts)
        for service in facts.services
        if group.workloads
    )
    if len(urls) == 1 and host not in _OWN_NODE and "$" not in urls[0] and not balanced:
        sizes = " or ".join(str(group.size(facts)) for group in _etcds(facts))
        yield RuleProblem(f"etcd-servers lists {urls[0]} only", f"all {sizes} members of etcd")
