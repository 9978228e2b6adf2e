"""Small labs: a cloud on two servers (seeds 000 and 001), or on one machine with all roles (004, 5.5.3)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

import contract
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from tests.recording import Recorded, record
from tests.stacks import STACKS, full_size, parsed, server

ONE = plan(load_file(STACKS["one-server"]))
TWO = plan(load_file(STACKS["two-servers"]))
ALL_ROLES = "master-controller-compute-storage"


def lab(*controllers: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A lab with these servers beside three masters, a storage node and a compute."""
    others = [
        server("master[1-3]", ["master"], "10.20.0.11"),
        server("stor1", ["storage"], "10.20.1.1"),
        server("cmp1", ["compute"], "10.20.4.1"),
    ]
    return {"profile": "lab", "architecture": "100", "servers": [*others, *controllers], **more}


def controllers(count: int, **more: Any) -> dict[str, Any]:
    return server(f"ctl[1-{count}]", ["controller"], "10.20.0.31", **more)


def instances(made: Plan) -> dict[str, int]:
    return {each.name: each.instances for each in made.processes}


def build(made: Plan) -> list[Recorded]:
    def cloud() -> None:
        Cloud("cloud", CloudArgs(made, "test", Render("test"), None))

    return record(cloud)


def problems(config: dict[str, Any]) -> str:
    with pytest.raises(InvalidStackError) as caught:
        plan(parsed(config))
    return "\n".join(map(str, caught.value.problems))


def test_one_machine_carries_everything_once() -> None:
    assert [(node.name, node.pool, node.dedicated_to) for node in ONE.nodes] == [("one1", ALL_ROLES, None)]
    assert set(instances(ONE).values()) == {1}
    assert {each.pools for each in ONE.processes} == {(ALL_ROLES,)}
    assert {each.service for each in ONE.assignment} == instances(ONE).keys()


def test_masters_are_found_by_role_and_one_with_other_roles_takes_pods() -> None:
    (node,) = ONE.nodes
    assert ONE.masters == (node,)
    assert node.taints == ()
    assert node.labels[contract.COMPUTE_NODE] == node.labels[contract.CONTROL_PLANE_NODE] == "enabled"
    assert [node.name for node in TWO.masters] == ["master1"]
    assert TWO.masters[0].taints == (f"{contract.CONTROL_PLANE_TAINT}=:NoSchedule",)
    assert contract.CONTROL_PLANE_NODE not in TWO.masters[0].labels


def test_two_servers_carry_two_of_each_and_one_of_each_quorum() -> None:
    assert {node.name: node.pool for node in TWO.nodes} == {
        "virt1": "compute", "virt2": "compute", "master1": "master", "controller1": "controller",
        "controller2": "controller", "storage1": "storage", "storage2": "storage",
    }  # fmt: skip
    counts = instances(TWO)
    assert {counts[name] for name in ("rabbitmq", "mysqld", "ceph-mon", "elasticsearch-kibana", "nagios")} == {1}
    assert {counts[name] for name in ("keystone", "nova-api", "nova-compute", "ceph-osd", "grafana")} == {2}
    assert counts["proxysql"] == counts["mysqld"]
    pools = {each.name: each.pools for each in TWO.processes}
    assert set(pools["neutron-l2-agent"]) == {"compute", "controller"}
    assert pools["nova-compute"] == ("compute",)
    assert pools["ceph-osd"] == ("storage",)


@pytest.mark.parametrize(("hosts", "members"), [(1, 1), (2, 1), (3, 3), (5, 3)])
def test_a_quorum_has_an_odd_number_of_members_on_hosts_of_their_own(hosts: int, members: int) -> None:
    made = plan(parsed(lab(controllers(hosts))))
    assert instances(made)["mysqld"] == members
    where = [each.server for each in made.assignment if each.service == "mysqld"]
    assert len(set(where)) == members


def test_services_stay_apart_where_nodes_suffice() -> None:
    """Three of keystone and three of horizon need six; four nodes have to share."""
    config = lab(controllers(6), server("mix1", ["controller", "compute"], "10.20.5.1"))
    assert {each.name: each.apart_from for each in plan(parsed(config)).services}["keystone"] == ("horizon",)
    four = plan(parsed(lab(controllers(4))))
    assert {each.name: each.apart_from for each in four.services}["keystone"] == ()
    assert (
        "keystone and horizon share nodes: 4 nodes cannot keep them apart; add controllers, 6 in all" in four.warnings
    )


def test_a_lab_with_as_many_controllers_as_the_architecture_dedicates_has_dedicated_nodes() -> None:
    made = plan(parsed(lab(controllers(6))))
    assert {node.pool for node in made.nodes} >= {"rabbitmq", "mysqld"}
    assert not [warning for warning in made.warnings if warning.startswith("small stack")]


def test_warnings_say_what_a_loss_costs_and_how_to_grow() -> None:
    one, two = "\n".join(ONE.warnings), "\n".join(TWO.warnings)
    assert "add 5 controllers to have dedicated nodes" in one
    assert "add 4 controllers to have dedicated nodes" in two
    assert "one physical host, one1: its loss stops the cloud and takes all data" in one
    assert "physical host, " not in two
    assert "several roles on a machine: one1 (master, controller, compute, storage)" in one
    assert "rabbitmq, mysqld, ceph-mon, elasticsearch-kibana have one member each, no quorum" in two
    assert "add controllers on 1 more physical host" in two
    assert "add controllers on 2 more physical hosts" in one
    assert "the loss of a node leaves 1 of 2" in two


def test_an_even_number_of_masters_is_a_warning_in_a_lab() -> None:
    config = lab(controllers(2))
    config["servers"][0]["name"] = "master[1-2]"
    assert any("2 masters are 2 members of etcd: 2 is even" in each for each in plan(parsed(config)).warnings)
    config["servers"][0]["name"] = "master[1-9]"
    assert "9 members are too many" in problems(config)


def test_a_lab_still_refuses_what_cannot_work() -> None:
    assert "no machine has the role controller" in problems(lab())
    assert "has no pools to choose from" in problems(lab(controllers(2, pool="mysqld")))
    assert "needs 3 instances" in problems(lab(controllers(2), services={"glance-api": {"replicas": 3}}))
    assert "virt may be mixed with compute only" in problems(
        lab(server("v1", ["virt", "controller"], "10.20.9.1"), features=["reduced-footprint"])
    )


def test_production_refuses_both_and_says_that_a_lab_is_built() -> None:
    few = problems(full_size("100", controllers=2))
    assert "add 4 with role controller" in few
    assert "write quorate:profile: lab" in few
    mixed = full_size("100")
    mixed["servers"].append(server("one1", ["controller", "compute"], "10.20.9.1"))
    assert "write quorate:profile: lab" in problems(mixed)


@pytest.mark.parametrize("made", [ONE, TWO], ids=["one-server", "two-servers"])
def test_every_machine_is_built_once_and_the_masters_run_etcd(made: Plan) -> None:
    resources = build(made)
    built = [each.inputs["node"] for each in resources if each.type == contract.MACHINE]
    pools = [json.loads(each.inputs["nodes"]) for each in resources if each.type == contract.MACHINE_POOL]
    pooled = [node["node"] for pool in pools for node in pool]
    assert sorted([*built, *pooled]) == sorted(node.name for node in made.nodes)
    (etcd,) = [each.inputs for each in resources if each.type == contract.ETCD]
    assert [member["node"] for member in etcd["members"]] == [node.name for node in made.masters]
    (cloud,) = [each.inputs for each in resources if each.type == contract.CLOUD]
    assert cloud["computes"] == len(made.carrying("compute"))


def test_four_masters_on_the_way_to_three_need_the_rules_waiver() -> None:
    waiver = {"rule": "etcd-size", "resource": "cloud-masters-etcd", "reason": "master4 leaves", "owner": "a"}
    config = full_size("100", waivers=[waiver | {"expires": datetime.now(UTC).date().isoformat()}])
    config["servers"].append(server("master4", ["master"], "10.20.9.9"))
    assert any("4 is even" in each for each in plan(parsed(config)).warnings)
    config["servers"] = [each for each in config["servers"] if "master" not in each["roles"]]
    config["servers"] += [server(f"m{n}", ["master"], f"10.20.9.{n}") for n in (1, 2)]
    with pytest.raises(InvalidStackError):
        plan(parsed(config))
