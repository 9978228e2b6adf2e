"""Real monitors and OSDs of Ceph with the rendered containers: no acknowledged object is lost, whatever fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.trials.services.judge import judge
from trials.services import ceph
from trials.services.containers import TriedContainer


def test_ceph_keeps_what_it_acknowledged_without_any_power(
    ceph_root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    judge(ceph.prove(ceph_root, containers, (ceph.power_cut,)))


@pytest.mark.heavy
def test_ceph_keeps_what_it_acknowledged(ceph_root: Path, containers: Mapping[str, TriedContainer]) -> None:
    judge(ceph.prove(ceph_root, containers))
