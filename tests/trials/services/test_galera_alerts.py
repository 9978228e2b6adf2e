"""A real member of Galera receives a state transfer that takes minutes: what the rendered Prometheus says meanwhile."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.trials.services.monitoring import Monitoring
from trials.services import galera, stalls
from trials.services.containers import TriedContainer
from trials.services.testbed import ServiceMachine, ServiceTestbed, until

LIMIT = 300
"""Seconds until something must be seen on a busy machine. The test prints how long each took."""
SILENT, LOST = "QuorumMemberSilent", "QuorumMemberLost"
JOINER = "mysqld-2"
SAID = f"galera: 2 of 3 members are left, 2 are needed; lost: {JOINER}"


@pytest.mark.heavy
def test_a_member_that_receives_a_long_state_transfer_is_named_within_a_minute(
    root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    with ServiceTestbed(root) as testbed:
        cluster = galera.GaleraCluster(testbed, containers["mysqld/mariadb"])
        galera.begin(cluster)
        galera.fill(cluster)
        monitoring = Monitoring(testbed, containers, in_a_hurry=False)
        until("all members count", lambda: monitoring.members().get("galera") == len(cluster.members), LIMIT)
        joiner = cluster.members[JOINER]
        cluster.kill(JOINER)
        ended = _transfers(joiner)
        joiner.run(["sh", "-c", "rm -rf /var/lib/mysql/*"])
        stalls.SLOW_DISK.begin(joiner)
        cluster.start(JOINER)
        began = time.monotonic()
        try:
            for alert in (SILENT, LOST):
                monitoring.named(alert, SAID, LIMIT)
                print(f"{alert} {time.monotonic() - began:.0f} s after the start: {cluster.state(JOINER)}", flush=True)
                if alert == SILENT:
                    assert _transfers(joiner) == ended, "the transfer has ended: too early for this trial"
            others = sorted({name for name, quorum in monitoring.alerts() if quorum == "galera"} - {SILENT, LOST})
            print(f"also {others}; transfers that have ended since: {_transfers(joiner) - ended}", flush=True)
        finally:
            stalls.SLOW_DISK.end(joiner)
        back = cluster.wait_ready(*cluster.members)
        # Other quorums of the stack do not run here, and have alerts of the same names.
        mine = {(alert, "galera") for alert in (SILENT, LOST)}
        over = until("it is over", lambda: not mine & monitoring.alerts(), LIMIT)
        print(f"whole {back:.0f} s after the disk was fast again, no alert {over:.0f} s later", flush=True)


def _transfers(machine: ServiceMachine) -> int:
    """The number of state transfers that have ended, by the log of the member that received them."""
    return machine.log.read_text(errors="replace").count("SST completed on joiner")
