"""`quorate restore mysqld` after two of three members were lost: what it shows, does and refuses, and goes on with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from commands import stack
from commands.live import galera_restore, restore_command
from commands.live.restore_request import RestoreRequest
from console.errors import UserError
from operations import operation_lease
from operations.operation_lease import RESTORATION, CloudOperation, held
from tests.operations.maintenance.small_cloud import Killed
from tests.operations.restoration.lost_majority import UUID, LostGalera, use_lost
from tests.stacks import ROOT


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> LostGalera:
    found = LostGalera()
    use_lost(monkeypatch, found)
    live = replace(stack.load(ROOT, "dev"), target="live")
    monkeypatch.setattr(stack, "load", lambda _root, _name: live)  # type: ignore[misc]
    return found


@pytest.fixture
def dead(cloud: LostGalera) -> tuple[str, ...]:
    """The machines of two members, which are off."""
    return cloud.die("mysqld-0"), cloud.die("mysqld-1")


def restore(
    wanted: str = "", dead: tuple[str, ...] = (), *, what: str = "mysqld", plan: bool = False, confirm: str = "dev"
) -> int:
    return restore_command.run(ROOT, "live", RestoreRequest(what, wanted, dead, plan, "" if plan else confirm))


def changes(cloud: LostGalera) -> list[str]:
    return [each for each in cloud.changes if "Lease" not in each]


def test_the_survivor_goes_on(cloud: LostGalera, dead: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert restore(dead=dead) == 0
    assert changes(cloud) == [
        *(f'node {each}: {{"unschedulable": true}}' for each in dead),
        "delete pod mysqld-0",
        "delete pod mysqld-1",
        "mark mysqld-2",
        "delete pod mysqld-2",
    ]
    assert cloud.leases == {}
    said = capsys.readouterr().out
    assert "mysqld of dev runs with 1 of 3 members." in said
    assert f"{dead[0]} is cordoned and must stay off until it is removed (`quorate replace {dead[0]} --stack" in said


def test_the_plan_says_what_each_has_and_changes_nothing(
    cloud: LostGalera, dead: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert restore(dead=dead, plan=True) == 0
    said = capsys.readouterr().out
    assert f"    mysqld-0 on {dead[0]}: not asked: its pod was not asked: dial tcp: i/o timeout\n" in said
    assert f"        data: {UUID}:102; took part until " in said
    assert "        the members that it knows of: mysqld-0, mysqld-1, mysqld-2\n" in said
    assert " UTC, 12 min ago\n" in said
    assert f"From the data of mysqld-2 ({UUID}:102), which took part until " in said
    assert f"  1. cordon {dead[0]} and {dead[1]}, and delete the pods of the members there" in said
    assert "  2. mysqld-2: mark its data as that of a new cluster" in said
    assert "  4. wait until mysqld-2 takes part" in said
    assert cloud.changes == []
    with pytest.raises(UserError, match=r"Nothing was changed\. To do this, add --confirm dev\."):
        restore(dead=dead, confirm="prod")
    assert cloud.changes == []


def test_without_a_majority_a_members_data_comes_before_a_backup(
    cloud: LostGalera, dead: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert restore(plan=True) == 3
    said = capsys.readouterr().out
    assert "mysqld does not go on:" in said
    for member, machine in zip(("mysqld-0", "mysqld-1"), dead, strict=True):
        assert f"  - {member} on {machine} was not asked: its pod was not asked" in said
        assert f"Start {machine}; or if it is off and stays off, add --dead {machine}" in said
    with pytest.raises(UserError, match=r"(?s)does not go on.*Nothing was changed"):
        restore()
    assert cloud.changes == []


def test_a_majority_is_not_given_up(cloud: LostGalera, capsys: pytest.CaptureFixture[str]) -> None:
    machine = cloud.die("mysqld-0")
    cloud.says["mysqld-1"]["primary"] = cloud.says["mysqld-2"]["primary"] = True
    assert restore("mysqld-2", (machine,), plan=True) == 3
    assert "  - mysqld-1, mysqld-2 has a majority" in capsys.readouterr().out
    assert cloud.changes == []


def test_a_machine_that_is_on_is_not_dead(cloud: LostGalera, dead: tuple[str, ...]) -> None:
    address = next(node.address for node in cloud.plan.machines if node.name == dead[1])
    cloud.answering = {address}
    with pytest.raises(UserError, match=f"--dead {dead[1]}: {address} accepts connections on port 22"):
        restore(dead=dead)
    cloud.answering.clear()
    cloud.nodes[dead[0]]["status"]["conditions"][0]["status"] = "True"
    with pytest.raises(UserError, match=f"--dead {dead[0]}: node {dead[0]} is Ready"):
        restore(dead=dead)
    with pytest.raises(UserError, match=f"--dead {cloud.homes['mysqld-2']}: mysqld-2 answers there"):
        restore(dead=(*dead, cloud.homes["mysqld-2"]))
    assert cloud.changes == []


def test_further_members_that_answer_take_the_data_over(cloud: LostGalera) -> None:
    """After a full stop, one is lost for good, and the others wait for it."""
    machine = cloud.die("mysqld-0")
    assert restore(dead=(machine,)) == 0
    assert changes(cloud)[1:] == [
        "delete pod mysqld-0",
        "mark mysqld-2",
        "delete pod mysqld-1",
        "delete pod mysqld-2",
    ]


def test_a_run_that_was_killed_goes_on(dead: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    finished, cloud = 0, LostGalera()
    for number in range(20):
        cloud = LostGalera()
        use_lost(monkeypatch, cloud)
        assert (cloud.die("mysqld-0"), cloud.die("mysqld-1")) == dead
        cloud.kill_after = number
        try:
            restore(dead=dead)
            finished = number
            break
        except Killed:
            cloud.kill_after = None
            cloud.forget_holder()
        assert restore() == 0 if cloud.leases else restore(dead=dead) == 0
        assert cloud.says["mysqld-2"]["primary"]
        assert cloud.leases == {}
    assert finished == len(cloud.changes) > 3


def test_a_member_that_does_not_start_is_awaited_again(cloud: LostGalera, dead: tuple[str, ...]) -> None:
    cloud.comes_back = False
    again = f"quorate restore mysqld --from mysqld-2 --dead {dead[0]} --dead {dead[1]} --confirm dev --stack dev"
    with pytest.raises(UserError, match=f"(?s)mysqld does not serve after .*mysqld-2: Init.*`{again}` again: it goes"):
        restore(dead=dead)
    cloud.says["mysqld-2"]["primary"] = True
    done = changes(cloud)
    assert restore() == 0
    assert changes(cloud) == done, "it only waited"


def test_data_that_was_not_marked_keeps_its_pod(cloud: LostGalera, dead: tuple[str, ...]) -> None:
    cloud.refuses = "mysqld-2 is in a primary component"
    with pytest.raises(UserError, match=r"was not let go on: mysqld-2 is in a primary component\. Run the same"):
        restore(dead=dead)
    assert "delete pod mysqld-2" not in changes(cloud)


def test_a_machine_without_its_node_is_dead_too(cloud: LostGalera, dead: tuple[str, ...]) -> None:
    """`quorate replace` has deleted it: the member has a volume there, and waits."""
    del cloud.nodes[dead[0]]
    cloud.pods["mysqld-0"] |= {"spec": {}, "status": {"phase": "Pending"}}
    assert restore(dead=dead) == 0
    assert cloud.says["mysqld-2"]["primary"]


def test_beside_another_operation_nothing_is_changed(
    cloud: LostGalera, dead: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operation_lease, "whoami", lambda: "ada@desk")
    with (
        held(cloud.cluster().api, CloudOperation("virt1"), "dev", print),
        pytest.raises(UserError, match="Maintenance of virt1 is under way"),
    ):
        restore(dead=dead)
    assert changes(cloud) == []


def test_a_backup_that_is_being_restored_goes_on(
    cloud: LostGalera, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its members answer without a majority while they start."""
    monkeypatch.setattr(galera_restore, "read_quorum", cloud.read_quorum)
    with held(cloud.cluster().api, CloudOperation("mysqld", RESTORATION), "dev", print):
        pass
    assert restore(plan=True) == 0
    assert "From the newest backup in the volume of backups" in capsys.readouterr().out


def test_a_broker_goes_on_without_a_restart(cloud: LostGalera, capsys: pytest.CaptureFixture[str]) -> None:
    dead = (cloud.die("rabbitmq-0"), cloud.die("rabbitmq-1"))
    assert restore(what="rabbitmq", plan=True) == 3
    assert restore(what="rabbitmq", dead=dead, plan=True) == 0
    said = capsys.readouterr().out
    assert "    rabbitmq-2 on messaging3: 1 of 3 members run\n        data: 35 quorum queues, 4 streams; took" in said
    assert "  2. rabbitmq-2: remove the others from its metadata and its quorum queues" in said
    assert "  3. wait until rabbitmq-2 takes part\n" in said
    assert "Streams are deleted with what is in them" in said
    assert restore(what="rabbitmq", dead=dead) == 0
    assert changes(cloud)[2:] == ["delete pod rabbitmq-0", "delete pod rabbitmq-1", "mark rabbitmq-2"]
    assert "rabbitmq of dev runs with 1 of 3 members." in capsys.readouterr().out


def test_a_broker_that_was_left_half_way_goes_on(cloud: LostGalera) -> None:
    """Its metadata have one member already, and its queues may not."""
    dead = (cloud.die("rabbitmq-0"), cloud.die("rabbitmq-1"))
    cloud.refuses = "4 streams without a majority are not deleted yet"
    with pytest.raises(UserError, match=r"4 streams without a majority are not deleted yet\. Run the same command"):
        restore(what="rabbitmq", dead=dead)
    cloud.refuses = ""
    cloud.brokers = ["rabbitmq-2"]
    assert restore(what="rabbitmq") == 0
    assert changes(cloud)[-1] == "mark rabbitmq-2"
    assert cloud.leases == {}


def test_two_brokers_are_a_majority_or_none_goes_on(cloud: LostGalera, capsys: pytest.CaptureFixture[str]) -> None:
    machine = cloud.die("rabbitmq-0")
    assert restore(what="rabbitmq", dead=(machine,), plan=True) == 3
    assert "rabbitmq-1, rabbitmq-2 has a majority" in capsys.readouterr().out
    assert cloud.changes == []


def test_a_monitor_goes_on_after_a_restart(cloud: LostGalera, capsys: pytest.CaptureFixture[str]) -> None:
    dead = (cloud.die("ceph-mon-0"), cloud.die("ceph-mon-1"))
    assert restore(what="ceph-mon", dead=dead, plan=True) == 0
    said = capsys.readouterr().out
    assert "        data: map of monitors 4, election 12; took part until a time that is not known" in said
    assert "  2. ceph-mon-2: mark its data, so that its next start removes the others from the map" in said
    assert "  3. delete the pod of ceph-mon-2, so that it starts again" in said
    assert "Objects are on OSDs, and stay." in said
    assert cloud.changes == []
    assert restore(what="ceph-mon", dead=dead) == 0
    assert changes(cloud)[2:] == [
        "delete pod ceph-mon-0",
        "delete pod ceph-mon-1",
        "mark ceph-mon-2",
        "delete pod ceph-mon-2",
    ]
    assert "ceph-mon of dev runs with 1 of 3 members." in capsys.readouterr().out


def test_a_monitor_that_was_not_awaited_is_awaited_again(cloud: LostGalera) -> None:
    dead = (cloud.die("ceph-mon-0"), cloud.die("ceph-mon-1"))
    cloud.comes_back = False
    with pytest.raises(UserError, match="ceph-mon does not serve after"):
        restore(what="ceph-mon", dead=dead)
    cloud.monitors = ["ceph-mon-2"]
    done = changes(cloud)
    assert restore(what="ceph-mon") == 0
    assert changes(cloud) == done, "it only waited"


def test_two_monitors_that_answer_do_not_go_on_alone(cloud: LostGalera, capsys: pytest.CaptureFixture[str]) -> None:
    machine = cloud.die("ceph-mon-0")
    assert restore(what="ceph-mon", dead=(machine,), plan=True) == 3
    assert "ceph-mon-1, ceph-mon-2 answer, and only one may: switch off the machines of" in capsys.readouterr().out
    assert cloud.changes == []


def test_a_broker_has_no_backup(cloud: LostGalera) -> None:
    with pytest.raises(UserError, match="--from 2026-11-28T02-17-04Z is not a member of rabbitmq"):
        restore("2026-11-28T02-17-04Z", what="rabbitmq")
    assert cloud.changes == []


def test_a_backup_needs_no_dead_machine(cloud: LostGalera) -> None:
    with pytest.raises(UserError, match="--dead is for members that are lost, and 2026-11-28T02-17-04Z is a backup"):
        restore("2026-11-28T02-17-04Z", ("virt1",))
    assert cloud.changes == []
