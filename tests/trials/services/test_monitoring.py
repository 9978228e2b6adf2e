"""A lost quorum member is an alert: the rendered Prometheus beside real members of Galera and RabbitMQ."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from openstack.monitoring import replicated_queues
from tests.trials.services.monitoring import Monitoring
from trials.services.containers import TriedContainer
from trials.services.galera import GaleraCluster as Galera
from trials.services.rabbitmq import RabbitmqCluster as Rabbitmq
from trials.services.testbed import ServiceTestbed, until

SOON = 180
"""Seconds until something must be seen on a busy machine, with rules that wait for seconds instead of minutes."""


def test_killed_and_isolated_members_reach_the_alertmanager(
    root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    with ServiceTestbed(root) as testbed:
        galera, rabbitmq = (
            Galera(testbed, containers["mysqld/mariadb"]),
            Rabbitmq(testbed, containers["rabbitmq/rabbitmq"]),
        )
        galera.start(*galera.members)
        rabbitmq.start(*rabbitmq.members)
        galera.wait_ready(*galera.members)
        rabbitmq.wait_ready(*rabbitmq.members)
        monitoring = Monitoring(testbed, containers)

        def members() -> tuple[int, int]:
            there = monitoring.members()
            return there.get("galera", -1), there.get("rabbitmq", -1)

        until("all members count", lambda: members() == (3, 3), SOON)
        queues_are_counted(rabbitmq)
        galera.kill("mysqld-0")
        testbed.isolate("rabbitmq-1")
        lost = {("QuorumMemberLost", "galera"), ("QuorumMemberLost", "rabbitmq")}
        until("a lost member is an alert", lambda: lost <= monitoring.alerts(), SOON)
        status_names_them(monitoring, lost)
        assert members() == (2, 2)
        until("a replica does not run", lambda: counted(rabbitmq, "rabbitmq-0") == (1, 0, 1), SOON)
        assert counted(rabbitmq, "rabbitmq-1") is None, "it has no majority, and knows nothing of the others"
        testbed.heal()
        galera.start("mysqld-0")
        until("all members count again", lambda: members() == (3, 3), SOON)
        rabbitmq.kill("rabbitmq-0", "rabbitmq-2")
        galera.kill("mysqld-1", "mysqld-2")
        gone = {("QuorumLost", "galera"), ("QuorumLost", "rabbitmq")}
        until("a lost majority is an alert", lambda: gone <= monitoring.alerts(), SOON)
        assert max(members()) <= 1
        assert counted(rabbitmq, "rabbitmq-1") is None
        monitoring.manager.kill()
        unsent = (monitoring.server.name,)
        until("status says that no receiver is reached", lambda: monitoring.living_alerts().unsent == unsent, SOON)


def status_names_them(monitoring: Monitoring, expected: set[tuple[str, str]]) -> None:
    """Requires that `quorate status` reads the same alerts from Prometheus, each with what a person needs."""
    found = monitoring.living_alerts()
    assert (found.asked, found.unsent) == (monitoring.server.name, ())
    named = {(each.name, each.quorum): each for each in found.firing}
    assert expected <= named.keys()
    galera = named["QuorumMemberLost", "galera"]
    assert (galera.severity, galera.summary) == (
        "critical",
        "galera: 2 of 3 members are left, 2 are needed; lost: mysqld-0",
    )
    assert timedelta(0) < datetime.now(UTC) - galera.since < timedelta(seconds=SOON)
    urgency = ["critical", "warning", "info"]
    assert [each.severity for each in found.firing] == sorted(
        (each.severity for each in found.firing), key=urgency.index
    )


def queues_are_counted(rabbitmq: Rabbitmq) -> None:
    """A queue whose replicas stop on two of three members has no majority, although all members run."""
    rabbitmq.load()
    rabbitmq.more(1)
    rabbitmq.end_load()
    until("all replicas run", rabbitmq.replicated, SOON)
    assert counted(rabbitmq, "rabbitmq-0") == (1, 0, 0)
    rabbitmq.control("rabbitmq-0", "eval", _STREAM)
    until(
        "the stream is counted, with a replica on each member",
        lambda: counted(rabbitmq, "rabbitmq-0") == (2, 0, 0),
        SOON,
    )
    rabbitmq.control("rabbitmq-0", "eval", _WITHOUT_STREAM)
    for member in ("rabbitmq-1", "rabbitmq-2"):
        rabbitmq.control(member, "eval", _EACH_REPLICA.format("stop_server"))
    assert counted(rabbitmq, "rabbitmq-0") == (1, 1, 1)
    for member in ("rabbitmq-1", "rabbitmq-2"):
        rabbitmq.control(member, "eval", _EACH_REPLICA.format("restart_server"))
    until("all replicas run again", lambda: counted(rabbitmq, "rabbitmq-0") == (1, 0, 0), SOON)


_NAME = 'rabbit_misc:r(<<"/">>, queue, <<"calls">>)'
_STREAM = f"""\
Arguments = [{{<<"x-queue-type">>, longstr, <<"stream">>}}],
{{new, _}} = rabbit_amqqueue:declare({_NAME}, true, false, Arguments, none, <<"test">>)."""
_WITHOUT_STREAM = f"""\
{{ok, Queue}} = rabbit_amqqueue:lookup({_NAME}),
{{ok, _}} = rabbit_amqqueue:delete(Queue, false, false, <<"test">>)."""
_EACH_REPLICA = (
    "[ra:{}(quorum_queues, {{element(1, amqqueue:get_pid(Queue)), node()}}) || Queue <- rabbit_amqqueue:list()]."
)


def counted(rabbitmq: Rabbitmq, member: str) -> tuple[int, int, int] | None:
    """The replicated queues that a member counts, as a master asks it: all, without a majority, and without a replica.

    None if it does not count them.
    """
    try:
        said = rabbitmq.control(member, "--timeout", "15", "eval", "--formatter=json", replicated_queues.OF_MAJORITY)
    except subprocess.CalledProcessError:
        return None
    value = json.loads(said)["value"]
    return value["all"], value["lost"], value["reduced"]
