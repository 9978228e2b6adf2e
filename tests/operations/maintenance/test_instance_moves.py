"""Instances that are moved away: live and cold, those that fail, and those that were under way before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest

from operations.live_cluster import LiveCluster
from operations.maintenance import instance_moves
from operations.maintenance.instance_moves import InstanceMoves, choices_of
from operations.maintenance.instances import Choices
from operations.operation_lease import CloudOperation, held
from tests.operations.maintenance.small_cloud import SmallCloud, instance, use

Move = Callable[..., dict[str, str]]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> SmallCloud:
    made = SmallCloud()
    use(monkeypatch, made)
    return made


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def move(cloud: SmallCloud, said: list[str]) -> Move:
    """Moves the instances of virt1 away, and returns what stops the run: reasons by id."""

    def run(*, live: bool = True, cold: bool = False, unconfirmed: tuple[str, ...] = ()) -> dict[str, str]:
        operation = CloudOperation("virt1", cold=unconfirmed)
        with held(cloud.cluster().api, operation, "dev", said.append) as lease:
            moves = InstanceMoves(cloud.cluster(), lease, ["virt1"], Choices(live, cold), said.append)
            left = {each.id: reason for each, reason in moves.run()}
            assert not {each["id"] for each in cloud.instances} & set(lease.operation.cold), "all are confirmed"
            lease.finish()
        return left

    return run


def asked(cloud: SmallCloud) -> list[str]:
    return [change for change in cloud.changes if change.startswith(("live", "cold", "confirm"))]


def test_each_is_asked_for_when_the_one_before_has_moved(cloud: SmallCloud, move: Move, said: list[str]) -> None:
    cloud.instances += [instance("virt1", id=f"i-{each}", name=f"vm{each}") for each in (1, 2)]
    assert move() == {}
    assert asked(cloud) == ["live i-1", "live i-2"]
    assert [line.split(" (0.")[0].strip() for line in said] == [
        "live migration of vm1 (i-1) from virt1", "vm1 (i-1) is on virt2, ACTIVE",
        "live migration of vm2 (i-2) from virt1", "vm2 (i-2) is on virt2, ACTIVE",
    ]  # fmt: skip


def test_one_that_fails_is_named_and_the_others_go_on(cloud: SmallCloud, move: Move) -> None:
    cloud.instances += [instance("virt1", id=f"i-{each}") for each in (1, 2, 3)]
    cloud.failing["i-1"] = "No valid host was found. There are not enough hosts available."
    cloud.refused["i-2"] = "Live migration with accelerators is not supported."
    assert move() == {
        "i-1": "No valid host was found. There are not enough hosts available. "
        "(migration 7 from virt1 to no compute: error)",
        "i-2": "Live migration with accelerators is not supported.",
    }
    assert asked(cloud) == ["live i-1", "live i-3"], "each once"
    assert cloud.instances[2]["host"] == "virt2"


def test_one_that_is_under_way_is_awaited_and_not_asked_for(cloud: SmallCloud, move: Move, said: list[str]) -> None:
    cloud.instances.append(instance("virt1", task="migrating"))
    assert move() == {}
    assert (asked(cloud), cloud.instances[0]["host"]) == ([], "virt2")
    assert "  waits for web (i-1), which is on its way from virt1 already" in said


def test_one_that_was_under_way_and_has_failed_is_asked_for(cloud: SmallCloud, move: Move, said: list[str]) -> None:
    cloud.instances.append(instance("virt1", task="migrating"))
    cloud.failing["i-1"] = "the network"
    assert move() == {"i-1": "the network (migration 7 from virt1 to no compute: error)"}
    assert asked(cloud) == ["live i-1"]
    assert "  web (i-1) has not left virt1" in said


def test_a_request_whose_answer_was_lost_is_no_failure(
    cloud: SmallCloud, move: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.instances.append(instance("virt1"))

    once = instance_moves.asked_to

    def twice(cluster: LiveCluster, what: Literal["live", "cold", "confirm"], id_: str) -> str:
        once(cluster, what, id_)
        return once(cluster, what, id_)

    monkeypatch.setattr(instance_moves, "asked_to", twice)
    assert move() == {}
    assert (asked(cloud), cloud.instances[0]["host"]) == (["live i-1"], "virt2")


def test_a_cold_move_is_confirmed(cloud: SmallCloud, move: Move) -> None:
    cloud.instances += [
        instance("virt1", id="i-1", wish="forbidden"),
        instance("virt1", id="i-2", status="SHUTOFF", runs=False),
        instance("virt1", id="i-3"),
    ]
    assert move(cold=True) == {}
    assert asked(cloud) == ["cold i-1", "confirm i-1", "cold i-2", "confirm i-2", "live i-3"]
    assert [(each["host"], each["status"]) for each in cloud.instances] == [
        ("virt2", "ACTIVE"), ("virt2", "SHUTOFF"), ("virt2", "ACTIVE")
    ]  # fmt: skip


def test_only_its_own_cold_moves_are_confirmed(cloud: SmallCloud, move: Move) -> None:
    cloud.instances += [instance("virt2", id=each, status="VERIFY_RESIZE") for each in ("i-1", "i-2")]
    assert move(unconfirmed=("i-1", "gone")) == {}
    assert asked(cloud) == ["confirm i-1"]
    assert cloud.instances[1]["status"] == "VERIFY_RESIZE", "its tenant may revert it"


def test_a_resize_of_a_tenant_is_awaited_and_not_confirmed(cloud: SmallCloud, move: Move, said: list[str]) -> None:
    cloud.instances.append(instance("virt1", task="resize_prep"))
    assert move() == {}
    assert asked(cloud) == []
    assert said[-1].startswith("  web (i-1) is on virt2, VERIFY_RESIZE")


def test_what_is_not_moved(cloud: SmallCloud, move: Move, said: list[str]) -> None:
    cloud.instances += [
        instance("virt1", id="forbids", wish="forbiden"),
        instance("virt1", id="allows", wish="allowed"),
        instance("virt1", id="paused", status="PAUSED", wish="forbidden"),
        instance("virt1", id="starting", status="SHUTOFF", runs=False, task="powering-on"),
        instance("virt1", id="resized", status="VERIFY_RESIZE"),
        instance("virt1", id="broken", status="ERROR", fault="the disk"),
        instance("virt1", id="suspended", status="SUSPENDED", runs=False),
    ]
    forbids = "its tenant forbids live migration (quorate:live-migration="
    left = move()
    assert left == {
        "forbids": forbids + "forbiden); --cold restarts it elsewhere",
        "paused": forbids + "forbidden); --cold restarts it elsewhere",
        "starting": "Nova changes it now (powering-on)",
        "resized": "Nova moves none with status VERIFY_RESIZE",
        "broken": "is in ERROR: the disk",
    }
    assert asked(cloud) == ["live allows"]
    assert "  web (suspended), SUSPENDED, stays, and cannot be started until the end" in said
    assert "Nova moves no paused one cold" in move(cold=True)["paused"]


def test_without_certificates_nothing_moves_live(cloud: SmallCloud, move: Move) -> None:
    cloud.instances += [instance("virt1")]
    assert move(live=False) == {
        "i-1": "the computes have no certificates for live migration (quorate:machines: existing)"
    }
    assert asked(cloud) == []
    assert move(live=False, cold=True) == {}
    assert choices_of(cloud.cluster(), cold=False) == Choices(live=True, cold=False)


def test_a_deleted_instance_is_not_awaited(cloud: SmallCloud, move: Move, said: list[str]) -> None:
    cloud.instances.append(instance("virt1", task="migrating"))
    cloud.deletes = True
    assert move() == {}
    assert "  web (i-1) was deleted" in said


def test_a_move_without_end_is_awaited_by_the_next_run(
    cloud: SmallCloud, move: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.instances += [instance("virt1", id="i-1", task="resize_migrating"), instance("virt1", id="i-2")]
    monkeypatch.setattr(instance_moves, "MOVE", -1)
    left = move()
    assert left["i-1"].startswith("Nova moves it since")
    assert "the next run awaits it" in left["i-1"]
