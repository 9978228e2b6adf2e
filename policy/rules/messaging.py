"""Configuration of RabbitMQ and its clients: partitions and quorum queues."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from policy.facts.kubernetes.configuration import ConfigMap, environment, flat, read_by, sections
from policy.facts.kubernetes.workload import Workload
from policy.facts.product_defaults import (
    CLEANUP_WARNS,
    CLIENT_QUORUM_QUEUE,
    PARTITION_HANDLING,
    QUEUE_TYPE,
    SYNC_METHOD,
    Default,
)
from policy.facts.programs import QuorumKind
from policy.facts.quorums.quorums import cluster_of, quorum_of
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Malformed, Properties
from policy.rule import IN_ANY_PROFILE, RuleProblem, RuleSource, rule
from policy.wording import join_names

MODE = "pause_minority"
_ERLANG_COMMENT = re.compile(r"%.*$", re.MULTILINE)
_ERLANG_VARIABLES = ("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "RABBITMQ_SERVER_ERL_ARGS")
_FILE_VARIABLES = ("RABBITMQ_CONFIG_FILE", "RABBITMQ_CONFIG_FILES", "RABBITMQ_ADVANCED_CONFIG_FILE")
_MIRRORED = re.compile(r"\bha[-_]mode\b")
_CLIENT = "oslo_messaging_rabbit"


def _is_rabbitmq(workload: Workload) -> bool:
    return quorum_of(workload) is QuorumKind.RABBITMQ


def _is_to_pause(facts: Facts, workload: Workload) -> bool:
    """Whether a workload is a RabbitMQ with several members, or a RabbitMQ that is configured with pause_minority."""
    if not _is_rabbitmq(workload):
        return False
    return set(_written(facts, workload, PARTITION_HANDLING)) == {MODE} or cluster_of(facts, workload).size(facts) > 1


def _written(facts: Facts, workload: Workload, default: Default) -> dict[str, str]:
    """Returns the values of a RabbitMQ setting in the workload's ConfigMaps and Erlang arguments; none if not set.

    Each value has what contains it, for messages. `default` names the setting. Raises Malformed if a configuration file
    is not in the stack.
    """
    said: dict[str, str] = {}
    for config in read_by(workload, facts.config_maps):
        for name in config.files:
            place = f"{name} of {config.title}"
            if name.endswith(".conf") and (value := flat(config.files[name]).get(default.setting)):
                said[value] = place
            elif name.endswith(".config"):
                said |= dict.fromkeys(_in_erlang(_ERLANG_COMMENT.sub("", config.files[name]), default), place)
    for container in workload.pod.at("containers").items():
        variables = environment(workload, container, facts.config_maps)
        for name in _ERLANG_VARIABLES:
            if name in variables:
                place = f"{name} of container {container.at('name').text()} of {workload.title}"
                said |= dict.fromkeys(_in_erlang(variables[name].text(), default), place)
        _refuse_other_files(workload, container, variables)
    return said


def _actual(said: Mapping[str, str], default: Default) -> str:
    """Returns text for a finding about a setting with these values and what contains each."""
    values, places = ", ".join(sorted(said)), join_names(set(said.values()))
    return default.actual(values, places)


def _refuse_other_files(workload: Workload, container: Properties, variables: Mapping[str, Properties]) -> None:
    """Raises Malformed if a variable names a file outside the mounted ConfigMaps, whose content is not known."""
    mounted = {each.at("name").text() for each in workload.pod.at("volumes").items() if _is_configuration(each)}
    mounts = [each for each in container.at("volumeMounts").items() if each.at("name").text() in mounted]
    places = [each.at("mountPath").text().rstrip("/") for each in mounts]
    for name in _FILE_VARIABLES:
        path = variables[name].text() if name in variables else ""
        if path and not any(path == place or path.startswith(f"{place}/") for place in places):
            raise Malformed(f"{name} is {path}, which no mounted ConfigMap contains")


def _is_configuration(volume: Properties) -> bool:
    return volume.at("configMap").given() or volume.at("projected").given()


def _in_erlang(text: str, default: Default) -> set[str]:
    """Returns a setting's values in Erlang terms ({name, value}) or arguments (-rabbit name value).

    `default` names the setting.
    """
    return set(re.findall(rf"\b{default.setting}\s*(?:,\s*|\s)[\"'<]*(\w+)", text))


def _elsewhere(facts: Facts, workload: Workload) -> str:
    """Returns text for a message about ConfigMaps that the pods mount and the stack lacks; "" if it has all of them."""
    known = {config.resource.props.at("metadata", "name").text() for config in read_by(workload, facts.config_maps)}
    missing = workload.config_maps - known
    return f" in the stack, and ConfigMap {join_names(missing)} is not part of it" if missing else ""


@rule(
    id="rabbitmq-pauses-minority",
    title="RabbitMQ handles partitions with pause_minority",
    severity=Severity.CRITICAL,
    rationale="By default RabbitMQ ignores partitions: both sides accept messages, and the messages of one side "
    "are lost when they join again. With pause_minority the side without the majority stops.",
    sources=(
        RuleSource("004", "5.3.12", 11),
        RuleSource("004", "5.4.12", 11),
    ),
    remediation="Write cluster_partition_handling = pause_minority into rabbitmq.conf "
    "(quorate:services.rabbitmq.config), and mount it from a ConfigMap of the stack.",
    subjects=lambda facts: facts.workloads,
    applies=_is_to_pause,
    not_applicable_reason="the stack has no RabbitMQ of several members",
    parameters={PARTITION_HANDLING.setting: MODE},
    enforcement=IN_ANY_PROFILE,
    since="0.2.0",
)
def rabbitmq_pauses_minority(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Reads cluster_partition_handling in ConfigMaps and environment variables.

    Assumes the default if it is not set.
    """
    said = _written(facts, workload, PARTITION_HANDLING)
    if not said:
        yield RuleProblem(f"{PARTITION_HANDLING.unset}{_elsewhere(facts, workload)}", MODE)
    elif set(said) != {MODE}:
        yield RuleProblem(_actual(said, PARTITION_HANDLING), MODE)


@rule(
    id="rabbitmq-keeps-members",
    title="RabbitMQ does not forget members that are down",
    severity=Severity.HIGH,
    rationale="With only_log_warning = false, RabbitMQ removes each member that peer discovery does not list, such as "
    "a pod that restarts. The member loses its queues' copies and cannot join again with its data.",
    sources=(RuleSource("project", "Quorums", 28),),
    remediation="Remove cluster_formation.node_cleanup.only_log_warning from rabbitmq.conf, or set it to true "
    "(the default). Remove a member by hand: rabbitmqctl forget_cluster_node.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: _is_rabbitmq(workload) and cluster_of(facts, workload).size(facts) > 1,
    not_applicable_reason="the stack has no RabbitMQ of several members",
    parameters={CLEANUP_WARNS.setting: CLEANUP_WARNS.value},
    since="0.7.0",
)
def rabbitmq_keeps_members(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Reads rabbitmq.conf and Erlang's variables."""
    said = _written(facts, workload, CLEANUP_WARNS)
    if set(said) - {"true"}:
        yield RuleProblem(_actual(said, CLEANUP_WARNS), "true (the default)")


def _users_of_queues(facts: Facts) -> Iterator[Workload | ConfigMap]:
    """Yields every RabbitMQ, and every ConfigMap that configures RabbitMQ or one of its clients."""
    servers = [each for each in facts.workloads if _is_rabbitmq(each)]
    yield from servers
    for config in facts.config_maps:
        if any(config.is_read_by(each) for each in servers) or _configures_client(config):
            yield config


def _configures_client(config: ConfigMap) -> bool:
    return any(f"[{_CLIENT}]" in config.files[name] for name in config.files)


@rule(
    id="rabbitmq-quorum-queues",
    title="RabbitMQ and its clients use quorum queues",
    severity=Severity.HIGH,
    rationale="A classic queue is stored on one member and is lost with it. Mirrored queues halve the throughput, "
    "broke clusters under load, and were removed in RabbitMQ 4. Quorum queues survive as long as a majority does.",
    sources=(
        RuleSource("004", "5.3.12", 21),
        RuleSource("project", "Messaging", 1),
    ),
    remediation="Set default_queue_type = quorum in rabbitmq.conf and rabbit_quorum_queue = true in section "
    "[oslo_messaging_rabbit] of every service, and remove policies with ha-mode.",
    subjects=_users_of_queues,
    not_applicable_reason="the stack has no RabbitMQ, and no ConfigMap that configures its clients",
    parameters={QUEUE_TYPE.setting: "quorum", CLIENT_QUORUM_QUEUE.setting: True},
    since="0.2.0",
)
def rabbitmq_quorum_queues(facts: Facts, user: Workload | ConfigMap) -> Iterator[RuleProblem]:
    """Checks RabbitMQ's default queue type, and mirroring policies and clients' queue types in ConfigMaps."""
    if isinstance(user, Workload):
        kinds = _written(facts, user, QUEUE_TYPE)
        if not kinds:
            yield RuleProblem(f"{QUEUE_TYPE.unset}{_elsewhere(facts, user)}", "quorum")
        elif set(kinds) != {"quorum"}:
            yield RuleProblem(_actual(kinds, QUEUE_TYPE), "quorum")
        return
    for name in user.files:
        text = user.files[name]
        if _MIRRORED.search(text):
            yield RuleProblem(f"{name} mirrors queues (ha-mode)", "no mirrored queues")
        if f"[{_CLIENT}]" in text:
            default = CLIENT_QUORUM_QUEUE
            written = sections(text).get(_CLIENT, default.setting, fallback=default.value)
            if (written or "").strip().lower() not in ("true", "1", "yes", "on"):
                yield RuleProblem(f"{name} does not set {default.setting} = true", f"it in [{_CLIENT}]")


@rule(
    id="rabbitmq-syncs-log",
    title="RabbitMQ confirms a message when its log is on the disk",
    severity=Severity.CRITICAL,
    rationale="With wal_sync_method none, the log of quorum queues is not synced: a power failure of a majority loses "
    "confirmed messages, and a member that forgets its vote can elect a second leader.",
    sources=(RuleSource("project", "Messaging", 2),),
    remediation="Remove wal_sync_method from the Erlang arguments and from advanced.config, or set it to datasync.",
    subjects=lambda facts: facts.workloads,
    applies=lambda _facts, workload: _is_rabbitmq(workload),
    not_applicable_reason="the stack has no RabbitMQ",
    parameters={SYNC_METHOD.setting: f"{SYNC_METHOD.value} or sync"},
    since="0.7.0",
)
def rabbitmq_syncs_log(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Reads wal_sync_method in Erlang terms and arguments. Assumes the default if it is not set."""
    said = _written(facts, workload, SYNC_METHOD)
    if unsynced := {value: place for value, place in said.items() if value not in (SYNC_METHOD.value, "sync")}:
        yield RuleProblem(_actual(unsynced, SYNC_METHOD), SYNC_METHOD.value)
