"""RabbitMQ's own part in keeping a quorum: its configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from policy.facts.kubernetes.configuration import ConfigMap, flat, read_by, sections
from policy.facts.kubernetes.workload import Workload
from policy.facts.quorums import Quorum, quorum_of
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule

MAIN, ADVANCED = "rabbitmq.conf", "advanced.config"
MODE = "pause_minority"
_IN_ERLANG = re.compile(r"\{\s*cluster_partition_handling\s*,\s*(\w+)")
_MIRRORED = re.compile(r"\bha[-_]mode\b")
_CLIENT = "oslo_messaging_rabbit"


def _files(facts: Facts, workload: Workload) -> Mapping[str, str]:
    """RabbitMQ's own files among those that its pods mount."""
    return {
        name: config.files[name]
        for config in read_by(workload, facts.config_maps)
        for name in config.files
        if name.endswith((".conf", ".config"))
    }


def _configured(facts: Facts, workload: Workload) -> bool:
    if quorum_of(workload) is not Quorum.RABBITMQ or workload.replicas == 1:
        return False
    return bool(read_by(workload, facts.config_maps))


@rule(
    id="rabbitmq-pauses-minority",
    title="RabbitMQ pauses the minority of a partition",
    severity=Severity.CRITICAL,
    rationale="By its own default RabbitMQ ignores partitions: both sides go on, and what they took apart is lost when "
    "they meet again. With pause_minority the side without the majority stops.",
    sources=(
        Source("004", "5.3.12", "proposed solution is using pause_minority partition mode"),
        Source("004", "5.4.12", "proposed solution is using pause_minority partition mode"),
    ),
    remediation="Write cluster_partition_handling = pause_minority into rabbitmq.conf "
    "(quorate:services.rabbitmq.config).",
    subjects=lambda facts: facts.workloads,
    applies=_configured,
    not_applicable_reason="no RabbitMQ of several members reads a ConfigMap of the stack",
    parameters={"cluster_partition_handling": MODE},
    since="0.2.0",
)
def rabbitmq_pauses_minority(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """Of the files that its pods mount; what an image brings along is not seen."""
    said: set[str] = set()
    for text in _files(facts, workload).values():
        said |= {mode for mode in (flat(text).get("cluster_partition_handling"),) if mode}
        said |= set(_IN_ERLANG.findall(text))
    if not said:
        yield Problem("nothing that it reads sets cluster_partition_handling, which is then ignore", MODE)
    elif said != {MODE}:
        yield Problem(f"cluster_partition_handling is {', '.join(sorted(said))}", MODE)


def _of_rabbitmq(facts: Facts, config: ConfigMap) -> bool:
    return any(quorum_of(each) is Quorum.RABBITMQ for each in facts.workloads if config.is_read_by(each))


def _speaks_of_queues(facts: Facts, config: ConfigMap) -> bool:
    files = config.files
    return any(f"[{_CLIENT}]" in files[name] for name in files) or _of_rabbitmq(facts, config)


@rule(
    id="rabbitmq-quorum-queues",
    title="Queues are quorum queues",
    severity=Severity.HIGH,
    rationale="A classic queue lives on one member and is gone with it. Mirrored ones cost half of the throughput, "
    "broke the cluster under load, and are no more since RabbitMQ 4. Quorum queues survive with the majority.",
    sources=(
        Source("004", "5.3.12", "using mirroring actually reduces the availability of queues"),
        Source("project", "Messaging", "all queues are quorum queues"),
    ),
    remediation="Write default_queue_type = quorum into rabbitmq.conf, rabbit_quorum_queue = true into section "
    "[oslo_messaging_rabbit] of every service, and no policy with ha-mode.",
    subjects=lambda facts: facts.config_maps,
    applies=_speaks_of_queues,
    not_applicable_reason="no ConfigMap of the stack configures RabbitMQ or its clients",
    parameters={"default_queue_type": "quorum", "rabbit_quorum_queue": True},
    since="0.2.0",
)
def rabbitmq_quorum_queues(facts: Facts, config: ConfigMap) -> Iterator[Problem]:
    """The server's own default, its policies, and what clients ask for when they declare a queue."""
    files = config.files
    if _of_rabbitmq(facts, config):
        kind = flat(files[MAIN]).get("default_queue_type") if MAIN in files else None
        if kind != "quorum":
            yield Problem(f"{MAIN} has default_queue_type {kind or 'classic, as nothing sets it'}", "quorum")
    for name in files:
        if _MIRRORED.search(files[name]):
            yield Problem(f"{name} mirrors queues (ha-mode)", "no mirrored queues")
        if f"[{_CLIENT}]" in files[name]:
            client = sections(files[name])
            if client.get(_CLIENT, "rabbit_quorum_queue", fallback="false").strip().lower() not in ("true", "1", "yes"):
                yield Problem(f"{name} has no rabbit_quorum_queue = true", "quorum queues for every client")
