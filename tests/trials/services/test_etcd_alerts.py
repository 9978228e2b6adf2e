"""A real member of etcd has a slow disk: how long it takes until the rendered Prometheus names it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from tests.stacks import STACKS
from tests.trials.services.monitoring import Monitoring
from trials.services import stalls
from trials.services.containers import TriedContainer
from trials.services.etcd import MEMBERS, EtcdCluster, RenderedEtcd
from trials.services.testbed import ServiceTestbed, until

LIMIT = 300
"""Seconds until something must be seen on a busy machine. The test prints how long each took."""
QUIET = 240
"""Seconds for which members are watched that are healthy, or of which one starts again: twice as long as the longer
alert looks back."""
NAMED, WARNED = "EtcdSyncSlow", "EtcdDiskSlow"


@pytest.mark.heavy
def test_a_slow_disk_of_a_member_is_named_within_a_minute(
    root: Path, containers: Mapping[str, TriedContainer], rendered_etcd: RenderedEtcd
) -> None:
    planned = plan(load_file(STACKS["dev"])).members
    with ServiceTestbed(root) as testbed:
        cluster = EtcdCluster(testbed, rendered_etcd)
        cluster.start(*MEMBERS)
        cluster.wait_ready()
        cluster.load()
        at = {str(node.address): cluster.members[name].address for node, name in zip(planned, MEMBERS, strict=True)}
        monitoring = Monitoring(testbed, containers, in_a_hurry=False, addresses=at)
        until("all members count", lambda: monitoring.members().get("etcd") == len(MEMBERS), LIMIT)
        monitoring.over(NAMED, WARNED, seconds=LIMIT)
        slow = cluster.members[MEMBERS[0]]
        stalls.SLOW_DISK.begin(slow)
        said = f"etcd: {planned[0].name} takes "
        began = time.monotonic()
        try:
            for alert in (NAMED, WARNED):
                monitoring.named(alert, said, LIMIT)
                print(f"{alert} {time.monotonic() - began:.0f} s after the disk was slow", flush=True)
        finally:
            stalls.SLOW_DISK.end(slow)
        over = monitoring.over(NAMED, WARNED, seconds=LIMIT)
        print(f"no alert {over:.0f} s after the disk was fast again", flush=True)
        cluster.members[MEMBERS[1]].kill()
        cluster.wait_ready()
        _stays_quiet(monitoring)


def _stays_quiet(monitoring: Monitoring) -> None:
    """Watches a cluster of which a member has just started again."""
    named, end = set[str](), time.monotonic() + QUIET
    while time.monotonic() < end:
        assert not monitoring.summaries(WARNED)
        named |= monitoring.summaries(NAMED)
        time.sleep(1)
    print(f"healthy, with a restart: {sorted(named) or 'no alert'}", flush=True)
