"""Ceph's state by recorded answers of three real monitors with three OSDs, and by answers changed from them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from operations.living import ceph
from operations.living.answers import Answer
from operations.living.ceph import Pool
from operations.living.quorum import LivingQuorum
from tests.operations.living.recorded_answers import answers, dead, garbage

NAMES = ("ceph-mon-0", "ceph-mon-1", "ceph-mon-2")


def read(found: dict[str, Answer]) -> LivingQuorum:
    return ceph.read("ceph-mon", NAMES, found)


def with_status(**parts: Any) -> dict[str, Answer]:
    """The whole quorum, with other parts of the cluster's status."""
    found = answers("ceph-whole")
    for name, answer in found.items():
        status = answer.document("status")
        found[name] = Answer({**answer.parts, "status": json.dumps(status | parts)})
    return found


def test_a_whole_quorum() -> None:
    found = read(answers("ceph-whole"))
    assert (found.standing, found.counting, found.needed) == ("whole", 3, 2)
    assert [member.name for member in found.members if member.leads] == ["ceph-mon-0"]
    assert found.figures[1] == "3 of 3 OSDs up, 3 in"


@pytest.mark.parametrize("state", ["ceph-one-lost", "ceph-paused"])
def test_a_monitor_that_is_lost_or_paused(state: str) -> None:
    found = read(answers(state))
    assert (found.standing, found.serves, found.counting) == ("reduced", True, 2)


def test_a_lost_majority_is_told_by_the_monitor_that_is_left() -> None:
    found = read(answers("ceph-two-lost"))
    assert (found.standing, found.serves, found.counting) == ("lost", False, 0)
    assert found.members[0].says.endswith(": it is not in the quorum")


def alone(*mapped: str, others: str = "") -> dict[str, Answer]:
    """The answers after two monitors were lost for good: the third is a quorum, and its map has these monitors."""
    (left, *_), found = NAMES, answers("ceph-two-lost")
    monitor = found[left].document("monitor") | {"state": "leader", "quorum": [0]}
    monitor |= {"monmap": {"mons": [{"name": each} for each in mapped]}}
    status = answers("ceph-whole")[left].document("status") | {"quorum_names": [left]}
    found[left] = Answer({"monitor": json.dumps(monitor), "status": json.dumps(status)})
    if others:
        found[others] = Answer({"monitor": json.dumps(monitor | {"name": others})})
    return found


def test_a_monitor_that_goes_on_alone_is_its_own_majority() -> None:
    found = read(alone(NAMES[0]))
    assert (found.standing, found.serves, found.counting, found.needed) == ("reduced", True, 1, 1)
    assert [member.name for member in found.members if not member.votes] == ["ceph-mon-1", "ceph-mon-2"]


def test_monitors_in_the_map_have_a_vote() -> None:
    assert read(alone(*NAMES)).needed == 2


def test_beside_another_quorum_none_is_its_own_majority() -> None:
    found = read(alone(NAMES[0], others="ceph-mon-1"))
    assert (found.counting, found.needed) == (1, 2)


def test_monitors_that_cannot_be_asked() -> None:
    assert read(dead(*NAMES)).standing == "unknown"


def test_garbage_is_no_answer() -> None:
    assert read(garbage(*NAMES)).standing == "unknown"
    assert ceph.storage(garbage(*NAMES)) is None


def test_an_osd_that_is_down_is_a_trouble() -> None:
    found = read(answers("ceph-osd-lost"))
    assert (found.standing, found.counting) == ("reduced", 3)
    assert "1 OSDs are down" in found.troubles


@pytest.mark.parametrize(
    ("state", "stops"),
    [
        ("active+clean", False),
        ("active+undersized+degraded", False),
        ("undersized+degraded+peered", True),
        ("down", True),
        ("unknown", False),
    ],
)
def test_placement_groups_below_their_least_copies(state: str, stops: bool) -> None:
    pgmap = {"pgs_by_state": [{"state_name": state, "count": 4}], "num_pgs": 4}
    found = read(with_status(pgmap=pgmap))
    assert any(each.startswith("4 placement groups do not serve") for each in found.troubles) == stops
    storage = ceph.storage(with_status(pgmap=pgmap | {"unfound_objects": 2}))
    assert storage
    assert (storage.stopped, storage.unfound) == (4 if stops else 0, 2)


def test_an_error_of_health_is_a_trouble_and_a_warning_a_note() -> None:
    checks = {
        "OSD_FULL": {"severity": "HEALTH_ERR", "summary": {"message": "1 full osd(s)"}},
        "POOL_APP_NOT_ENABLED": {"severity": "HEALTH_WARN", "summary": {"message": "1 pool(s)"}},
    }
    found = read(with_status(health={"status": "HEALTH_ERR", "checks": checks}))
    assert found.troubles == ("OSD_FULL: 1 full osd(s)",)
    assert found.notes == ("POOL_APP_NOT_ENABLED: 1 pool(s)",)


def test_what_decides_whether_osds_may_stop() -> None:
    found = ceph.storage(answers("ceph-whole"))
    assert found
    assert Pool("images", 3, 2) in found.pools
    assert sum(found.up.values()) == 3
    assert found.unclean == 0
    less = ceph.storage(answers("ceph-osd-lost"))
    assert less
    assert sum(less.up.values()) == 2
    assert less.unclean > 0
