"""`quorate replace` with --osd and --member: a disk fails in a machine that runs; kills at every change, refusals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from commands import replacement
from commands.plan.replaced_server import NewMachine
from commands.replacement import ReplaceRequest
from console.errors import UserError
from operations.live_cluster import LiveCluster
from operations.replacement import disk_steps, failed_osd, in_pods
from tests.operations.replacement.dying_cloud import stack_file
from tests.operations.replacement.failing_disk import DiskCloud, use
from tests.stacks import ROOT


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DiskCloud:
    return made(tmp_path, monkeypatch)


def made(directory: Path, monkeypatch: pytest.MonkeyPatch) -> DiskCloud:
    cloud = DiskCloud(stack_file(directory))
    use(monkeypatch, cloud)
    return cloud


def waits_for(reason: str) -> Any:
    """Expects that a run gives up to wait for something of Ceph, after 0.1 s in place of a day."""
    stack = ExitStack()
    stack.enter_context(patch.object(failed_osd, "COPIED", 0.1))
    stack.enter_context(pytest.raises(UserError, match=rf"is not replaced after 0.1 s:\n  - {reason}"))
    return stack


def do(name: str, **values: Any) -> int:
    return replacement.run(ROOT, "cloud", ReplaceRequest(name, **values))


def remove(name: str, **values: Any) -> int:
    return do(name, is_dead=True, **values)


def done(cloud: DiskCloud) -> list[str]:
    return [each for each in cloud.changes if each != "write the Lease"]


def killed_after(cloud: DiskCloud, changes: int, name: str, **values: Any) -> bool:
    return cloud.is_killed(changes, lambda: do(name, **values))


def test_an_osd_that_is_down_is_purged_before_the_new_disk_comes(
    cloud: DiskCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.down.add("0")
    assert remove("storage1", osd="0") == 0
    assert done(cloud) == ["ceph osd out 0", "ceph osd purge 0 --yes-i-really-mean-it"]
    said = capsys.readouterr().out
    assert "put another one in, prepare it with `ceph-volume`" in said
    assert (
        "osd.0 on storage1 is removed. After the work by hand: quorate replace storage1 --osd 0 --end --stack cloud"
        in said
    )
    with waits_for("storage1 has no new OSD that is up"):
        do("storage1", osd="0", end=True)
    cloud.new_osd("0", "storage1")
    assert do("storage1", osd="0", end=True) == 0
    assert cloud.identities["0"] == "uuid-0-new", "the new OSD has the number, and stays"
    assert (cloud.osds["0"], cloud.leases) == ("storage1", {})
    assert "The disk of osd.0 on storage1 is replaced" in capsys.readouterr().out


def test_an_osd_that_runs_is_stopped_when_its_data_is_elsewhere(cloud: DiskCloud) -> None:
    cloud.is_clean = False
    with waits_for(r"Error EBUSY: OSD\(s\) 0 have 7 pgs"):
        remove("storage1", osd="0")
    assert done(cloud) == ["ceph osd out 0"]
    cloud.is_clean = True
    remove("storage1", osd="0")
    assert done(cloud)[1:] == ["ceph osd stop 0", "ceph osd purge 0 --yes-i-really-mean-it"]
    assert cloud.osds == {"1": "storage1", "2": "storage2", "3": "storage3"}


def test_without_a_place_for_its_data_it_is_purged_after_the_new_one_came(cloud: DiskCloud) -> None:
    remove("storage2", osd="2")
    assert done(cloud) == ["ceph osd out 2"]
    cloud.is_clean = False
    cloud.new_osd("4", "storage2")
    with waits_for("Error EBUSY"):
        do("storage2", osd="2", end=True)
    cloud.is_clean = True
    assert do("storage2", osd="2", end=True) == 0
    assert cloud.osds == {"0": "storage1", "1": "storage1", "3": "storage3", "4": "storage2"}


def test_what_is_not_whole_is_waited_for(cloud: DiskCloud) -> None:
    remove("storage1", osd="0")
    cloud.new_osd("0", "storage1")
    cloud.is_clean = False
    cloud.lost["ceph-mon-0"] = "it is away"
    with waits_for(r"7 placement groups have not all their copies yet\n  - ceph-mon-0 of ceph-mon"):
        do("storage1", osd="0", end=True)


def test_all_reasons_are_named_at_once_and_nothing_is_changed(
    cloud: DiskCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.needed = "unsafe to stop osd(s) at this time (2 PGs are or would become offline)"
    cloud.silent_groups = 3
    before = cloud.whole()
    with pytest.raises(UserError, match=r"osd\.0 on storage1 may not be removed:") as refused:
        remove("storage1", osd="0")
    assert "3 placement groups do not serve: wait while they look for copies, or start OSDs that" in str(refused.value)
    assert "(2 PGs are or would become offline). Start other OSDs first" in str(refused.value)
    assert str(refused.value).endswith("Nothing was changed.")
    assert cloud.whole() == before
    assert do("storage1", osd="0", plan=True) == 3
    assert "It may NOT be removed now:\n  - 3 placement groups" in capsys.readouterr().out
    cloud.down.add("0")
    cloud.silent_groups = 0
    assert do("storage1", osd="0", plan=True) == 0, "one that is down stops nothing more"


def test_an_osd_stays_while_another_host_has_none_that_is_up(cloud: DiskCloud) -> None:
    """Also if Ceph's manager has not heard of that yet, and admits the stop."""
    cloud.down.add("3")
    with pytest.raises(UserError, match="pool p serves with 2 copies, and 1 hosts have another OSD that is up"):
        remove("storage2", osd="2")
    assert do("storage1", osd="0", plan=True) == 0, "its host has another one"


@pytest.mark.parametrize(
    ("node", "part"),
    [("storage1", {"osd": "0"}), ("storage2", {"osd": "2"}), ("messaging2", {"member": "rabbitmq-1"})],
)
def test_a_plan_changes_nothing_and_names_what_a_run_does(
    node: str, part: dict[str, str], cloud: DiskCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    before = cloud.whole()
    assert do(node, plan=True, **part) == 0
    planned = capsys.readouterr().out
    assert (cloud.whole(), cloud.changes) == (before, [])
    remove(node, **part)
    if "osd" in part:
        cloud.new_osd("4", node)
    do(node, end=True, **part)
    said = [line for line in capsys.readouterr().out.splitlines() if line[:2].strip().isdigit()]
    assert len(said) >= 6
    assert [line for line in said if line not in planned.splitlines()] == []


MEMBERS = [
    ("messaging2", "rabbitmq-1", ["delete claim data-rabbitmq-1", "delete pod rabbitmq-1", "forget rabbitmq-1"]),
    (
        "database2",
        "ceph-mon-1",
        ["ceph mon remove ceph-mon-1", "delete claim data-ceph-mon-1", "delete pod ceph-mon-1"],
    ),
    ("database2", "mysqld-1", ["delete claim data-mysqld-1", "delete pod mysqld-1"]),
]


@pytest.mark.parametrize(("node", "member", "changes"), MEMBERS)
@pytest.mark.parametrize("is_lost", [False, True])
def test_a_member_comes_back_on_an_empty_volume(
    node: str, member: str, changes: list[str], is_lost: bool, cloud: DiskCloud
) -> None:
    cloud.lost |= {member: "its disk is away"} if is_lost else {}
    before = json.loads(cloud.whole())
    assert remove(node, member=member) == 0
    assert done(cloud) == changes
    assert do(node, member=member, end=True) == 0
    quorum = member.rpartition("-")[0]
    emptied, freed, lease = done(cloud)[len(changes) :]
    assert emptied.startswith(f"empty /var/lib/quorate/openstack/{quorum} of {node} for ")
    assert (freed, lease) == (f"free volume openstack-{quorum}-{node}", "delete the Lease")
    after = json.loads(cloud.whole())
    assert [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]] == [
        (before[2], before[2] | {f"data-{member}": f"data-{member}-2"}),
        (before[3], before[3] | {f"openstack-{quorum}-{node}": f"data-{member}-2"}),
    ], "no other claim, volume, pod or list of members has changed"


@pytest.mark.parametrize(
    ("node", "part", "new"),
    [
        ("storage1", {"osd": "0"}, "0"),
        ("storage2", {"osd": "2"}, "4"),
        ("messaging2", {"member": "rabbitmq-1"}, ""),
        ("database2", {"member": "ceph-mon-1"}, ""),
        ("database2", {"member": "mysqld-1"}, ""),
    ],
)
def test_a_run_that_is_killed_after_any_change_goes_on(
    node: str, part: dict[str, str], new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = made(tmp_path, monkeypatch)
    removed, ended = both_runs(cloud, node, part, new)
    changes = done(cloud)
    for run, count in (("is_dead", removed), ("end", ended)):
        for after in range(1, count + 1):
            again = made(tmp_path, monkeypatch)
            if run == "end":
                remove(node, **part)
                if new:
                    again.new_osd(new, node)
            killed = killed_after(again, after, node, **part, **{run: True})
            assert killed or after == count
            if run == "is_dead":
                both_runs(again, node, part, new)
            else:
                do(node, **part, end=True)
            assert again.whole() == cloud.whole(), f"{run} killed after {again.changes[:after]}"
            assert set(done(again)) == set(changes)


def both_runs(cloud: DiskCloud, node: str, part: dict[str, str], new: str) -> tuple[int, int]:
    """Removes what was on a disk, brings an OSD of the number `new`, and ends. Returns each run's number of changes."""
    remove(node, **part)
    removed = len(cloud.changes)
    if new:
        cloud.new_osd(new, node)
    do(node, **part, end=True)
    return removed, len(cloud.changes) - removed


def test_a_broker_that_has_another_volume_already_is_not_forgotten(cloud: DiskCloud) -> None:
    """Its pool has a free node, on which it starts as soon as its claim is gone, and joins by itself."""
    end_claim = cloud.end_claim

    def elsewhere(name: str) -> None:
        end_claim(name)
        cloud.claims[name] = "openstack-rabbitmq-messaging4"
        cloud.add("rabbitmq-1", "rabbitmq", "messaging3", "StatefulSet")

    cloud.end_claim = elsewhere  # type: ignore[method-assign]
    remove("messaging2", member="rabbitmq-1")
    assert done(cloud) == ["delete claim data-rabbitmq-1", "delete pod rabbitmq-1"]


def test_the_next_monitor_is_not_removed_by_a_run_that_goes_on(cloud: DiskCloud) -> None:
    """It has started on a free node of its pool before the run was killed."""
    end_claim = cloud.end_claim

    def elsewhere(name: str) -> None:
        end_claim(name)
        cloud.claims[name] = "openstack-ceph-mon-database4"
        cloud.add("ceph-mon-1", "ceph-mon", "database3", "StatefulSet")
        cloud.listed.add("ceph-mon-1")

    cloud.end_claim = elsewhere  # type: ignore[method-assign]
    assert killed_after(cloud, 9, "database2", member="ceph-mon-1", is_dead=True)
    assert done(cloud)[-1] == "delete pod ceph-mon-1"
    remove("database2", member="ceph-mon-1")
    assert done(cloud).count("ceph mon remove ceph-mon-1") == 1
    assert "ceph-mon-1" in cloud.listed


def test_an_answer_that_comes_late_ends_no_wait(
    cloud: DiskCloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = in_pods.blocks_purge
    late = ["ceph-mon was not asked"]

    def asked(cluster: LiveCluster, osds: Sequence[str]) -> str:
        if late:
            raise UserError(late.pop())
        return ask(cluster, osds)

    monkeypatch.setattr(in_pods, "blocks_purge", asked)
    assert remove("storage1", osd="0") == 0
    assert "  waits: ceph-mon was not asked\n" in capsys.readouterr().out


def test_a_pod_that_does_not_end_is_named(cloud: DiskCloud) -> None:
    cloud.hangs = True
    with pytest.raises(UserError, match="a process that hangs on its disk ends only when messaging2 reboots"):
        remove("messaging2", member="rabbitmq-1")
    assert "rabbitmq-1" in cloud.listed


def test_a_disk_that_does_not_work_is_named_and_the_next_run_goes_on(cloud: DiskCloud) -> None:
    remove("messaging2", member="rabbitmq-1")
    cloud.disk = "sync: Input/output error"
    with pytest.raises(
        UserError, match=r"rabbitmq of messaging2 was not made empty: sync: Input/output error\nMount a"
    ):
        do("messaging2", member="rabbitmq-1", end=True)
    cloud.disk = ""
    assert do("messaging2", member="rabbitmq-1", end=True) == 0


def test_a_member_that_is_needed_stays(cloud: DiskCloud, capsys: pytest.CaptureFixture[str]) -> None:
    cloud.lost["rabbitmq-0"] = "it is away"
    cloud.critical["rabbitmq-1"] = "a queue has its majority by it"
    cloud.paths["openstack-rabbitmq-messaging2"] = "/data"
    before = cloud.whole()
    with pytest.raises(UserError, match="rabbitmq-1 on messaging2 may not be removed:") as refused:
        remove("messaging2", member="rabbitmq-1")
    assert "1 take part without rabbitmq-1; lost beside it: rabbitmq-0 (it is away)" in str(refused.value)
    assert "rabbitmq: a queue has its majority by it" in str(refused.value)
    assert "volume openstack-rabbitmq-messaging2 is in /data" in str(refused.value)
    assert cloud.whole() == before
    assert do("messaging2", member="rabbitmq-1", plan=True) == 3
    assert "It may NOT be removed now:\n  - rabbitmq needs 2" in capsys.readouterr().out


def test_a_directory_with_that_of_another_claim_stays(cloud: DiskCloud) -> None:
    cloud.paths["openstack-ceph-mon-database2"] = "/var/lib/quorate/openstack/mysqld/mon"
    with pytest.raises(UserError, match=r"volume openstack-ceph-mon-database2 is in .*mysqld/mon, which is not to be"):
        remove("database2", member="mysqld-1")
    assert done(cloud) == ["delete the Lease"]


def test_a_broker_stays_if_the_majority_is_lost_meanwhile(cloud: DiskCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_steps, "run", lost_before(cloud, disk_steps.run))
    with pytest.raises(UserError, match="ceph-mon-1 stays in ceph-mon:\n  - ceph-mon needs 2 of 3"):
        remove("database2", member="ceph-mon-1")
    assert "ceph-mon-1" in cloud.listed


def lost_before(cloud: DiskCloud, run: Any) -> Any:
    def lose(*arguments: Any) -> None:
        cloud.lost["ceph-mon-0"] = "gone"
        run(*arguments)

    return lose


def test_nothing_is_given_up_without_a_word(cloud: DiskCloud) -> None:
    with pytest.raises(
        UserError, match=r"of osd.0 on storage1 has given up\?.*replace storage1 --osd 0 --dead --stack"
    ):
        do("storage1", osd="0")
    with pytest.raises(UserError, match="replace messaging2 --member rabbitmq-1 --dead --stack cloud"):
        do("messaging2", member="rabbitmq-1")
    assert cloud.changes == []


def test_one_operation_at_a_time(cloud: DiskCloud) -> None:
    remove("storage1", osd="0")
    with pytest.raises(
        UserError, match=r"Replacement of osd.0 on storage1 is under way: .*\n.*`quorate replace storage1 --osd 0 --end"
    ):
        remove("storage1", osd="1")
    cloud.die("storage2")
    with pytest.raises(UserError, match=r"Replacement of osd\.0 on storage1 is under way"):
        remove("storage2")
    assert do("messaging2", member="rabbitmq-1", end=True) == 0, "it is not being replaced"


def test_what_is_removed_is_not_removed_again(cloud: DiskCloud) -> None:
    cloud.is_clean = False
    with waits_for(".*7 pgs currently mapped"):
        remove("storage1", osd="0")
    with pytest.raises(
        UserError, match=r"osd.0 on storage1 is not removed yet: go on with quorate replace storage1 --osd"
    ):
        do("storage1", osd="0", end=True)
    cloud.is_clean = True
    remove("storage1", osd="0")
    cloud.new_osd("0", "storage1")
    before = cloud.whole()
    assert remove("storage1", osd="0") == 0
    assert cloud.whole() == before


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("storage1", {"osd": "2"}, "storage1 has no OSD 2 in Ceph's tree: it has 0, 1"),
        ("messaging2", {"osd": "2"}, "messaging2 has no OSD 2 in Ceph's tree: it has none"),
        ("messaging2", {"member": "rabbitmq-0"}, "messaging2 has no volume of rabbitmq-0 in use: it has rabbitmq-1"),
        ("storage1", {"osd": "/dev/sdb"}, "--osd /dev/sdb: write the number of an OSD, such as 3"),
        ("storage1", {"osd": "0", "member": "a"}, "Use only one of --osd and --member"),
        ("storage1", {"osd": "0", "new": NewMachine("metal4")}, "are for a machine that is dead, not for its disk"),
        ("storag1", {"osd": "0"}, r"There is no machine storag1 \(did you mean 'storage1'"),
    ],
)
def test_what_is_not_there_is_named(name: str, values: dict[str, Any], says: str, cloud: DiskCloud) -> None:
    before = cloud.whole()
    with pytest.raises(UserError, match=says) as refused:
        remove(name, **values)
    assert str(refused.value).endswith("Nothing was changed.")
    assert cloud.whole() == before
