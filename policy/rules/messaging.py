"""RabbitMQ's configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from policy.facts.kubernetes.configuration import ConfigMap, flat, read_by, sections
from policy.facts.kubernetes.workload import Workload
from policy.facts.programs import Quorum
from policy.facts.quorums import quorum_of
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import IN_ANY_PROFILE, Problem, Source, rule

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
    title="RabbitMQ handles partitions with pause_minority",
    severity=Severity.CRITICAL,
    rationale="By default RabbitMQ ignores partitions: both sides accept messages, and what one side accepted is "
    "lost when they join again. With pause_minority the side without the majority stops.",
    sources=(
        Source("004", "5.3.12", 11),
        Source("004", "5.4.12", 11),
    ),
    remediation="Write cluster_partition_handling = pause_minority into rabbitmq.conf "
    "(quorate:services.rabbitmq.config).",
    subjects=lambda facts: facts.workloads,
    applies=_configured,
    not_applicable_reason="no RabbitMQ of several members reads a ConfigMap of the stack",
    parameters={"cluster_partition_handling": MODE},
    since="0.2.0",
    enforcement=IN_ANY_PROFILE,
)
def rabbitmq_pauses_minority(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """Reads the files that its pods mount; files inside an image are not visible."""
    said: set[str] = set()
    for text in _files(facts, workload).values():
        said |= {mode for mode in (flat(text).get("cluster_partition_handling"),) if mode}
        said |= set(_IN_ERLANG.findall(text))
    if not said:
        yield Problem("cluster_partition_handling is not set (default: ignore)", MODE)
    elif said != {MODE}:
        yield Problem(f"cluster_partition_handling is {', '.join(sorted(said))}", MODE)


def _of_rabbitmq(facts: Facts, config: ConfigMap) -> bool:
    return any(quorum_of(each) is Quorum.RABBITMQ for each in facts.workloads if config.is_read_by(each))


def _speaks_of_queues(facts: Facts, config: ConfigMap) -> bool:
    files = config.files
    return any(f"[{_CLIENT}]" in files[name] for name in files) or _of_rabbitmq(facts, config)


@rule(
    id="rabbitmq-quorum-queues",
    title="RabbitMQ and its clients use quorum queues",
    severity=Severity.HIGH,
    rationale="A classic queue is stored on one member and is lost with it. Mirrored queues halve the throughput, "
    "broke clusters under load, and were removed in RabbitMQ 4. Quorum queues survive as long as a majority does.",
    sources=(
        Source("004", "5.3.12", 21),
        Source("project", "Messaging", 1),
    ),
    remediation="Set default_queue_type = quorum in rabbitmq.conf and rabbit_quorum_queue = true in section "
    "[oslo_messaging_rabbit] of every service, and remove policies with ha-mode.",
    subjects=lambda facts: facts.config_maps,
    applies=_speaks_of_queues,
    not_applicable_reason="no ConfigMap of the stack configures RabbitMQ or its clients",
    parameters={"default_queue_type": "quorum", "rabbit_quorum_queue": True},
    since="0.2.0",
)
def rabbitmq_quorum_queues(facts: Facts, config: ConfigMap) -> Iterator[Problem]:
    """Checks the server's default, its policies, and the queue type that clients declare."""
    files = config.files
    if _of_rabbitmq(facts, config):
        kind = flat(files[MAIN]).get("default_queue_type") if MAIN in files else None
        if kind != "quorum":
            actual = (
                f"sets default_queue_type = {kind}" if kind else "does not set default_queue_type (default: classic)"
            )
            yield Problem(f"{MAIN} {actual}", "quorum")
    for name in files:
        if _MIRRORED.search(files[name]):
            yield Problem(f"{name} mirrors queues (ha-mode)", "no mirrored queues")
        if f"[{_CLIENT}]" in files[name]:
            client = sections(files[name])
            if client.get(_CLIENT, "rabbit_quorum_queue", fallback="false").strip().lower() not in ("true", "1", "yes"):
                yield Problem(f"{name} does not set rabbit_quorum_queue = true", f"it in [{_CLIENT}]")
