"""A lost quorum member is an alert: the rendered Prometheus beside real members of Galera and RabbitMQ."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
        galera.kill("mysqld-0")
        testbed.isolate("rabbitmq-1")
        lost = {("QuorumMemberLost", "galera"), ("QuorumMemberLost", "rabbitmq")}
        until("a lost member is an alert", lambda: lost <= monitoring.alerts(), SOON)
        assert members() == (2, 2)
        testbed.heal()
        galera.start("mysqld-0")
        until("all members count again", lambda: members() == (3, 3), SOON)
        rabbitmq.kill("rabbitmq-0", "rabbitmq-2")
        galera.kill("mysqld-1", "mysqld-2")
        gone = {("QuorumLost", "galera"), ("QuorumLost", "rabbitmq")}
        until("a lost majority is an alert", lambda: gone <= monitoring.alerts(), SOON)
        assert max(members()) <= 1
