"""Probes of quorum members, by which kubelet restarts containers and decides whether they are ready."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from policy.facts.cluster_checks import IN_COMMANDS, PATHS_OF_ETCD, ClusterCheck
from policy.facts.kubernetes.configuration import read_by
from policy.facts.pods import Pods, are_members, pods
from policy.facts.product_defaults import PROBE_FAILURES, PROBE_PERIOD
from policy.facts.programs import QuorumKind, kind_of
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Properties
from policy.rule import RuleProblem, RuleSource, rule
from policy.shell.script import Script

LEAST_FAILURES, LEAST_PATIENCE = 3, 15
"""Failed checks, and seconds in all, after which kubelet may restart a member. Kubernetes' default is 3 and 30 s; 15 s
are a project figure: elections of etcd, Galera and RabbitMQ take less with their default timeouts."""
_DATABASES = (QuorumKind.GALERA, QuorumKind.POSTGRES)
_RESTARTING = ("livenessProbe", "startupProbe")
"""Probes whose failure makes kubelet restart the container."""


def _probed(*kinds: str) -> Callable[[Facts, Pods], bool]:
    """Returns a predicate: whether pods are quorum members, and one of their containers has a probe of these kinds."""
    return lambda facts, each: (
        are_members(facts, each)
        and any(container.at(kind).given() for container in each.lasting_containers() for kind in kinds)
    )


@rule(
    id="liveness-asks-the-member",
    title="Liveness and startup probes of quorum members check the member itself",
    severity=Severity.CRITICAL,
    rationale="A member without a majority waits for the others. If its liveness probe checks the cluster, kubelet "
    "restarts every remaining member of a minority again and again, so that none is up when the others return. If "
    "its startup probe checks the cluster, the first members never start after a full stop.",
    sources=(RuleSource("project", "Quorums", 15),),
    remediation="Check the process in these probes (a TCP connection, `rabbitmq-diagnostics ping`, `SELECT 1`, "
    "GET /livez of etcd), and the cluster in the readiness probe.",
    subjects=pods,
    applies=_probed(*_RESTARTING),
    not_applicable_reason="no container of a quorum's member has a liveness or startup probe",
    since="0.4.0",
)
def liveness_asks_the_member(facts: Facts, each: Pods) -> Iterator[RuleProblem]:
    """Looks for checks of the whole cluster in the probes' commands, in scripts from ConfigMaps, and in HTTP paths."""
    is_etcd = kind_of(each.images, several=True, stable=True) is QuorumKind.ETCD
    for container in each.lasting_containers():
        for kind in _RESTARTING:
            probe, title = container.at(kind), f"{kind} of container {container.at('name').text()}"
            for text in _texts(facts, each, probe):
                for check in IN_COMMANDS:
                    yield from _found(title, check, text)
            if is_etcd:
                yield from _found(title, PATHS_OF_ETCD, probe.at("httpGet", "path").text())


def _found(title: str, check: ClusterCheck, text: str) -> Iterator[RuleProblem]:
    if match := check.form.search(text):
        yield RuleProblem(
            f"{title} runs `{match[0].strip()}`: {check.why}",
            "a check of the member itself",
        )


def _texts(facts: Facts, each: Pods, probe: Properties) -> Iterator[str]:
    """Yields a probe's command or path, and the scripts that the command runs."""
    words = probe.at("exec", "command").words()
    command = " ".join(words)
    yield command
    yield probe.at("httpGet", "path").text()
    called = {word.rpartition("/")[2] for word in command.split()}
    for config in read_by(each.workload, facts.config_maps) if each.workload and called else ():
        yield from (config.files[name] for name in config.files if name in called)


@rule(
    id="readiness-can-fail",
    title="Readiness probes of quorum members can fail",
    severity=Severity.HIGH,
    rationale="A rolling update and an eviction wait until the previous member is ready. If the probe always succeeds, "
    "the next member stops before the previous one has joined again. A database accepts connections long before it has "
    "joined the others.",
    sources=(RuleSource("project", "Quorums", 19),),
    remediation="Ask the member whether it serves: wsrep_ready, `rabbitmq-diagnostics check_running`, GET /readyz of "
    "etcd.",
    subjects=pods,
    applies=_probed("readinessProbe"),
    not_applicable_reason="no container of a quorum's member has a readiness probe",
    since="0.4.0",
)
def readiness_can_fail(_facts: Facts, each: Pods) -> Iterator[RuleProblem]:
    """Reports probes whose command cannot fail, such as `true`, `exit 0` or `… || true`. The command is not run."""
    for container in each.lasting_containers():
        probe, title = container.at("readinessProbe"), f"readinessProbe of container {container.at('name').text()}"
        words = probe.at("exec", "command").words()
        if words and Script().run(shlex.join(words)).failed is None:
            yield RuleProblem(f"{title} always succeeds", "a check of the member")
        if any(_CRITICAL in word for word in words):
            yield RuleProblem(
                f"{title} runs {_CRITICAL}: while one member is down, no other is ready", "a check of the member"
            )
        if probe.at("tcpSocket").given() and _is_database(container):
            yield RuleProblem(
                f"{title} only opens a connection, which a database accepts before it has joined the others",
                "a command that asks whether it serves, such as one that reads wsrep_ready",
            )


_CRITICAL = "check_if_node_is_quorum_critical"


def _is_database(container: Properties) -> bool:
    return kind_of([container.at("image").text()], several=True, stable=True) in _DATABASES


def _restarts_soon(container: Properties) -> int | None:
    """Returns after how many seconds of failing checks kubelet restarts the container; None if that is late enough."""
    probe = container.at("livenessProbe")
    failures = probe.at("failureThreshold").number(int(PROBE_FAILURES.value))
    seconds = failures * probe.at("periodSeconds").number(int(PROBE_PERIOD.value))
    return seconds if failures < LEAST_FAILURES or seconds < LEAST_PATIENCE else None


@rule(
    id="liveness-is-patient",
    title="Liveness probes of quorum members do not restart them at the first delay",
    severity=Severity.HIGH,
    rationale="A member that waits for its disk or for an election answers late. If kubelet restarts it after a failed "
    "check or two, a short load stops one member after another, and each restart adds load to the others.",
    sources=(RuleSource("project", "Quorums", 21),),
    remediation="Set failureThreshold to 3 or more, and periodSeconds so that all of them take 15 seconds or longer. "
    "The defaults are 3 failures, 10 seconds apart.",
    subjects=pods,
    applies=_probed("livenessProbe"),
    not_applicable_reason="no container of a quorum's member has a liveness probe",
    parameters={"failures": LEAST_FAILURES, "seconds": LEAST_PATIENCE},
    since="0.7.0",
)
def liveness_is_patient(_facts: Facts, each: Pods) -> Iterator[RuleProblem]:
    """Multiplies period and failures, with Kubernetes' defaults for those that are not set."""
    for container in each.lasting_containers():
        if container.at("livenessProbe").given() and (seconds := _restarts_soon(container)) is not None:
            yield RuleProblem(
                f"livenessProbe of container {container.at('name').text()} restarts it after {seconds} seconds of "
                "failing checks",
                f"at least {LEAST_FAILURES} failures and {LEAST_PATIENCE} seconds",
            )
