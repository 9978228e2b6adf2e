"""Selectors, affinities, taints: decided as kube-scheduler does (its own tests are where the odd cases are from)."""

from __future__ import annotations

from typing import Any

import pytest

from policy.facts.kubernetes.selectors import label_selector, requirement
from policy.properties import Malformed, Properties
from tests.policy.world import REQUIRED, Given, facts, machine, machine_pool, workload

LABELS = {"zone": "a", "cores": "24", "empty": ""}


def tree(value: object) -> Properties:
    return Properties(value, "test")


@pytest.mark.parametrize(
    ("operator", "key", "values", "met"),
    [
        ("In", "zone", ["a", "b"], True),
        ("In", "zone", ["b"], False),
        ("In", "rack", ["a"], False),
        ("In", "empty", [""], True),
        ("NotIn", "zone", ["b"], True),
        ("NotIn", "zone", ["a"], False),
        ("NotIn", "rack", ["a"], True),  # an absent label is in no set
        ("Exists", "empty", [], True),
        ("Exists", "rack", [], False),
        ("DoesNotExist", "rack", [], True),
        ("DoesNotExist", "zone", [], False),
        ("Gt", "cores", ["23"], True),
        ("Gt", "cores", ["24"], False),
        ("Gt", "rack", ["0"], False),  # an absent label is not a number
        ("Gt", "zone", ["0"], False),
        ("Lt", "cores", ["25"], True),
        ("Lt", "cores", ["24"], False),
        ("Lt", "rack", ["99"], False),
        ("Lt", "cores", ["25", "26"], False),
    ],
)
def test_operators(operator: str, key: str, values: list[str], met: bool) -> None:
    assert requirement(tree({"key": key, "operator": operator, "values": values})).met_by(LABELS) is met


def test_an_operator_that_is_none() -> None:
    with pytest.raises(Malformed, match="operator 'Is' is not valid; use one of In, NotIn"):
        requirement(tree({"key": "zone", "operator": "Is"}))


def test_selectors() -> None:
    both = label_selector(
        tree({"matchLabels": {"zone": "a"}, "matchExpressions": [{"key": "rack", "operator": "Exists"}]})
    )
    everything, nothing = label_selector(tree({})), label_selector(tree(None))
    assert both is not None
    assert not both.selects(LABELS)
    assert both.selects({**LABELS, "rack": "r1"})
    assert everything is not None
    assert everything.selects({})
    assert nothing is None


NODES = [machine("a", "x", labels={"disk": "ssd"}), machine("b", "x"), machine("open", "y", taints=[])]
TOLERATES_ALL = [{"operator": "Exists"}]


def pod(**spec: Any) -> Given:
    given = workload("w", "DaemonSet", apart=())
    return given.but(**{f"spec__template__spec__{key}": value for key, value in spec.items()})


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def affinity(*terms: object) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def toleration(**parts: str) -> list[dict[str, str]]:
    return [parts]


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({}, "open"),
        ({"tolerations": TOLERATES_ALL}, "a b open"),
        ({"tolerations": toleration(key="quorate.io/dedicated", operator="Exists")}, "a b open"),
        ({"tolerations": toleration(key="quorate.io/dedicated", value="x")}, "a b open"),
        ({"tolerations": toleration(key="quorate.io/dedicated", value="x", effect="NoSchedule")}, "a b open"),
        ({"tolerations": toleration(key="quorate.io/dedicated", value="x", effect="NoExecute")}, "open"),
        ({"tolerations": toleration(key="quorate.io/dedicated", value="y")}, "open"),
        ({"tolerations": toleration(key="other", operator="Exists")}, "open"),
        ({"tolerations": TOLERATES_ALL, "nodeSelector": {"disk": "ssd"}}, "a"),
        ({"tolerations": TOLERATES_ALL, "nodeSelector": {"disk": "hdd"}}, ""),
        ({"tolerations": TOLERATES_ALL, "nodeName": "b"}, "b"),
        ({"tolerations": TOLERATES_ALL, "affinity": affinity()}, ""),
        ({"tolerations": TOLERATES_ALL, "affinity": affinity({})}, ""),  # an empty term selects nothing
        (
            {
                "tolerations": TOLERATES_ALL,
                "affinity": affinity(
                    {"matchExpressions": [expression("disk", "Exists"), expression("quorate.io/pool", "In", "y")]},
                    {"matchFields": [expression("metadata.name", "In", "open")]},
                ),
            },
            "open",
        ),
        (
            {
                "tolerations": TOLERATES_ALL,
                "affinity": affinity({"matchExpressions": [expression("kubernetes.io/hostname", "NotIn", "a")]}),
            },
            "b open",
        ),
    ],
)
def test_where_pods_may_run(spec: dict[str, Any], names: str) -> None:
    judged = facts([*NODES, pod(**spec)])
    assert " ".join(node.name for node in judged.eligible(judged.workloads[0])) == names


def test_taints_that_only_advise_and_taints_of_conditions() -> None:
    taints = ["a=b:PreferNoSchedule", "node.kubernetes.io/unschedulable=:NoSchedule"]
    judged = facts([machine("a", "x", taints=taints), workload("once"), workload("each", "DaemonSet")])
    once, each = judged.workloads
    assert not judged.eligible(once)
    assert [node.name for node in judged.eligible(each)] == ["a"], "the DaemonSet controller tolerates conditions"


def test_hand_written_nodes() -> None:
    """Hand-written nodes have labels and taints as Kubernetes objects."""
    taint = {"key": "quorate.io/dedicated", "value": "x", "effect": "NoSchedule"}
    metadata = {"name": "n1", "labels": {"quorate.io/server": "s1", "quorate.io/pool": "x"}}
    written = Given("kubernetes:core/v1:Node", "n1", {"metadata": metadata, "spec": {"taints": [taint]}})
    (node,) = facts([written]).nodes
    assert (node.name, node.server, node.pool, node.dedicated_to) == ("n1", "s1", "x", ("x",))
    assert node.labels["kubernetes.io/hostname"] == "n1"


def test_cordoned_nodes_take_only_daemons() -> None:
    written = Given("kubernetes:core/v1:Node", "n1", {"metadata": {"name": "n1"}, "spec": {"unschedulable": True}})
    judged = facts([written, workload("once"), workload("each", "DaemonSet")])
    assert [[node.name for node in judged.eligible(each)] for each in judged.workloads] == [[], ["n1"]]


def test_a_pool_gives_each_of_its_nodes_what_is_its_own() -> None:
    nodes = facts([machine_pool("compute", 2)]).nodes
    assert [(node.name, node.server, node.labels["quorate.io/rack"]) for node in nodes] == [
        ("compute-1", "compute-1", "r1"),
        ("compute-2", "compute-2", "r1"),
    ]
    assert {node.pool for node in nodes} == {"compute"}
