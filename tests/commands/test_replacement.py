"""`quorate replace`: a machine of each role is removed and comes back, killed after every change, and every refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commands import replacement
from commands.plan.replaced_server import NewMachine
from commands.replacement import ReplaceRequest
from console.errors import UserError
from tests.operations.maintenance.small_cloud import Killed, instance
from tests.operations.replacement.dying_cloud import DyingCloud, host_key, stack_file, use
from tests.stacks import ROOT

ROLES = ["master2", "messaging2", "database2", "storage1", "compute2"]


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DyingCloud:
    return made(tmp_path, monkeypatch)


def made(directory: Path, monkeypatch: pytest.MonkeyPatch, dead: str = "") -> DyingCloud:
    cloud = DyingCloud(stack_file(directory))
    use(monkeypatch, cloud)
    if dead:
        cloud.die(dead)
    return cloud


def do(name: str, new: str = "", **values: Any) -> int:
    machine = NewMachine(new, values.pop("address", ""), values.pop("host_key", ""))
    return replacement.run(ROOT, "cloud", ReplaceRequest(name, machine, **values))


def remove(name: str, new: str = "", **values: Any) -> int:
    return do(name, new, is_dead=True, **values)


def killed_after(cloud: DyingCloud, changes: int, name: str, new: str = "", **values: Any) -> bool:
    return cloud.is_killed(changes, lambda: do(name, new, **values))


def test_a_broker_is_removed_and_comes_back_under_its_name(
    cloud: DyingCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.die("messaging2")
    assert remove("messaging2") == 0
    assert [each for each in cloud.changes if each != "write the Lease"] == [
        "forget rabbitmq-1",
        "delete nodes messaging2",
        "delete pods rabbitmq-1",
        "delete pods agent-messaging2",
        "delete pods api-messaging2",
        "write the state",
    ]
    assert "data-rabbitmq-1" in cloud.claims, "its volume is on the machine that comes"
    said = capsys.readouterr().out
    assert "rabbitmq has forgotten rabbit@rabbitmq-1.rabbitmq-members.openstack.svc" in said
    assert "make messaging2 ready, run `quorate up --stack cloud`, and quorate replace messaging2 --end" in said
    with pytest.raises(UserError, match=r"not replaced after 0.1 s:\n  - node messaging2 is not Ready\n  - rabbitmq-1"):
        do("messaging2", end=True)
    cloud.arrive("messaging2")
    assert do("messaging2", end=True) == 0
    assert cloud.leases == {}
    assert "messaging2 is replaced by a new machine, and every quorum is complete." in capsys.readouterr().out


def test_members_of_another_dead_machine_are_awaited_unless_it_is_cordoned(
    cloud: DyingCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.die("messaging2")
    assert remove("messaging2") == 0
    cloud.arrive("messaging2")
    cloud.die("database2")
    with pytest.raises(UserError, match=r"not replaced after 0.1 s:\n  - mysqld-1 of mysqld: "):
        do("messaging2", end=True)
    cloud.nodes["database2"]["spec"]["unschedulable"] = True
    assert do("messaging2", end=True) == 0
    assert cloud.leases == {}
    said = "messaging2 is replaced by a new machine. Replace next what is cordoned and not Ready, and was not awaited: "
    assert f"{said}database2." in capsys.readouterr().out


def test_another_machine_comes_in_place_of_a_database(cloud: DyingCloud) -> None:
    cloud.die("database2")
    key = host_key(99)
    assert remove("database2", "metal4", address="10.20.0.39", host_key=key) == 0
    text = cloud.file.read_text()
    assert f"    - name: metal4 # in room 2\n      address: 10.20.0.39\n      hostKey: {key}\n" in text
    assert "database2" not in text
    assert not {each for each in cloud.volumes if each.endswith("database2")}
    gone = {"data-mysqld-1", "data-ceph-mon-1", "data-elasticsearch-kibana-1"}
    assert not gone & cloud.claims.keys()
    assert len(cloud.claims) == len(cloud.homes) - len(gone)
    assert next(each for each in cloud.changes if "mon" in each) == "ceph mon remove ceph-mon-1"
    cloud.arrive("metal4")
    assert do("database2", end=True) == 0
    assert cloud.homes["mysqld-1"] == "metal4"


def test_a_master_leaves_etcd_and_pulumis_state(cloud: DyingCloud) -> None:
    cloud.die("master2")
    before = cloud.file.read_text()
    remove("master2")
    assert next(each for each in cloud.changes if each != "write the Lease") == "remove etcd member master2"
    names = [each["urn"].rpartition("::")[2] for each in cloud.stored["resources"]]
    assert len(names) == 28
    assert not [each for each in names if "master2" in each]
    assert cloud.file.read_text() == before


def test_lost_osds_are_purged_when_ceph_says_that_they_may(
    cloud: DyingCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.die("storage1")
    cloud.is_clean = False
    remove("storage1")
    assert cloud.out == {"0", "1"}
    assert "0" in cloud.osds
    cloud.arrive("storage1")
    cloud.osds["4"] = "storage1"
    with pytest.raises(UserError, match="Error EBUSY: OSD"):
        do("storage1", end=True)
    assert "0" in cloud.osds
    cloud.is_clean = True
    assert do("storage1", end=True) == 0
    assert cloud.osds == {"2": "storage2", "3": "storage3", "4": "storage1"}, "the new one stays"
    assert "safe to destroy, and purge them" in capsys.readouterr().out


def test_a_host_without_osds_leaves_cephs_tree(cloud: DyingCloud) -> None:
    cloud.die("storage1")
    remove("storage1", "storage9")
    tree = cloud.volumes_hosts()
    cloud.arrive("storage9")
    cloud.volumes_hosts = lambda: tree  # type: ignore[method-assign]
    do("storage1", end=True)
    assert [each for each in cloud.changes if each != "write the Lease"][-2] == "ceph osd crush remove storage1"


def test_a_compute_with_instances_stays(cloud: DyingCloud) -> None:
    cloud.die("compute2")
    cloud.instances += [instance("compute2", status="SHUTOFF", runs=False), instance("compute1")]
    before = cloud.whole()
    with pytest.raises(UserError, match=r"Nova has 1 instance on compute2:\n  - web \(i-1\) of project p-1, SHUTOFF"):
        remove("compute2")
    assert cloud.whole() == before
    cloud.instances.clear()
    remove("compute2")
    assert "forget records of compute2" in cloud.changes
    cloud.arrive("compute2")
    assert do("compute2", end=True) == 0


@pytest.mark.parametrize(
    ("dead", "new"),
    [("master2", ""), ("messaging2", "metal4"), ("database2", "metal4"), ("storage1", ""), ("compute2", "")],
)
def test_a_run_that_is_killed_after_any_change_goes_on(
    dead: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = made(tmp_path, monkeypatch, dead)
    remove(dead, new)
    whole, changes = cloud.whole(), len(cloud.changes)
    assert changes >= 6
    for after in range(1, changes + 1):
        again = made(tmp_path, monkeypatch, dead)
        killed = killed_after(again, after, dead, new, is_dead=True)
        assert killed or after == changes
        assert remove(dead, new) == 0
        assert again.whole() == whole, f"killed after {again.changes[:after]}"


def test_an_end_that_is_killed_after_any_change_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for after in range(8):
        cloud = made(tmp_path, monkeypatch, "storage1")
        remove("storage1")
        cloud.arrive("storage1")
        killed_after(cloud, after, "storage1", end=True)
        assert do("storage1", end=True) == 0
        assert (cloud.osds, cloud.leases) == ({"2": "storage2", "3": "storage3"}, {})


def test_a_run_is_killed_before_it_writes_the_stack_file(cloud: DyingCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud.die("messaging2")

    def killed(*_arguments: object) -> None:
        raise Killed

    with monkeypatch.context() as now:
        now.setattr(replacement.atomic, "write", killed)
        with pytest.raises(Killed):
            remove("messaging2", "metal4", address="10.20.0.29")
    assert "metal4" not in cloud.file.read_text()
    done = list(cloud.changes)
    assert remove("messaging2", "metal4", address="10.20.0.29") == 0
    assert cloud.changes == done, "nothing is removed twice"
    assert "metal4 # in room 2\n      address: 10.20.0.29\n" in cloud.file.read_text()


@pytest.mark.parametrize("dead", ROLES)
def test_a_plan_changes_nothing_and_names_what_a_run_does(
    dead: str, cloud: DyingCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.die(dead)
    before = cloud.whole()
    assert do(dead, "metal4", plan=True) == 0
    planned = capsys.readouterr().out
    assert (cloud.whole(), cloud.changes) == (before, [])
    assert f"-    - name: {dead} # in room" in planned
    assert "+    - name: metal4 # in room" in planned
    assert ("The new member of mysqld takes over 1024 MiB: about " in planned) == (dead == "database2")
    remove(dead, "metal4")
    cloud.arrive("metal4")
    do(dead, end=True)
    done = [line for line in capsys.readouterr().out.splitlines() if line[:2].strip().isdigit()]
    assert len(done) >= 7
    assert [line for line in done if line not in planned.splitlines()] == []


def test_a_machine_that_answers_is_refused(cloud: DyingCloud, capsys: pytest.CaptureFixture[str]) -> None:
    before = cloud.whole()
    with pytest.raises(UserError, match="messaging2 may not be removed") as refused:
        remove("messaging2")
    assert "node messaging2 is Ready" in str(refused.value)
    assert "rabbitmq-1 of rabbitmq takes part: runs" in str(refused.value)
    assert str(refused.value).endswith("Nothing was changed.")
    assert cloud.whole() == before
    with pytest.raises(UserError, match="master2 of etcd takes part"):
        remove("master2")
    with pytest.raises(UserError, match="1 of its OSDs are up"):
        remove("storage1")
    cloud.die("messaging2")
    cloud.answering.add("10.20.0.22")
    with pytest.raises(UserError, match=r"10\.20\.0\.22 accepts connections on port 22\n.*port 10250"):
        remove("messaging2")
    assert do("messaging2", plan=True) == 3
    assert "It may NOT be removed now:\n  - 10.20.0.22 accepts" in capsys.readouterr().out
    assert cloud.leases == {}


def test_nobody_is_removed_without_a_word(cloud: DyingCloud) -> None:
    cloud.die("messaging2")
    with pytest.raises(
        UserError, match=r"Is messaging2 off, and does it stay off\?.*quorate replace messaging2 --dead"
    ):
        do("messaging2")
    assert cloud.changes == []


@pytest.mark.parametrize(
    ("dead", "lost", "says"),
    [
        ("messaging2", "rabbitmq-0", "rabbitmq needs 2 of 3 members, and 1 take part without rabbitmq-1"),
        ("master2", "master3", "etcd needs 2 of 3 members, and 1 take part without master2; lost beside it: master3"),
        ("database2", "mysqld-2", "mysqld needs 2 of 3 members"),
        ("database2", "ceph-mon-0", "ceph-mon needs 2 of 3 members"),
    ],
)
def test_a_quorum_without_a_majority_stops_it(dead: str, lost: str, says: str, cloud: DyingCloud) -> None:
    cloud.die(dead)
    cloud.lost[lost] = "its disk is away"
    before = cloud.whole()
    with pytest.raises(UserError, match=says) as refused:
        remove(dead)
    assert f"{lost} (its disk is away). Bring back one of these first (docs/on-call.md" in str(refused.value)
    assert cloud.whole() == before


def test_a_quorum_that_loses_its_majority_meanwhile_stops_it(
    cloud: DyingCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.die("database2")
    forget = replacement.Replacement.require_removable

    def then_lost(self: replacement.Replacement, dead: Any) -> None:
        forget(self, dead)
        cloud.lost["ceph-mon-0"] = "gone"

    with monkeypatch.context() as now:
        now.setattr(replacement.Replacement, "require_removable", then_lost)
        with pytest.raises(UserError, match="ceph-mon-1 stays in ceph-mon:\n  - ceph-mon needs 2 of 3"):
            remove("database2")
    assert "ceph-mon-1" in cloud.listed
    del cloud.lost["ceph-mon-0"]
    assert remove("database2") == 0


def test_a_run_that_goes_on_and_is_refused_stays_under_way(cloud: DyingCloud) -> None:
    cloud.die("database2")
    assert killed_after(cloud, 5, "database2", is_dead=True)
    cloud.lost["ceph-mon-0"] = "gone"
    with pytest.raises(UserError, match="ceph-mon needs 2 of 3") as refused:
        remove("database2")
    assert "Nothing was changed" not in str(refused.value)
    del cloud.lost["ceph-mon-0"]
    with pytest.raises(UserError, match="Replacement of database2 is under way"):
        remove("messaging2")
    assert remove("database2") == 0


def test_one_operation_at_a_time(cloud: DyingCloud) -> None:
    cloud.die("messaging2")
    remove("messaging2")
    cloud.die("database2")
    with pytest.raises(
        UserError, match=r"Replacement of messaging2 is under way: .*\n.*`quorate replace messaging2 --end"
    ):
        remove("database2")
    assert do("database2", end=True) == 0, "it is not being replaced"


def test_a_new_machine_is_not_removed_again(cloud: DyingCloud) -> None:
    cloud.die("messaging2")
    remove("messaging2")
    cloud.arrive("messaging2")
    before = cloud.whole()
    assert remove("messaging2") == 0
    assert cloud.whole() == before


def test_a_run_that_goes_on_keeps_its_new_machine(cloud: DyingCloud) -> None:
    cloud.die("messaging2")
    assert killed_after(cloud, 5, "messaging2", "metal4", is_dead=True)
    with pytest.raises(UserError, match="The replacement of messaging2 was begun with --with metal4"):
        remove("messaging2")
    with pytest.raises(UserError, match="messaging2 is not removed yet: go on with quorate replace messaging2 --dead"):
        do("messaging2", end=True)


@pytest.mark.parametrize(("dead", "asked"), [("storage1", "ceph-mon"), ("compute2", "nova-api")])
def test_what_cannot_be_asked_stops_it_before_a_change(dead: str, asked: str, cloud: DyingCloud) -> None:
    cloud.die(dead)
    for pod in cloud.pods.values():
        if pod["metadata"]["labels"]["app.kubernetes.io/name"] == asked:
            pod["status"]["conditions"][0]["status"] = "False"
    before = cloud.whole()
    with pytest.raises(UserError, match=rf"{asked} was not asked: none of its pods is ready.*\nNothing was changed"):
        remove(dead)
    assert cloud.whole() == before, "the Lease is gone"


def test_what_is_not_there_is_named(cloud: DyingCloud) -> None:
    with pytest.raises(UserError, match=r"There is no machine messagin2 \(did you mean 'messaging2'\?\)"):
        remove("messagin2")
    with pytest.raises(UserError, match="--with database1: the stack has a machine of this name"):
        remove("messaging2", "database1")
    with pytest.raises(UserError, match="Use only one of --plan and --end"):
        do("messaging2", plan=True, end=True)
    assert cloud.changes == []
