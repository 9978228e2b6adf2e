"""Which server may go: each reason against it, the order, and that asking for a thousand is linear."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from operations.living import leaving
from operations.living.agents import LivingAgents
from operations.living.ceph import Pool, Storage
from operations.living.cloud import LivingCloud
from operations.living.leaving import Leave, in_order, leave_together, leaves
from operations.living.quorum import LivingMember
from tests.operations.living.living_cloud import budget, living, pod
from tests.stacks import STACKS, full_size, parsed

PLAN = plan(parsed(full_size("100")))
NODE_OF = dict(living(PLAN).places)
SERVER_OF = {node.name: node.server for node in PLAN.machines}


def server_of(quorum: str, member: str) -> str:
    return SERVER_OF[NODE_OF[quorum, member]]


def asked(cloud: LivingCloud, server: str) -> Leave:
    return next(each for each in leaves(cloud) if each.server == server)


def without_quorum(name: str, **changes: Any) -> LivingCloud:
    cloud = living(PLAN)
    return replace(
        cloud, quorums=tuple(replace(each, **changes) if each.name == name else each for each in cloud.quorums)
    )


def test_every_server_of_a_whole_cloud_may_go() -> None:
    found = leaves(living(PLAN))
    assert {each.server for each in found} == set(SERVER_OF.values())
    assert [each for each in found if not each.may_go] == []
    assert len(in_order(found)) == len(found)


def test_members_are_on_their_physical_server() -> None:
    found = {pair for each in leaves(living(PLAN)) for pair in each.members}
    assert found == set(NODE_OF)


def test_a_server_with_the_second_member_may_not_go() -> None:
    cloud = living(PLAN, {"mysqld-1": "Joining"})
    for member in ("mysqld-0", "mysqld-2"):
        reasons = asked(cloud, server_of("mysqld", member)).reasons
        assert "mysqld needs 2 of 3 members, 1 would be left; lost already: mysqld-1" in reasons
    assert not any("mysqld" in reason for reason in asked(cloud, server_of("mysqld", "mysqld-1")).reasons)


def test_a_server_without_members_may_go_whatever_the_quorums_are() -> None:
    cloud = living(PLAN, {"mysqld-0": "", "mysqld-1": "", "rabbitmq-2": ""})
    carrying = {SERVER_OF[node] for node in NODE_OF.values()}
    assert all(each.may_go for each in leaves(cloud) if each.server not in carrying)


def test_the_server_of_a_lost_member_goes_first() -> None:
    cloud = living(PLAN, {"mysqld-1": "Joining"})
    server = server_of("mysqld", "mysqld-1")
    order = [each.server for each in in_order(leaves(cloud))]
    if asked(cloud, server).may_go:
        assert order[0] == server


def test_a_leader_goes_last_and_costs_an_election() -> None:
    cloud = without_quorum("etcd")
    etcd = cloud.quorums[0]
    first, *others = etcd.members
    cloud = replace(cloud, quorums=(replace(etcd, members=(replace(first, leads=True), *others)), *cloud.quorums[1:]))
    order = in_order(leaves(cloud))
    assert order[-1].server == server_of("etcd", first.name)
    assert "etcd elects another leader" in order[-1].effects


def test_a_quorum_that_was_not_asked_keeps_its_servers() -> None:
    cloud = without_quorum("rabbitmq", serves=None)
    reasons = asked(cloud, server_of("rabbitmq", "rabbitmq-0")).reasons
    assert "rabbitmq could not be asked: runs" in reasons


def test_a_member_stays_without_which_queues_would_stop() -> None:
    """A member that replaced another one has no replica of theirs yet."""
    said = "31 replicated queues would lose their majority without rabbitmq-0"
    cloud = without_quorum("rabbitmq", critical={"rabbitmq-0": said})
    assert asked(cloud, server_of("rabbitmq", "rabbitmq-0")).reasons == (f"rabbitmq: {said}",)
    for member in ("rabbitmq-1", "rabbitmq-2"):
        assert asked(cloud, server_of("rabbitmq", member)).may_go


def test_nothing_may_go_if_the_cluster_does_not_answer() -> None:
    cloud = replace(living(PLAN), problems=("no API server",), places={})
    assert {each.reasons for each in leaves(cloud)} == {("no API server",)}


def test_a_learner_is_not_counted() -> None:
    cloud = without_quorum("etcd")
    etcd = cloud.quorums[0]
    learner = replace(etcd.members[0], votes=False)
    cloud = replace(cloud, quorums=(replace(etcd, members=(learner, *etcd.members[1:])), *cloud.quorums[1:]))
    assert not any("etcd" in each for each in asked(cloud, server_of("etcd", learner.name)).reasons)
    assert any("etcd needs 2 of 2" in each for each in asked(cloud, server_of("etcd", etcd.members[1].name)).reasons)


def test_the_last_master_that_is_ready() -> None:
    first = PLAN.masters[0]
    cloud = living(PLAN, nodes=[each for each in living(PLAN).nodes if each["metadata"]["name"] == first.name])
    assert "no other master is Ready: there would be no API server" in asked(cloud, first.server).reasons


def test_a_budget_that_admits_no_eviction() -> None:
    node = PLAN.nodes[-1]
    pods = [pod("keystone-0", "keystone", node.name)]
    blocked = living(PLAN, pods=pods, budgets=[budget("keystone", 0)])
    assert "budget keystone admits no eviction now, and 1 of its pods run here" in asked(blocked, node.server).reasons
    assert asked(living(PLAN, pods=pods, budgets=[budget("keystone", 1)]), node.server).may_go


def test_the_pod_that_a_budget_waits_for() -> None:
    node, other = PLAN.nodes[-1], PLAN.nodes[-2]
    waiting = pod("keystone-1", "keystone", other.name, ready=False)
    waiting["status"]["containerStatuses"] = [
        {"state": {"waiting": {"reason": "ErrImagePull"}}, "image": "kolla/keystone"}
    ]
    ended = pod("keystone-job", "keystone", other.name, ready=False)
    ended["status"]["phase"] = "Succeeded"
    pods = [pod("keystone-0", "keystone", node.name), waiting, ended]
    (reason,) = asked(living(PLAN, pods=pods, budgets=[budget("keystone", 0)]), node.server).reasons
    assert reason.endswith(f"run here; it waits for keystone-1 on {other.name}: ErrImagePull of kolla/keystone")


def storage(node: str, **changes: Any) -> Storage:
    return replace(Storage({node: 2}, (Pool("volumes", 3, 2),), 0), **changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"unclean": 3}, "3 placement groups have not all of them where they belong"),
        ({"pools": (Pool("volumes", 2, 2),)}, "pool volumes would have 1 copies, and serves with 2"),
    ],
)
def test_osds(changes: dict[str, Any], reason: str) -> None:
    node = PLAN.nodes[-1]
    found = asked(living(PLAN, storage=storage(node.name, **changes)), node.server)
    assert found.may_go == (not reason)
    assert reason in "".join(found.reasons)


def test_osds_that_nobody_knows_of_keep_their_server() -> None:
    node = PLAN.nodes[-1]
    cloud = living(PLAN, pods=[pod("ceph-osd-x", "ceph-osd", node.name)])
    assert asked(cloud, node.server).reasons == ("Ceph could not be asked about its OSDs",)


def test_instances_are_told_and_keep_nothing() -> None:
    node = PLAN.nodes[-1]
    found = asked(living(PLAN, agents=LivingAgents(instances={node.name: 7})), node.server)
    assert found.may_go
    assert found.effects == ("7 instances must be moved first",)


@given(st.sets(st.sampled_from(sorted(NODE_OF)), max_size=6), st.data())
def test_a_server_that_may_go_takes_no_majority(lost: set[tuple[str, str]], data: st.DataObject) -> None:
    """Whatever is lost, a quorum that has its majority keeps it when a server goes that may."""
    cloud = living(PLAN, {member: "lost" for _, member in lost})
    going = in_order(leaves(cloud))
    if not going:
        return
    gone = data.draw(st.sampled_from([each.server for each in going]))
    for quorum in cloud.quorums:
        left = sum(member.counts and server_of(quorum.name, member.name) != gone for member in quorum.members)
        assert left >= quorum.needed or quorum.counting == left


@given(st.sets(st.sampled_from(sorted(NODE_OF)), max_size=6), st.sampled_from(sorted(NODE_OF)))
def test_one_more_loss_admits_no_server_of_another_member(lost: set[tuple[str, str]], more: tuple[str, str]) -> None:
    before = living(PLAN, {member: "lost" for _, member in lost})
    after = living(PLAN, {member: "lost" for _, member in {*lost, more}})
    own = server_of(*more)
    admitted = {each.server for each in leaves(after) if each.may_go} - {
        each.server for each in leaves(before) if each.may_go
    }
    assert admitted <= {own}


def test_the_work_for_a_server_does_not_grow_with_the_cloud() -> None:
    def calls(computes: int) -> float:
        made = plan(parsed(full_size("100", computes=computes)))
        pods = [pod(f"agent-{node.name}", "agent", node.name) for node in made.nodes]
        cloud = living(made, pods=pods, budgets=[budget(f"service-{number}", 1) for number in range(60)])
        counted: Counter[str] = Counter()

        def count(_frame: FrameType, event: str, _argument: object) -> None:
            counted[event] += event == "call"

        sys.setprofile(count)
        try:
            leaving.leaves(cloud)
        finally:
            sys.setprofile(None)
        return counted["call"] / computes

    assert calls(240) < 1.2 * calls(60)


def test_a_member_whose_place_is_not_known_keeps_the_others() -> None:
    cloud = living(PLAN)
    places = {pair: node for pair, node in cloud.places.items() if pair != ("mysqld", "mysqld-1")}
    found = asked(replace(cloud, places=places), server_of("mysqld", "mysqld-0"))
    assert "it is not known where mysqld-1 of mysqld runs" in found.reasons
    assert (
        LivingMember("mysqld-1", counts=True, says="runs")
        in next(q for q in cloud.quorums if q.name == "mysqld").members
    )


def test_machines_that_go_together_are_counted_together() -> None:
    first, second, third = (NODE_OF["etcd", node.name] for node in PLAN.members)
    assert leave_together(living(PLAN), first, [first]).may_go
    together = leave_together(living(PLAN), "two masters", [first, second])
    assert "etcd needs 2 of 3 members, 1 would be left" in together.reasons
    assert (together.server, together.nodes) == ("two masters", (first, second))
    assert (
        "no other master is Ready: there would be no API server"
        in leave_together(living(PLAN), "all masters", [first, second, third]).reasons
    )


def test_a_machine_goes_without_the_others_of_its_server() -> None:
    """A virt host with a member of a quorum that has lost another may not go; its machine without one may."""
    lab = plan(load_file(STACKS["dev"]))
    cloud = living(lab)
    lost = next(member for (quorum, member), node in cloud.places.items() if quorum == "mysqld" and node != "database1")
    cloud = living(lab, {lost: "lost"})
    assert not asked(cloud, "virt1").may_go
    assert not leave_together(cloud, "database1", ["database1"]).may_go
    assert leave_together(cloud, "messaging1", ["messaging1"]).may_go
