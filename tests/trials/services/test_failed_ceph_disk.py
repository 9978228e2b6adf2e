"""Disks of a real Ceph fail and are replaced by `quorate replace` under writes, and no acknowledged object is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.trials.services.failed_ceph_disk import (
    RealCeph,
    another_is_down,
    disk_fails,
    disk_is_given_up,
    monitors_disk_fails,
    osd_is_killed,
    use_real,
)
from tests.trials.services.judge import judge
from trials.services import ceph, testbed
from trials.services.containers import TriedContainer
from trials.trial_report import Proof, in_turn


@pytest.mark.heavy
def test_disks_of_ceph_are_replaced(
    ceph_root: Path, containers: Mapping[str, TriedContainer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with testbed.ServiceTestbed(ceph_root) as around:
        cluster = ceph.CephCluster(around, containers)
        notes = ceph.begin(cluster)
        cloud = RealCeph(tmp_path, cluster)
        use_real(monkeypatch, cloud)

        def trial(name: str, failure: Callable[[RealCeph], list[str]]) -> Proof:
            return ceph.trial(name, cluster, lambda _: failure(cloud))

        failures = (disk_fails, osd_is_killed, disk_is_given_up, another_is_down, monitors_disk_fails)
        judge(in_turn("Ceph", failures, trial, notes))
