"""What a stack leaves behind for its next deployment, and that its virt hosts cannot be deleted by a slip."""

from __future__ import annotations

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components.previous import standing
from tests.stacks import STACKS, full_size, parsed


def test_members_with_their_nodes_and_physical_hosts() -> None:
    found = standing(plan(load_file(STACKS["dev"])))
    assert found["quorums"]["etcd"] == {
        "members": 3,
        "nodes": {"master1": "virt1", "master2": "virt2", "master3": "virt3"},
    }
    assert found["quorums"]["rabbitmq"]["nodes"] == {f"messaging{n}": f"virt{n}" for n in (1, 2, 3)}
    assert found["storage"] == {f"storage{n}": f"virt{n}" for n in (1, 2, 3)}
    assert found["quorums"].keys() == {
        "etcd", "rabbitmq", "mysqld", "ceph-mon", "influxdb-grafana", "elasticsearch-kibana",
    }  # fmt: skip


def test_more_nodes_than_members() -> None:
    """Those that may carry one, not those that do: nobody knows before the scheduler."""
    logs = standing(plan(parsed(full_size("100", controllers=9))))["quorums"]["elasticsearch-kibana"]
    assert logs["members"] == 3
    assert logs["nodes"].keys() == {"ctl04", "ctl05", "ctl06", "ctl07", "ctl08", "ctl09"}
