"""The record of a stack for its next deployment, and the protection of its virt hosts from deletion."""

from __future__ import annotations

from typing import Any

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components.previous import quorum_state
from openstack.planned_versions import planned_versions
from tests.stacks import STACKS, full_size, parsed


def servers(nodes: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: each["server"] for name, each in nodes.items()}


def test_members_with_their_nodes_and_physical_hosts() -> None:
    found = quorum_state(plan(load_file(STACKS["dev"])))
    assert found["quorums"]["etcd"]["members"] == 3
    assert found["quorums"]["etcd"]["nodes"]["master1"] == {
        "server": "virt1",
        "address": "10.20.0.21",
        "pool": "master",
        "data": ["vda pool=quorate volume=master1.qcow2"],
    }
    assert servers(found["quorums"]["etcd"]["nodes"]) == {f"master{n}": f"virt{n}" for n in (1, 2, 3)}
    assert servers(found["quorums"]["rabbitmq"]["nodes"]) == {f"messaging{n}": f"virt{n}" for n in (1, 2, 3)}
    assert found["quorums"]["rabbitmq"]["nodes"]["messaging1"]["data"][-1] == "/var/lib/quorate/openstack/rabbitmq"
    assert servers(found["storage"]) == {f"storage{n}": f"virt{n}" for n in (1, 2, 3)}
    assert found["quorums"].keys() == {
        "etcd", "rabbitmq", "mysqld", "ceph-mon", "elasticsearch-kibana",
    }  # fmt: skip


def test_versions() -> None:
    found = planned_versions(plan(load_file(STACKS["dev"])))
    tag = "2026.1-debian-trixie"
    kolla = {"database mysqld": tag, "broker rabbitmq": tag}
    assert found == {"OpenStack": "2026.1", "Kubernetes": "1.37.2", **kolla, "Ceph ceph-mon": "v20.2.5"}


def test_more_nodes_than_members() -> None:
    """Those that may carry one, not those that do: the scheduler decides later."""
    logs = quorum_state(plan(parsed(full_size("100", controllers=9))))["quorums"]["elasticsearch-kibana"]
    assert logs["members"] == 3
    assert logs["nodes"].keys() == {"ctl04", "ctl05", "ctl06", "ctl07", "ctl08", "ctl09"}
