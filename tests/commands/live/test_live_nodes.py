"""Tests of the comparison of a cluster's nodes with the plan: differences, kubectl lines, and the patches of `up`."""

from __future__ import annotations

import copy
from decimal import Decimal
from typing import Any

import pytest

from blueprint.plan.nodes import Node
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from cluster.objects import Object
from commands.live.live_nodes import Difference, NodeChange, differences, notes, patch
from contract import COMPUTE_NODE, CONTROL_PLANE_TAINT, DEDICATED, POOL, RACK, SERVER, ZONE
from formats.kubernetes_quantity import parse
from tests.stacks import STACKS

PLAN = plan(load_file(STACKS["dev"])).nodes
"""Virtual control-plane nodes on three servers, which are computes themselves."""
NAMES = {node.name: node for node in PLAN}


def item(node: Node) -> Object:
    """Returns a Kubernetes node as the plan describes it."""
    taints = [_taint(text) for text in node.taints]
    mark = {CONTROL_PLANE_TAINT: ""} if "master" in node.roles else {}
    return {
        "metadata": {"name": node.name, "labels": {**node.labels, **mark}, "resourceVersion": "7"},
        "spec": {"taints": taints},
        "status": {
            "allocatable": {"cpu": str(node.allocatable.cpu), "memory": f"{node.allocatable.memory}Gi"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _taint(text: str) -> dict[str, str]:
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return {"key": key, **({"value": value} if value else {}), "effect": effect}


def cluster(**changed: Object) -> list[Object]:
    """Returns the plan's nodes as Kubernetes nodes, some of them changed."""
    return [changed.get(node.name) or item(node) for node in PLAN]


def changed(name: str, **parts: Any) -> Object:
    found = copy.deepcopy(item(NAMES[name]))
    for path, value in parts.items():
        *parents, last = path.split("__")
        here = found
        for key in parents:
            here = here[key]
        here[last] = value
    return found


def only(found: list[Difference]) -> Difference:
    (one,) = found
    return one


def lines(difference: Difference) -> list[str]:
    assert difference.change
    return list(difference.change.commands("lab"))


def test_nodes_as_planned_differ_in_nothing() -> None:
    assert differences(PLAN, cluster()) == []
    assert notes(PLAN, cluster()) == []


def test_labels_are_set_and_those_that_the_plan_does_not_have_are_removed() -> None:
    labels = {**NAMES["database1"].labels, SERVER: "virt2", COMPUTE_NODE: "enabled", "other": "kept"}
    del labels[RACK]
    one = only(differences(PLAN, cluster(database1=changed("database1", metadata__labels=labels))))
    rack = NAMES["database1"].rack
    assert lines(one) == [
        f"kubectl --context lab label node database1 --overwrite {SERVER}=virt1 {RACK}={rack} {COMPUTE_NODE}-"
    ]
    assert f"label {SERVER} is virt2; expected virt1" in one.message
    assert f"label {COMPUTE_NODE} is enabled; expected none" in one.message


def test_a_zone_of_the_clouds_own_stays_where_the_plan_has_no_rack() -> None:
    (node,) = plan(load_file(STACKS["one-server"])).nodes
    there = item(node)
    there["metadata"]["labels"][ZONE] = "eu-1"
    assert differences([node], [there]) == []


def test_taints_are_set_overwritten_and_removed() -> None:
    wrong = [{"key": DEDICATED, "value": "other", "effect": "NoSchedule"}]
    one = only(differences(PLAN, cluster(database1=changed("database1", spec__taints=wrong))))
    assert lines(one) == [f"kubectl --context lab taint node database1 --overwrite {DEDICATED}=mysqld:NoSchedule"]
    surplus = [*item(NAMES["database1"])["spec"]["taints"], _taint(f"{CONTROL_PLANE_TAINT}=:NoSchedule")]
    one = only(differences(PLAN, cluster(database1=changed("database1", spec__taints=surplus))))
    assert lines(one) == [f"kubectl --context lab taint node database1 {CONTROL_PLANE_TAINT}:NoSchedule-"]


def test_a_foreign_taint_is_listed_and_never_removed_by_up() -> None:
    own = item(NAMES["database1"])["spec"]["taints"]
    foreign = [
        *own,
        _taint("gpu=yes:NoExecute"),
        _taint("x=:PreferNoSchedule"),
        _taint("node.kubernetes.io/y=:NoSchedule"),
    ]
    one = only(differences(PLAN, cluster(database1=changed("database1", spec__taints=foreign))))
    assert one.is_foreign
    assert lines(one) == ["kubectl --context lab taint node database1 gpu:NoExecute-"]


@pytest.mark.parametrize(
    ("name", "allocatable", "said"),
    [
        ("database1", {"cpu": "7900m", "memory": "16Gi"}, "allocatable cpu is 7.9 cores; the plan has 8; lower cpu"),
        ("database1", {"cpu": "8", "memory": "15Gi"}, "allocatable memory is 15 GiB; the plan has 16; lower memory"),
        ("database1", {}, "allocatable cpu is 0 cores; the plan has 8"),
        ("virt1", {"cpu": "32", "memory": "76Gi"}, "allocatable cpu is 32 cores; the plan has 8; reserve the rest"),
    ],
)
def test_sizes_that_the_plan_cannot_count_on_are_listed(name: str, allocatable: dict[str, str], said: str) -> None:
    found = differences(PLAN, cluster(**{name: changed(name, status__allocatable=allocatable)}))
    assert any(said in each.message and each.change is None for each in found), found


def test_more_than_planned_is_fine_where_no_virtual_machines_need_it() -> None:
    more = changed("database1", status__allocatable={"cpu": "64", "memory": "512Gi"})
    less_than_one = changed("virt1", status__allocatable={"cpu": "8500m", "memory": "80000000Ki"})
    assert less_than_one["status"]["allocatable"] != item(NAMES["virt1"])["status"]["allocatable"]
    assert [each for each in differences(PLAN, cluster(database1=more)) if "database1" in each.message] == []
    assert not any("cpu" in each.message for each in differences(PLAN, cluster(virt1=less_than_one)))


def test_missing_and_undeclared_nodes_and_masters() -> None:
    there = [each for each in cluster() if each["metadata"]["name"] != "storage3"]
    there.append({"metadata": {"name": "guest", "labels": {POOL: "mysqld"}}})
    there.append({"metadata": {"name": "boss", "labels": {CONTROL_PLANE_TAINT: ""}}})
    there.append({"metadata": {"name": "bystander", "labels": {}}})
    said = {each.message for each in differences(PLAN, there)}
    assert said == {
        "node storage3 is not in the cluster; add it to the cluster, or remove it from the stack file",
        f"node guest has labels {POOL} and is not in the stack file",
        "node boss is a master and not in the stack file; add it there with role master",
    }
    assert notes(PLAN, there) == [
        "In the cluster and not in the stack file, so that no pod of the plan runs there: bystander"
    ]


def test_a_master_of_the_stack_file_is_one_in_the_cluster() -> None:
    worker = changed("master1", metadata__labels=NAMES["master1"].labels)
    one = only(differences(PLAN, cluster(master1=worker)))
    assert (
        one.message == "node master1 is not a master in the cluster, and one in the stack file; correct its roles there"
    )
    assert one.change is None


def test_a_node_that_is_not_ready_is_noted() -> None:
    silent = changed("storage1", status__conditions=[{"type": "Ready", "status": "Unknown"}])
    assert notes(PLAN, cluster(storage1=silent)) == ["Not ready, so that their pods will not start: storage1"]
    assert differences(PLAN, cluster(storage1=silent)) == []


def test_the_patch_keeps_other_taints_and_fails_if_the_node_has_changed_since() -> None:
    taints = ("a=1:NoSchedule", f"{DEDICATED}=old:NoSchedule", "gone=:NoExecute")
    node: Object = {"metadata": {"name": "n", "resourceVersion": "7"}, "spec": {"taints": [*map(_taint, taints)]}}
    labels = {POOL: "mysqld", SERVER: None}
    change = NodeChange("n", labels, ((DEDICATED, "mysqld", "NoSchedule"),), (("gone", "", "NoExecute"),))
    assert patch(change, node) == {
        "metadata": {"labels": {POOL: "mysqld", SERVER: None}, "resourceVersion": "7"},
        "spec": {"taints": [_taint("a=1:NoSchedule"), _taint(f"{DEDICATED}=mysqld:NoSchedule")]},
    }


@pytest.mark.parametrize(
    ("written", "value"),
    [("8", 8), ("7900m", Decimal("7.9")), ("64Gi", 64 * 1024**3), ("62Ki", 62 * 1024), ("1k", 1000), ("2M", 2_000_000)],
)
def test_quantities(written: str, value: Decimal) -> None:
    assert parse(written) == value
