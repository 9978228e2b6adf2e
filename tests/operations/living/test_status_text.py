"""What `quorate status` prints, its JSON and its exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from blueprint.plan.planner import plan
from operations.living import beside_quorums, status_text
from operations.living.agents import LivingAgent, LivingAgents
from operations.living.backups import CopyTest, LivingBackup, LivingBackups, RestoredTest, StoredCopy
from operations.living.certificates import Certificate
from operations.living.cloud import LivingCloud
from operations.living.leaving import leaves
from operations.living.node_stats import Clock, FullDisk, LivingNodes
from tests.operations.living.living_cloud import living, pod
from tests.stacks import full_size, parsed

PLAN = plan(parsed(full_size("100")))
WHOLE = living(PLAN)


def shown(cloud: LivingCloud) -> str:
    return status_text.shown(cloud, leaves(cloud))


def unknown(cloud: LivingCloud, name: str) -> LivingCloud:
    return replace(cloud, quorums=tuple(replace(q, serves=None) if q.name == name else q for q in cloud.quorums))


@pytest.mark.parametrize(
    ("cloud", "code"),
    [
        (WHOLE, 0),
        (living(PLAN, {"mysqld-1": "Joining"}), 3),
        (unknown(living(PLAN, {"mysqld-1": "Joining"}), "rabbitmq"), 1),
        (unknown(WHOLE, "rabbitmq"), 1),
        (replace(WHOLE, quorums=tuple(replace(q, serves=q.name != "etcd") for q in WHOLE.quorums)), 1),
        (replace(WHOLE, quorums=tuple(replace(q, troubles=("alarm",)) for q in WHOLE.quorums)), 3),
        (replace(WHOLE, problems=("the API server does not answer",)), 1),
        (replace(WHOLE, quorums=()), 1),
    ],
)
def test_exit_codes(cloud: LivingCloud, code: int) -> None:
    assert status_text.exit_code(cloud) == code
    assert status_text.document(cloud, leaves(cloud))["exit"] == code


def test_a_whole_cloud() -> None:
    text = shown(WHOLE)
    assert "whole     etcd" in text
    assert "3 of 3 members" in text
    assert "may not go" not in text


def test_a_lost_member_is_named_with_its_node_and_why_others_stay() -> None:
    node = WHOLE.places["mysqld", "mysqld-1"]
    text = shown(living(PLAN, {"mysqld-1": "Joining: it has not all data yet"}))
    assert "REDUCED   mysqld" in text
    assert f"mysqld-1 on {node}: NOT COUNTED: Joining: it has not all data yet" in text
    assert "These may not go:" in text
    assert "mysqld needs 2 of 3 members, 1 would be left; lost already: mysqld-1" in text


def test_nothing_is_called_whole_that_was_not_asked() -> None:
    text = shown(unknown(WHOLE, "rabbitmq"))
    assert "NOT ASKED rabbitmq" in text


def test_replicas_that_do_not_vote() -> None:
    keystone = next(service.instances for name, service in PLAN.workloads if name == "keystone")
    pods = [pod(f"keystone-{number}", "keystone", "ctl01", ready=number > 0) for number in range(keystone)]
    text = shown(living(PLAN, pods=pods))
    assert f"keystone {keystone - 1} of {keystone} replicas ready" in text
    assert "services have all replicas ready" in text
    assert text.count("replicas ready\n") <= beside_quorums.SERVICES
    assert " services more\n" in text


def unready(name: str, workload: str, node: str, minutes: int, **state: dict[str, Any]) -> dict[str, Any]:
    made = pod(name, workload, node, ready=False)
    made["status"]["containerStatuses"] = [{"name": "api", "image": "kolla/api", "ready": False, "state": state}]
    changed = datetime.now(UTC) - timedelta(minutes=minutes, seconds=5)
    made["status"]["conditions"][0]["lastTransitionTime"] = changed.isoformat()
    return made


def test_why_replicas_are_not_ready() -> None:
    pull, crash = {"reason": "ImagePullBackOff"}, {"reason": "OOMKilled", "exitCode": 137}
    pods = [
        pod("keystone-0", "keystone", "ctl01"),
        unready("keystone-1", "keystone", "ctl02", 12, waiting=pull),
        unready("keystone-2", "keystone", "ctl03", 3, waiting=pull),
        unready("heat-0", "heat-engine", "ctl03", 3, terminated=crash),
    ]
    deleted = pod("heat-1", "heat-engine", "ctl02", ready=False)
    deleted["metadata"]["deletionTimestamp"] = "2026-11-30T14:00:00Z"
    cloud = living(PLAN, pods=[deleted, deleted, *pods])
    first, second = (line for line in shown(cloud).splitlines() if " replicas ready: " in line)
    heat, keystone = sorted((first, second), key=lambda line: "keystone" in line)
    assert keystone.endswith(" replicas ready: ImagePullBackOff of kolla/api on ctl02, ctl03 for 12 min")
    assert heat.endswith(" replicas ready: OOMKilled, exit code 137 on ctl03 for 3 min; is being deleted on ctl02")
    document = json.loads(json.dumps(status_text.document(cloud, ())))
    (found,) = next(each["unready"] for each in document["services"] if each["name"] == "keystone")
    assert (found["reason"], found["nodes"]) == ("ImagePullBackOff of kolla/api", ["ctl02", "ctl03"])
    assert datetime.fromisoformat(found["since"]) < datetime.now(UTC) - timedelta(minutes=12)


def test_the_line_of_a_service_is_bounded() -> None:
    reasons = ("x" * 150, "y" * 150, "z" * 150)
    pods = [
        unready(f"keystone-{n}", "keystone", "ctl01", 1, waiting={"reason": each}) for n, each in enumerate(reasons)
    ]
    line = next(line for line in shown(living(PLAN, pods=pods)).splitlines() if "- keystone" in line)
    assert "x" in line
    assert "z" not in line
    assert len(line) <= beside_quorums.LINE + 12


def test_silent_agents_are_named_and_former_hosts_counted() -> None:
    known = tuple(LivingAgent("nova", "nova-compute", name, age, False) for name, age in (("cmp1", 5), ("cmp2", 412)))
    former = LivingAgent("nova", "nova-conductor", "nova-conductor-abc", 9999, is_disabled=False)
    text = shown(living(PLAN, agents=LivingAgents((*known, former), {}, ("the agents of cinder were not read: x",))))
    assert "1 agents have sent their heartbeat, 1 have not; 1 silent records are of former pods or computes." in text
    assert "nova-compute on cmp2 is silent for 6 min 52 s" in text
    assert "the agents of cinder were not read: x" in text


def test_when_agents_of_ovn_were_asked() -> None:
    agent = LivingAgent("neutron", "ovn-controller", "cmp1", 0, is_disabled=False)
    found = living(PLAN, agents=LivingAgents((agent,), ovn_asked=700))
    assert "OVN's agents among them answer when Neutron's agents are listed, the last time 11 min ago." in shown(found)
    assert status_text.document(found, ())["ovn_asked"] == 700
    assert "OVN" not in shown(living(PLAN, agents=LivingAgents((agent,))))


def test_certificates_that_expire_soon() -> None:
    now = datetime.now(UTC)
    ends = {"old": now - timedelta(days=1), "soon": now + timedelta(days=3, hours=1), "late": now + timedelta(days=400)}
    made = tuple(Certificate("master1", f"/etc/etcd/pki/{name}.crt", end) for name, end in ends.items())
    text = shown(living(PLAN, certificates=made))
    assert "/etc/etcd/pki/old.crt of master1 HAS EXPIRED" in text
    assert "/etc/etcd/pki/soon.crt of master1 expires in 3 days" in text
    assert "late.crt" not in text
    assert len(status_text.document(living(PLAN, certificates=made), ())["certificates"]) == 3


def test_backups_that_are_late_are_named_and_the_newest_of_each_kind() -> None:
    now, limit = datetime.now(UTC), timedelta(hours=30)
    tested = RestoredTest("CronJob mysqld-backup-test", now - timedelta(days=2, minutes=3), limit, problem="it failed")
    never = RestoredTest("CronJob own-test", None, limit, now - timedelta(days=2))
    made = (
        LivingBackup("mysqld", "CronJob mysqld-backup", now - timedelta(days=3, hours=7), limit, test=tested),
        LivingBackup("own", "CronJob own", now, limit, test=never),
        LivingBackup("neutron-mysqld", "CronJob neutron-mysqld-backup", None, limit, stopped="it is suspended"),
        LivingBackup("etcd", "timer on master1", now - timedelta(hours=5, minutes=2), timedelta(hours=2)),
        LivingBackup("etcd", "timer on master2", now - timedelta(minutes=41), timedelta(hours=2)),
    )
    cloud = living(PLAN, backups=LivingBackups(made, ("the copies of etcd's data on master3 were not read: x",)))
    text = shown(cloud)
    assert "Newest backups: mysqld 3 d 7 h ago, own 0 min ago, etcd 41 min ago.\n" in text
    assert "Last backups restored and compared: mysqld 2 d 0 h ago.\n" in text
    assert "mysqld, CronJob mysqld-backup-test: the last backup was restored 2 d 0 h ago; it failed\n" in text
    assert "own, CronJob own-test: none was restored; its schedule allows 1 d 6 h\n" in text
    assert "mysqld, CronJob mysqld-backup: the newest backup is 3 d 7 h old; its schedule allows 1 d 6 h\n" in text
    assert "neutron-mysqld, CronJob neutron-mysqld-backup: there is no backup; it is suspended\n" in text
    assert "etcd, timer on master1: the newest backup is 5 h 02 min old; its schedule allows 2 h 00 min\n" in text
    assert "timer on master2" not in text
    assert "the copies of etcd's data on master3 were not read: x" in text
    assert status_text.exit_code(cloud) == 0
    document = status_text.document(cloud, ())
    assert [each["late"] for each in document["backups"]] == [True, False, True, True, False]
    first, *_, last = [each["restored"] for each in document["backups"]]
    assert (first["maker"], first["late"], last) == ("CronJob mysqld-backup-test", True, None)
    assert document["unasked"] == ["the copies of etcd's data on master3 were not read: x"]
    json.dumps(document)


def test_copies_in_the_object_store_that_are_late_are_named() -> None:
    now, limit = datetime.now(UTC), timedelta(hours=3)
    copies = (
        StoredCopy("copies of master1", now - timedelta(hours=5, minutes=2), limit),
        StoredCopy("copies of master2", now - timedelta(minutes=41), limit),
        StoredCopy("copies of master3", None, limit, now - timedelta(hours=4)),
        StoredCopy("copies of master4", None, limit, now - timedelta(minutes=4)),
    )
    made = tuple(LivingBackup("etcd", "timer", now, timedelta(hours=2), copy=each) for each in copies)
    text = shown(living(PLAN, backups=LivingBackups((*made, LivingBackup("mysqld", "CronJob", now, limit)))))
    assert "Last copies to the object store: etcd 41 min ago.\n" in text
    of = "the last one to the object store is 5 h 02 min old"
    assert f"etcd, copies of master1: {of}; the schedule allows 3 h 00 min\n" in text
    assert "etcd, copies of master3: there is none; the schedule allows 3 h 00 min\n" in text
    assert not [name for name in ("master2", "master4") if f"copies of {name}" in text]
    document = status_text.document(living(PLAN, backups=LivingBackups(made)), ())
    assert [each["copied"]["late"] for each in document["backups"]] == [True, False, True, False]
    assert "Last copies" not in shown(living(PLAN, backups=LivingBackups((LivingBackup("mysqld", "x", now, limit),))))


def test_copies_that_nobody_has_restored_are_named() -> None:
    now, limit = datetime.now(UTC), timedelta(days=31)
    made = (
        CopyTest("galera/mysqld/x", now - timedelta(days=3, minutes=1), limit, of="mysqld"),
        CopyTest("galera/own/x", now - timedelta(days=40, minutes=1), limit, of="own"),
        CopyTest("etcd/master1/x", now - timedelta(minutes=1), limit, problem="the test of y failed", of="etcd"),
        CopyTest("", None, limit, of="neutron-mysqld"),
    )
    cloud = living(PLAN, backups=LivingBackups(copy_tests=made))
    text = shown(cloud)
    assert "Last copies restored and compared: mysqld 3 d 0 h ago, own 40 d 0 h ago, etcd 1 min ago.\n" in text
    of = "copies in the object store"
    own = "the last one was restored 40 d 0 h ago; `quorate copies --test galera/own` restores the newest"
    assert f"own, {of}: {own}\n" in text
    assert f"etcd, {of}: the last one was restored 1 min ago; the test of y failed\n" in text
    assert f"neutron-mysqld, {of}: none was restored yet; `quorate copies --test galera/neutron-mysqld`" in text
    assert f"mysqld, {of}: the last" not in text.replace("neutron-mysqld", "")
    assert status_text.exit_code(cloud) == status_text.exit_code(living(PLAN))
    document = status_text.document(cloud, ())["restored_copies"]
    assert [(each["of"], each["late"]) for each in document] == [
        ("mysqld", False),
        ("own", True),
        ("etcd", True),
        ("neutron-mysqld", True),
    ]
    json.dumps(document)


def test_disks_that_fill_and_clocks_that_differ_are_named() -> None:
    clocks = {f"n{number}": Clock(-10.5, -9.5) for number in range(4)} | {"cmp1": Clock(84.5, 85.5)}
    full = (FullDisk("cmp2", "kubelet's disk", 91),)
    stats = LivingNodes(5, full, ("cmp3",), clocks, {"cmp4": "timed out", "cmp5": "timed out"})
    cloud = living(PLAN, stats=stats)
    text = shown(cloud)
    assert "5 nodes were asked for their disks and clocks.\n" in text
    assert "- kubelet's disk on cmp2 is 91 % full\n" in text
    assert "- cmp3 has too little space: its kubelet evicts pods\n" in text
    assert "- the clock of cmp1 is 1 min 35 s ahead of those of most nodes\n" in text
    assert "- the clock of this host is 10 s ahead of those of most nodes\n" in text
    assert "- 2 nodes were not asked for disks and clocks, such as cmp4: timed out\n" in text
    assert status_text.exit_code(cloud) == 0
    document = json.loads(json.dumps(status_text.document(cloud, ())))
    assert document["nodes"]["full"] == [{"node": "cmp2", "disk": "kubelet's disk", "used": 91}]
    assert document["nodes"]["clocks"] == {"cmp1": 95.0}


def test_a_thousand_full_disks_are_not_a_thousand_lines() -> None:
    full = tuple(FullDisk(f"cmp{number}", "kubelet's disk", 90) for number in range(1000))
    text = shown(living(PLAN, stats=LivingNodes(1000, full)))
    assert text.count(" % full") == beside_quorums.SHOWN
    assert f"and {1000 - beside_quorums.SHOWN} more, which --json names" in text


def test_versions_that_differ() -> None:
    first, *others = WHOLE.quorums
    members = tuple(replace(each, version=f"3.6.{number}") for number, each in enumerate(first.members))
    cloud = replace(WHOLE, quorums=(replace(first, members=members), *others))
    assert "its members have different versions: 3.6.0, 3.6.1, 3.6.2" in shown(cloud)
    assert status_text.exit_code(cloud) == 3


def test_json_is_complete() -> None:
    document = json.loads(json.dumps(status_text.document(WHOLE, leaves(WHOLE))))
    assert document["version"] == 1
    quorum = document["quorums"][0]
    assert (quorum["name"], quorum["standing"], quorum["needed"], len(quorum["members"])) == ("etcd", "whole", 2, 3)
    assert quorum["members"][0]["node"] == "master1"
    assert set(document["order"]) == {each["server"] for each in document["servers"]}
    assert all(each["may_go"] for each in document["servers"])
