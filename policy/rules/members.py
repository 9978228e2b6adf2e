"""What kubelet does to a quorum's members: which pods it evicts first, and which containers it restarts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from policy.facts.cluster_checks import IN_COMMANDS, PATHS_OF_ETCD, ClusterCheck
from policy.facts.kubernetes.configuration import read_by
from policy.facts.kubernetes.workload import container_requests, kubernetes_kind
from policy.facts.pods import Pods, pods
from policy.facts.programs import Quorum, kind_of
from policy.facts.properties import Properties
from policy.facts.quorums import group_of, is_quorum
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule

RESOURCES = ("cpu", "memory")


def _of_quorum(facts: Facts, each: Pods) -> bool:
    """Members of a quorum of several; of static pods those that are known to vote."""
    if each.workload is None:
        return kind_of(each.images, several=True, stable=True) is not None
    return each.workload.is_long_running and is_quorum(facts, group_of(facts, each.workload))


@lru_cache(maxsize=2)
def _limit_ranges(facts: Facts) -> Mapping[str, frozenset[str]]:
    """What LimitRanges of the stack set for containers without requests, by namespace."""
    found: dict[str, frozenset[str]] = {}
    for resource in facts.resources:
        if kubernetes_kind(resource) != "LimitRange":
            continue
        namespace = resource.props.at("metadata", "namespace").text("default")
        for limit in resource.props.at("spec", "limits").items():
            if limit.at("type").text() == "Container":
                names = {*limit.at("defaultRequest").keys(), *limit.at("default").keys()}
                found[namespace] = found.get(namespace, frozenset()) | names
    return found


@rule(
    id="members-request-resources",
    title="Every container of a quorum member requests CPU and memory",
    severity=Severity.HIGH,
    rationale="Without requests, kubelet evicts the pod first when memory is short, and the container gets the least "
    "CPU when the node is busy: it answers too late, and the other members elect without it.",
    sources=(Source("project", "Quorums", 14),),
    remediation="Set resources.requests of cpu and memory for each container of the pod.",
    subjects=pods,
    applies=_of_quorum,
    not_applicable_reason="the stack makes no pod that is a member of a quorum",
    parameters={"requests": ", ".join(RESOURCES)},
    since="0.4.0",
)
def members_request_resources(facts: Facts, each: Pods) -> Iterator[Problem]:
    """A limit, a LimitRange of the stack, or requests of the whole pod count as requests."""
    given = _limit_ranges(facts).get(each.namespace, frozenset())
    whole = container_requests(each.spec)
    for container in each.lasting_containers():
        own = container_requests(container)
        values = {"cpu": own.cpu or whole.cpu, "memory": own.memory or whole.memory}
        missing = [name for name in RESOURCES if not values[name] and name not in given]
        if missing:
            yield Problem(
                f"container {container.at('name').text()} requests no {' and no '.join(missing)}",
                "resources.requests of cpu and memory",
            )


def _is_alive_checked(facts: Facts, each: Pods) -> bool:
    return _of_quorum(facts, each) and any(one.at("livenessProbe").given() for one in each.lasting_containers())


@rule(
    id="liveness-asks-the-member",
    title="Liveness probes of quorum members check the member itself",
    severity=Severity.CRITICAL,
    rationale="A member without a majority waits for the others. If its liveness probe asks the cluster, kubelet "
    "restarts every member that is left of a minority, again and again, and none of them is there when the others "
    "return.",
    sources=(Source("project", "Quorums", 15),),
    remediation="Check the process in the liveness probe (a TCP connection, `rabbitmq-diagnostics ping`, `SELECT 1`, "
    "GET /livez of etcd), and the cluster in the readiness probe.",
    subjects=pods,
    applies=_is_alive_checked,
    not_applicable_reason="no container of a quorum's member has a liveness probe",
    since="0.4.0",
)
def liveness_asks_the_member(facts: Facts, each: Pods) -> Iterator[Problem]:
    """Reads commands, scripts that ConfigMaps of the stack contain, and paths of GET requests."""
    is_etcd = kind_of(each.images, several=True, stable=True) is Quorum.ETCD
    for container in each.lasting_containers():
        probe = container.at("livenessProbe")
        for text in _texts(facts, each, probe):
            for check in IN_COMMANDS:
                yield from _found(container, check, text)
        if is_etcd:
            yield from _found(container, PATHS_OF_ETCD, probe.at("httpGet", "path").text())


def _found(container: Properties, check: ClusterCheck, text: str) -> Iterator[Problem]:
    if match := check.form.search(text):
        yield Problem(
            f"liveness probe of container {container.at('name').text()} runs `{match[0].strip()}`: {check.why}",
            "a check of the member itself",
        )


def _texts(facts: Facts, each: Pods, probe: Properties) -> Iterator[str]:
    """The command or the path that a probe asks for, and the scripts that it runs."""
    words = probe.at("exec", "command").words()
    command = " ".join(words)
    yield command
    yield probe.at("httpGet", "path").text()
    called = {word.rpartition("/")[2] for word in command.split()}
    for config in read_by(each.workload, facts.config_maps) if each.workload and called else ():
        yield from (config.files[name] for name in config.files if name in called)
