"""Real monitors, managers and OSDs of Ceph fail: how long it takes until the rendered Prometheus names them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.trials.services.monitoring import Monitoring
from trials.services import ceph
from trials.services.ceph import MONITORS, STORAGE
from trials.services.containers import TriedContainer
from trials.services.testbed import ServiceTestbed, until

LIMIT = 180
"""Seconds until something must be seen on a busy machine. The test prints how long each took."""


class CephUnderWatch:
    """A Ceph cluster with the rendered Prometheus and Alertmanager, which ask and wait as long as in a cloud."""

    def __init__(self, cluster: ceph.CephCluster, monitoring: Monitoring) -> None:
        self.cluster, self.monitoring = cluster, monitoring

    def fail(self, what: str, begin: Callable[[], object], alert: str, said: str, end: Callable[[], object]) -> None:
        """Makes something fail, prints after how long an alert said so, and waits until it is over."""
        begin()
        took = until(f"{what}: {alert}", lambda: said in self.monitoring.summaries(alert), LIMIT, 0.5)
        print(f"{what}: {alert} after {took:.0f} s; also {sorted(self._others(alert))}", flush=True)
        end()
        self.cluster.wait_ready()
        # Other quorums of the stack do not run here, and have alerts of the same names.
        until("it is over", lambda: not self.quorum() and said not in self.monitoring.summaries(alert), LIMIT, 1)

    def _others(self, alert: str) -> set[str]:
        ceph_only = ("CephOsdDown", "CephWarns", "CephFails", "CephSilent")
        return self.quorum() | {each for each in ceph_only if each != alert and self.monitoring.summaries(each)}

    def quorum(self) -> set[str]:
        """Alerts for the quorum of monitors."""
        return {name for name, quorum in self.monitoring.alerts() if quorum == "ceph-mon"}

    def is_told(self) -> bool:
        """Whether a manager tells Prometheus of Ceph's health."""
        return bool(self.monitoring.query("ceph_health_status"))


@pytest.mark.heavy
def test_what_fails_in_ceph_is_named_within_a_minute(
    ceph_root: Path, root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    with ServiceTestbed(ceph_root) as testbed:
        cluster = ceph.CephCluster(testbed, containers)
        print(*ceph.begin(cluster), flush=True)
        monitoring = Monitoring(testbed, containers, root=root, in_a_hurry=False)
        watched = CephUnderWatch(cluster, monitoring)
        until("all monitors count", lambda: monitoring.members().get("ceph-mon") == 3, LIMIT, 1)
        until("a manager tells", watched.is_told, LIMIT, 1)
        assert len(monitoring.query("ceph_osd_up")) == len(STORAGE)
        print("Ceph's health:", cluster.ceph("health", "detail").strip(), flush=True)
        _monitors_fail(watched)
        _storage_fails(watched)


def _monitors_fail(watched: CephUnderWatch) -> None:
    cluster, testbed = watched.cluster, watched.cluster.testbed
    active: str = json.loads(cluster.ceph("mgr", "stat"))["active_name"]
    lost = f"ceph-mon: 2 of 3 members are left, 2 are needed; lost: {active}"
    silent = "QuorumMemberSilent"
    began = time.monotonic()
    watched.fail(
        "a monitor with the active manager is killed",
        lambda: cluster.kill(active), silent, lost, lambda: _health_returns(watched, began, active),
    )  # fmt: skip
    other = next(name for name in MONITORS if name != active)
    watched.fail(
        "a monitor is cut off",
        lambda: testbed.isolate(other), silent, lost.replace(active, other), testbed.heal,
    )  # fmt: skip
    paused = [cluster.monitors[name] for name in MONITORS[:2]]
    watched.fail(
        "two of three monitors pause",
        lambda: [each.freeze() for each in paused],
        "QuorumLost",
        "ceph-mon: 0 of 3 members are left, 2 are needed; lost: ceph-mon-0 ceph-mon-1 ceph-mon-2",
        lambda: [each.thaw() for each in paused],
    )


def _health_returns(watched: CephUnderWatch, began: float, monitor: str) -> None:
    until("another manager tells of Ceph's health", watched.is_told, LIMIT, 0.5)
    print(f"another manager told of Ceph's health {time.monotonic() - began:.0f} s after the loss", flush=True)
    watched.cluster.start(monitor)


def _storage_fails(watched: CephUnderWatch) -> None:
    cluster, storage = watched.cluster, watched.cluster.storage
    watched.fail(
        "an OSD is killed",
        lambda: cluster.kill(STORAGE[0]), "CephOsdDown", "Ceph: osd.0 is down", lambda: cluster.start(STORAGE[0]),
    )  # fmt: skip
    watched.fail(
        "an OSD pauses",
        storage[STORAGE[1]].freeze, "CephOsdDown", "Ceph: osd.1 is down", storage[STORAGE[1]].thaw,
    )  # fmt: skip
    watched.fail(
        "an OSD is full, which stops all writes",
        lambda: cluster.ceph("tell", "osd.2", "injectfull", "full"), "CephFails", "Ceph: OSD_FULL",
        lambda: cluster.ceph("tell", "osd.2", "injectfull", "none"),
    )  # fmt: skip
