"""`quorate maintenance`: out and back, killed after every change, two people, and every refusal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from blueprint.plan.planner import plan
from cluster import objects
from cluster.api import Api
from cluster.objects import Object
from commands import stack
from commands.live import maintenance_command
from commands.live.maintenance_request import MaintenanceRequest
from console.errors import UserError
from contract import MAINTENANCE, OPERATION
from operations import operation_lease
from operations.living.answers import Answer
from operations.maintenance import measured, network_services
from operations.maintenance.failure_domains import MaintenanceDomain
from operations.maintenance.out_and_back import Maintenance, Stalled
from tests.operations.maintenance.small_cloud import SmallCloud, instance, make_live
from tests.stacks import ROOT, full_size, parsed

LOAD = stack.load
HOLD = "--hold is for a run that takes one server or machine out."


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> SmallCloud:
    made = SmallCloud()
    reach(monkeypatch, made)
    return made


def reach(monkeypatch: pytest.MonkeyPatch, cloud: SmallCloud) -> None:
    """Makes the stack "dev" live, with this cloud as its cluster."""
    make_live(monkeypatch, cloud, replace(LOAD(ROOT, "dev"), settings=cloud.plan.settings))


def do(name: str = "", **values: Any) -> int:
    return maintenance_command.run(ROOT, "dev", MaintenanceRequest(name, **values))


def killed_after(cloud: SmallCloud, changes: int, name: str, **values: Any) -> bool:
    return cloud.is_killed(changes, lambda: do(name, **values))


def test_a_run_goes_on_after_it_has_seen_that_another_was_killed(
    cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(operation_lease, "whoami", lambda: "ada@desk")
    cloud.keeps_holder = True
    assert killed_after(cloud, 5, "virt1")
    monkeypatch.setattr(operation_lease, "STALE", 0.2)
    assert "holderIdentity" in cloud.leases[operation_lease.NAME]["spec"]
    monkeypatch.setattr(operation_lease, "whoami", lambda: "bob@sofa")
    assert do("virt1") == 0
    said = capsys.readouterr().out
    assert "A run of ada@desk has not ended; waiting 0 s for a sign of it" in said
    assert "It gave none: it was killed, and this run goes on in its place." in said
    assert "goes on with virt1: ada@desk began it at" in said


def test_a_server_goes_out_in_order_and_comes_back(cloud: SmallCloud) -> None:
    before = cloud.state()
    assert do("virt1") == 0
    closed = {name for name, node in cloud.nodes.items() if node["spec"].get("unschedulable")}
    assert closed == {"virt1", "master1", "messaging1", "database1", "storage1"}
    assert (cloud.services["virt1"]["status"], cloud.noout) == ("disabled", {"storage1"})
    left = {each["spec"].get("nodeName") for name, each in cloud.pods.items() if not name.startswith("agent-")}
    assert not left & closed
    steps = [change.split(":")[0] for change in cloud.changes if not change.startswith("evict")]
    assert next(step for step in steps if step != "write the Lease") == "disable virt1"
    assert steps.index("osd set-group noout storage1") < steps.index("node database1")
    out = len(cloud.changes)
    assert do("virt1", end=True) == 0
    back = [change.split(":")[0] for change in cloud.changes[out:] if change != "write the Lease"]
    assert back[-4:] == ["osd unset-group noout storage1", "node storage1", "enable virt1", "delete the Lease"]
    assert set(back[:-4]) == {f"node {name}" for name in closed}
    gone = {name for name in json.loads(before)[1] if name.startswith("api-") and name not in cloud.pods}
    assert {each.removeprefix("api-") for each in gone} == closed, "its replicas run elsewhere"
    for name in gone:
        cloud.add(name, "keystone", name.removeprefix("api-"), "ReplicaSet")
    assert json.loads(cloud.state())[1:] == json.loads(before)[1:]
    assert all(
        not node["metadata"]["annotations"] for node in cloud.nodes.values() if "annotations" in node["metadata"]
    )
    assert not any(node["spec"].get("unschedulable") for node in cloud.nodes.values())


def test_a_run_that_is_killed_after_any_change_goes_on(cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    do("virt1")
    whole, changes = cloud.state(), len(cloud.changes)
    assert changes > 15
    for after in range(1, changes + 1):
        again = SmallCloud()
        reach(monkeypatch, again)
        killed = killed_after(again, after, "virt1")
        assert killed or after == changes
        assert do("virt1") == 0
        assert again.state() == whole, f"killed after {again.changes[:after]}"


def test_an_end_that_is_killed_after_any_change_goes_on(cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    do("virt1")
    out = len(cloud.changes)
    do("virt1", end=True)
    whole, changes = cloud.state(), len(cloud.changes) - out
    for after in range(1, changes + 1):
        again = SmallCloud()
        reach(monkeypatch, again)
        do("virt1")
        killed_after(again, after, "virt1", end=True)
        assert do("virt1", end=True) == 0
        assert again.state() == whole, f"killed after {again.changes[out : out + after]}"


def test_a_run_is_ended_from_any_step(cloud: SmallCloud) -> None:
    for after in range(1, 16, 4):
        assert killed_after(cloud, after, "virt1")
        assert do("virt1", abort=True) == 0
        assert not any(node["spec"].get("unschedulable") for node in cloud.nodes.values())
        assert (cloud.leases, cloud.noout) == ({}, set())
        assert {each["status"] for each in cloud.services.values()} == {"enabled"}


def test_what_an_operator_had_done_before_stays(cloud: SmallCloud) -> None:
    cloud.nodes["database1"]["spec"]["unschedulable"] = True
    cloud.noout.add("storage1")
    cloud.services["virt1"] |= {"status": "disabled", "disabled_reason": "slow disk"}
    do("virt1")
    with pytest.raises(UserError, match="node database1 was cordoned by somebody else: `kubectl uncordon database1`"):
        do("virt1", end=True)
    closed = [name for name, node in cloud.nodes.items() if node["spec"].get("unschedulable")]
    assert closed == ["database1"]
    cloud.ask("PATCH", "/api/v1/nodes/database1", {"spec": {"unschedulable": False}})
    assert do("virt1", end=True) == 0
    assert cloud.noout == {"storage1"}
    assert cloud.services["virt1"] == {"host": "virt1", "status": "disabled", "disabled_reason": "slow disk"}


def test_a_plan_changes_nothing_and_names_what_a_run_does(
    cloud: SmallCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.instances.append(instance("virt1"))
    before = cloud.state()
    assert do("virt1", plan=True) == 0
    planned = capsys.readouterr().out
    assert (cloud.state(), cloud.changes) == (before, [])
    assert "- web (i-1), ACTIVE, of project p-1: is moved while it runs" in planned
    assert f"tenants: 1 go on; a move took {measured.MIGRATION}" in planned
    assert "the run stops here" not in planned
    assert "mysqld-0 of mysqld" in planned
    assert "touches: 4 pods: ceph-mon, elasticsearch-kibana, keystone, mysqld" in planned
    assert "took: 7 to 9 minutes until everything was ready again [lab]" in planned
    assert "took: a minute until everything was ready again [lab]" in planned
    assert measured.SOURCE in planned.splitlines()
    assert "tenants: longest silence of an API: keystone 27 s" in planned
    cloud.instances.clear()
    do("virt1")
    done = [line for line in capsys.readouterr().out.splitlines() if line[:2].strip().isdigit()]
    assert len(done) > 8
    assert [line for line in done if line not in planned.splitlines()] == []
    do("virt1", end=True)
    back = [line for line in capsys.readouterr().out.splitlines() if line[:2].strip().isdigit()]
    assert len(back) == 5
    assert [line for line in back if line not in planned.splitlines()] == []


def test_a_plan_names_routers_and_networks(
    cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.add("l3", "neutron-l3-agent", "messaging1", "ReplicaSet")
    cloud.add("mysqld-0", "mysqld", "database1", "StatefulSet")
    asked: list[str] = []

    def in_pod(_api: Api, pod: Object | None, container: str, questions: Mapping[str, str]) -> Answer:
        asked.append(f"{objects.name(pod or {})} {container} {sorted(questions)}")
        return Answer({"neutron": "router\tr1\tmessaging1\t1\t61\nnetwork\tn1\tmessaging1\t1\t62\nend\n"})

    monkeypatch.setattr(network_services.asking, "in_pod", in_pod)
    assert do("messaging1", plan=True) == 0
    planned = said(capsys)
    assert "      tenants: router a (r1) has no other agent that is ready: it routes nothing until the end" in planned
    assert "      tenants: network b (n1) has no other DHCP agent that is ready" in planned
    assert do("messaging2", plan=True) == 0
    assert asked == ["mysqld-0 mariadb ['neutron']"], "messaging2 has none of these agents"
    assert "router" not in said(capsys)


def test_a_plan_says_that_a_server_may_not_go_and_who_operates(
    cloud: SmallCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    do("virt2")
    capsys.readouterr()
    assert do("virt1", plan=True) == 3
    said = capsys.readouterr().out
    assert "It may NOT go now:\n  - rabbitmq needs 2 of 3 members, 1 would be left; lost already: rabbitmq-1" in said
    assert f"Maintenance of virt2 is under way: {operation_lease.whoami()} began it at " in said


def test_a_member_is_down_elsewhere(cloud: SmallCloud) -> None:
    cloud.lost["mysqld-1"] = "Joining"
    before = cloud.state()
    with pytest.raises(UserError, match="virt1 may not go now:\n  - mysqld needs 2 of 3") as refused:
        do("virt1")
    assert "`quorate status` shows it, docs/on-call.md says what to do" in str(refused.value)
    assert str(refused.value).endswith("Nothing was changed.")
    assert cloud.state() == before
    with pytest.raises(UserError, match="mysqld needs 2 of 3"):
        do("database1")
    assert do("messaging1") == 0, "it has no member of mysqld"


def test_a_single_machine_goes_without_its_server(cloud: SmallCloud) -> None:
    do("messaging1")
    assert [name for name, node in cloud.nodes.items() if node["spec"].get("unschedulable")] == ["messaging1"]
    assert cloud.nodes["messaging1"]["metadata"]["annotations"] == {MAINTENANCE: "messaging1"}
    assert cloud.services["virt1"]["status"] == "enabled"


def test_instances_move_and_those_that_cannot_stop_it(cloud: SmallCloud, capsys: pytest.CaptureFixture[str]) -> None:
    cloud.instances += [instance("virt1"), instance("virt2", id="i-2"), instance("virt1", id="i-3", wish="forbidden")]
    cloud.instances.append(instance("virt1", id="i-4", status="SHUTOFF", runs=False))
    assert do("virt1", plan=True) == 0
    assert "the run stops here, when the others have moved: 1 instances are not moved" in said(capsys)
    with pytest.raises(UserError, match="1 instances run there") as refused:
        do("virt1")
    assert "web (i-3) of project p-1 on virt1, ACTIVE: its tenant forbids live migration" in str(refused.value)
    assert {each["id"]: each["host"] for each in cloud.instances} == {
        "i-1": "virt2", "i-2": "virt2", "i-3": "virt1", "i-4": "virt1"
    }  # fmt: skip
    assert cloud.services["virt1"]["status"] == "disabled", "no further one may start"
    assert not any(change.startswith(("evict", "node", "osd")) for change in cloud.changes)
    assert do("virt1", cold=True) == 0
    assert {each["host"] for each in cloud.instances} == {"virt2"}
    assert do("virt1", end=True) == 0
    assert {each["host"] for each in cloud.instances} == {"virt2"}, "the end moves none back"


def test_a_run_with_instances_that_is_killed_after_any_change_goes_on(
    cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    def filled() -> SmallCloud:
        made = SmallCloud()
        made.instances += [instance("virt1", id="i-1"), instance("virt1", id="i-2", status="SHUTOFF", runs=False)]
        reach(monkeypatch, made)
        return made

    cloud = filled()
    do("virt1", cold=True)
    whole, changes = cloud.state(), len(cloud.changes)
    assert [each for each in cloud.changes if each.endswith(("i-1", "i-2"))] == ["live i-1", "cold i-2", "confirm i-2"]
    for after in range(1, changes + 1):
        again = filled()
        killed_after(again, after, "virt1", cold=True)
        assert do("virt1", cold=True) == 0
        assert again.state() == whole, f"killed after {again.changes[:after]}"
        assert [again.changes.count(each) for each in ("live i-1", "cold i-2", "confirm i-2")] == [1, 1, 1]


def test_an_end_confirms_what_a_killed_run_has_moved_cold(cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = instance("virt1", status="SHUTOFF", runs=False)
    cloud.instances.append(stopped.copy())
    do("virt1", cold=True)
    again = SmallCloud()
    reach(monkeypatch, again)
    again.instances.append(stopped)
    assert killed_after(again, cloud.changes.index("confirm i-1"), "virt1", cold=True)
    assert "confirm i-1" not in again.changes
    assert do("virt1", end=True) == 0
    assert again.changes.count("confirm i-1") == 1
    assert [(each["host"], each["status"]) for each in again.instances] == [("virt2", "SHUTOFF")]


def test_a_run_is_held_after_a_step_and_goes_on(cloud: SmallCloud, capsys: pytest.CaptureFixture[str]) -> None:
    cloud.instances.append(instance("virt1"))
    assert do("virt1", hold="empty") == 0
    assert said(capsys).endswith("virt1 is held after step empty. Go on: quorate maintenance virt1 --stack dev\n")
    assert (cloud.instances[0]["host"], cloud.noout) == ("virt2", set())
    assert not any(change.startswith(("evict", "node", "osd")) for change in cloud.changes)
    assert cloud.changes.index("disable virt1") < cloud.changes.index("live i-1")
    assert do("virt1", hold="cordon") == 0
    assert cloud.nodes["storage1"]["spec"]["unschedulable"]
    assert not any(change.startswith("evict") for change in cloud.changes)
    assert do("virt1") == 0
    assert any(change.startswith("evict") for change in cloud.changes)
    assert do("virt1", end=True) == 0


def test_many_instances_are_counted(cloud: SmallCloud) -> None:
    cloud.instances += [instance("virt1", id=f"i-{each}", name=f"vm-{each}", wish="forbidden") for each in range(30)]
    with pytest.raises(UserError, match=r"30 instances run there[^$]*vm-19 [^$]*- and 10 more") as refused:
        do("virt1")
    assert "vm-20" not in str(refused.value)


def test_a_stalled_eviction_names_what_blocks_it(cloud: SmallCloud, capsys: pytest.CaptureFixture[str]) -> None:
    cloud.blocked.add("api-messaging1")
    cloud.pods["api-virt3"]["status"]["conditions"][0]["status"] = "False"
    pulls = {"name": "api", "image": "kolla/keystone", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    cloud.pods["api-virt3"]["status"]["containerStatuses"] = [pulls]
    with pytest.raises(UserError, match="1 pods have not left messaging1") as stalled:
        do("messaging1")
    reason = "api-messaging1: Cannot evict pod.; The disruption budget api-messaging1 needs 2 healthy pods"
    assert reason in str(stalled.value)
    waits = "api-virt3 on virt3 is not ready, and its budget waits for it: ImagePullBackOff of kolla/keystone"
    assert waits in str(stalled.value)
    printed = said(capsys)
    assert (printed.count(reason), printed.count(waits)) == (1, 1), "each reason is said once, while the run waits"
    cloud.blocked.clear()
    assert do("messaging1") == 0


def test_two_people(cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_lease, "whoami", lambda: "ada@desk")
    do("virt1")
    monkeypatch.setattr(operation_lease, "whoami", lambda: "bob@sofa")
    before = cloud.state()
    for values in ({}, {"end": True}):
        with pytest.raises(UserError, match=r"of virt1 is under way: ada@desk began it at 20\d\d-.* UTC\."):
            do("virt2", **values)
    with pytest.raises(UserError, match="`quorate maintenance virt1 --end --stack dev`"):
        do(pool="compute")
    assert cloud.state() == before
    assert do("virt1", end=True) == 0, "another person may end it"


def test_a_run_that_still_works_is_not_disturbed(cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_lease, "whoami", lambda: "ada@desk")
    api = cloud.cluster().api
    refusal = "ada@desk works on the maintenance of virt1 now; ada@desk began it at"
    with (
        operation_lease.held(api, operation_lease.CloudOperation("virt1"), "dev", print),
        pytest.raises(UserError, match=refusal),
    ):
        do("virt1")
    assert do("virt1") == 0, "it has let go"


def test_a_run_whose_lease_was_taken_stops(cloud: SmallCloud) -> None:
    with operation_lease.held(cloud.cluster().api, operation_lease.CloudOperation("virt1"), "dev", print) as lease:
        cloud.leases[operation_lease.NAME]["metadata"]["resourceVersion"] = "another's"
        lease.renew()
        with pytest.raises(UserError, match=r"was changed or deleted by another process\. This run has stopped"):
            lease.change(out=("virt1",))


def test_a_lease_of_something_else_is_respected(cloud: SmallCloud) -> None:
    do("virt1")
    cloud.leases[operation_lease.NAME]["metadata"]["annotations"][OPERATION] = "no JSON"
    with pytest.raises(UserError, match="Maintenance of something unknown is under way: somebody unknown began it"):
        do("virt1")


def test_an_end_waits_for_every_member(cloud: SmallCloud) -> None:
    do("virt1")
    cloud.lost["mysqld-0"] = "Joining"
    with pytest.raises(UserError, match=r"virt1 is not whole after 0.1 s:\n  - mysqld-0 of mysqld: Joining") as waits:
        do("virt1", end=True)
    assert "run --end again" in str(waits.value)
    assert cloud.services["virt1"]["status"] == "disabled", "not before it is whole"
    cloud.lost.clear()
    assert do("virt1", end=True) == 0


def test_an_end_waits_for_the_machine_before_it_opens_the_node(cloud: SmallCloud) -> None:
    do("messaging1")
    cloud.nodes["messaging1"]["status"]["conditions"][0]["status"] = "False"
    with pytest.raises(UserError, match="node messaging1 is not Ready"):
        do("messaging1", end=True)
    assert cloud.nodes["messaging1"]["spec"]["unschedulable"]


def test_an_end_without_a_maintenance(cloud: SmallCloud, capsys: pytest.CaptureFixture[str]) -> None:
    assert do("virt1", end=True) == 0
    assert do(pool="compute", end=True) == 0
    said = capsys.readouterr().out
    assert said == (
        "virt1 is not in maintenance. Nothing was changed.\nPool compute is not in maintenance. Nothing was changed.\n"
    )
    assert cloud.changes == []


def test_marks_without_a_lease_are_ended(cloud: SmallCloud) -> None:
    do("virt1")
    cloud.leases.clear()
    assert do("virt1", end=True) == 0
    assert not any(node["spec"].get("unschedulable") for node in cloud.nodes.values())


def test_a_rendered_stack_has_no_cluster() -> None:
    with pytest.raises(UserError, match="dev has the target render: it has no cluster"):
        do("virt1")


def test_an_api_without_a_ready_pod_is_named(cloud: SmallCloud) -> None:
    del cloud.pods["nova-api-0"]
    with pytest.raises(UserError, match="nova-api was not asked: none of its pods is ready"):
        do("virt1")


def test_a_pool_goes_out_in_batches(cloud: SmallCloud, capsys: pytest.CaptureFixture[str]) -> None:
    """The computes are three servers, each with a member of every quorum: one at a time, whatever the batch."""
    for server in ("virt1", "virt2", "virt3"):
        assert do(pool="compute", batch="100%") == 0
        assert f"Out now, and may be stopped: {server}. Then: quorate maintenance --pool compute --end" in said(capsys)
        assert do(pool="compute", end=True) == 0
    assert "Maintenance of pool compute has ended: 3 were out and are back." in said(capsys)
    assert cloud.leases == {}
    assert {each["status"] for each in cloud.services.values()} == {"enabled"}


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


@pytest.fixture
def computes(cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch) -> SmallCloud:
    """The small cloud whose computes have no machines, and ten of them."""
    made = SmallCloud(plan(parsed(full_size("100", computes=10))))
    reach(monkeypatch, made)
    assert cloud
    return made


def disabled(cloud: SmallCloud) -> list[str]:
    return [name for name, each in cloud.services.items() if each["status"] == "disabled"]


def test_batches_of_computes(computes: SmallCloud, capsys: pytest.CaptureFixture[str]) -> None:
    names = list(computes.services)
    assert len(names) == 10
    assert do(pool="compute", batch="40%") == 0
    assert disabled(computes) == names[:4]
    assert do(pool="compute", batch="40%") == 0
    assert disabled(computes) == names[:4], "the batch is out"
    assert do(pool="compute", end=True) == 0
    assert "6 of pool compute are left. The next batch:" in said(capsys)
    assert disabled(computes) == []
    assert do(pool="compute", batch="40%") == 0
    assert disabled(computes) == names[4:8]
    assert do(pool="compute", abort=True) == 0
    assert "Maintenance of pool compute has ended: 8 were out and are back." in said(capsys)
    assert (disabled(computes), computes.leases) == ([], {})


def test_an_instance_moves_to_no_compute_of_the_same_batch(computes: SmallCloud) -> None:
    names = list(computes.services)
    computes.instances += [instance(name, id=f"i-{name}") for name in names[:3]]
    assert do(pool="compute", batch="3") == 0
    moves = [change for change in computes.changes if change.startswith("live")]
    assert moves == [f"live i-{name}" for name in names[:3]], "each moves once"


def test_the_quorums_are_asked_once_before_a_batch_of_one(
    computes: SmallCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    ask = Maintenance.require_leave

    def require_leave(self: Maintenance, domain: MaintenanceDomain, *others: Any, patience: float = 0) -> None:
        asked.append(domain.name)
        ask(self, domain, *others, patience=patience)

    monkeypatch.setattr(Maintenance, "require_leave", require_leave)
    assert do(pool="compute") == 0
    assert asked == list(computes.services)[:1]


def test_a_compute_that_may_not_go_after_the_first_has_gone_stays_for_a_later_batch(
    computes: SmallCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = list(computes.services)
    asked = Maintenance.require_leave

    def require_leave(self: Maintenance, domain: MaintenanceDomain, *others: Any, patience: float = 0) -> None:
        if domain.name == names[1] and patience:
            raise Stalled("etcd needs 2 of 3 members")
        asked(self, domain, *others, patience=patience)

    monkeypatch.setattr(Maintenance, "require_leave", require_leave)
    assert do(pool="compute", batch="2") == 0
    assert disabled(computes) == [names[0], names[2]]
    assert f"{names[1]} stays for a later batch: etcd needs 2 of 3 members" in said(capsys)


def test_a_pool_is_killed_and_goes_on(computes: SmallCloud) -> None:
    names = list(computes.services)
    for after in (1, 2, 5, 7):
        killed_after(computes, after, "", pool="compute", batch="3")
    assert do(pool="compute", batch="3") == 0
    assert disabled(computes) == names[:3]
    for after in (1, 3):
        killed_after(computes, after, "", pool="compute", end=True)
    assert do(pool="compute", batch="3", end=True) == 0
    assert disabled(computes) == []
    assert operation_lease.current(computes.cluster().api).done == tuple(reversed(names[:3]))  # type: ignore[union-attr]


def test_a_compute_that_fails_is_brought_back_and_the_others_go_on(
    computes: SmallCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    names = list(computes.services)
    computes.instances.append(instance(names[1], wish="forbidden"))
    assert do(pool="compute", batch="3", max_failed=1) == 1
    assert disabled(computes) == [names[0], *names[2:4]]
    assert f"FAILED {names[1]}: 1 instances run there" in said(capsys)
    computes.instances.append(instance(names[5], wish="forbidden"))
    do(pool="compute", end=True)
    with pytest.raises(UserError, match="Stopped: 2 of pool compute have failed, and --max-failed admits 1") as stopped:
        do(pool="compute", batch="3", max_failed=1)
    assert f"disabled: {names[4]}, {names[6]}. End with --abort" in str(stopped.value)
    assert disabled(computes) == [names[4], names[6]]
    assert do(pool="compute", batch="3", max_failed=2) == 1
    assert disabled(computes) == [names[4], *names[6:8]]


def test_a_plan_of_a_pool(computes: SmallCloud, capsys: pytest.CaptureFixture[str]) -> None:
    assert do(pool="compute", batch="40%", max_failed=2, plan=True) == 0
    planned = said(capsys)
    assert planned.startswith("Pool compute: 10 in 3 batches of at most 4; a run stops when more than 2 have failed.")
    assert planned.count("Nothing is changed by this plan.") == 4
    assert computes.changes == []


def test_members_that_no_eviction_stops_are_counted_together(
    cloud: SmallCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    """etcd's members run on after a drain, until the machines are stopped, which may be at the same time."""
    assert do(pool="master", batch="100%") == 0
    closed = [name for name, node in cloud.nodes.items() if node["spec"].get("unschedulable")]
    assert closed == ["master1"]
    printed = said(capsys)
    assert "master2 stays for a later batch: master2 may not go now:\n  - etcd needs 2 of 3 members" in printed
