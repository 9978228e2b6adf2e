"""Tests of the placement map's facts, and of the worst effect of a server's loss on each workload."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from audit import losses
from audit.plan import PlanFile
from policy.engine import record
from policy.engine.record import Record
from policy.facts.placement import placement_map
from policy.facts.placement.placement_map import PlacementMap
from tests.policy.world import (
    HOST,
    SERVER,
    UNKNOWN,
    Given,
    daemons,
    etcd,
    facts,
    machine,
    machine_pool,
    machines,
    masters,
    of_cluster,
    quorum,
    whole_stack,
    workload,
)

# Five nodes on three servers: two, two and one.
NODES = [
    machine(name, "p", server=server)
    for name, server in (("a", "s1"), ("b", "s1"), ("c", "s2"), ("d", "s2"), ("e", "s3"))
]


def of(*given: Given | Sequence[Given]) -> PlacementMap:
    return placement_map.read(facts([each for some in given for each in ([some] if isinstance(some, Given) else some)]))


def loss(server: str, found: PlacementMap) -> dict[str, tuple[int, int, bool, bool]]:
    """By workload: instances lost and left, whether enough are left, and whether other nodes fit all."""
    names = [each.name for each in found.placed]
    said = losses.of_servers(found)[server]
    return {names[each.placed]: (each.lost, each.left, each.stands, each.elsewhere) for each in said}


@pytest.mark.parametrize(
    ("apart", "replicas", "expected"),
    [
        ((HOST, SERVER), 3, (1, 2, True, False)),
        ((HOST,), 3, (2, 1, True, True)),
        ((HOST,), 5, (2, 3, True, False)),
        ((), 3, (3, 0, False, True)),
    ],
    ids=["apart over servers", "apart over nodes", "one on every node", "not apart"],
)
def test_a_service_at_worst(apart: tuple[str, ...], replicas: int, expected: tuple[int, int, bool, bool]) -> None:
    found = of(NODES, workload("api", pools=["p"], apart=apart, replicas=replicas))
    assert loss("s1", found) == {"api": expected}


def test_a_quorum_falls_where_a_majority_may_share_a_server() -> None:
    sound = of(NODES, quorum(pools=["p"], apart=(HOST, SERVER)))
    shared = of(NODES, quorum(pools=["p"], apart=(HOST,)))
    assert loss("s1", sound) == {"rabbitmq": (1, 2, True, False)}
    assert loss("s1", shared) == {"rabbitmq": (2, 1, False, True)}
    assert loss("s3", shared) == {"rabbitmq": (1, 2, True, True)}


def member(name: str, *nodes: str, apart: tuple[str, ...] = ()) -> Given:
    """One member of a quorum that has a StatefulSet for each; all carry the same labels."""
    pinned = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": list(nodes)}]}]
    made = quorum(name, "mysqld-server", pools=["p"], replicas=1, apart=apart, labels={"app": "db"})
    path = "spec__template__spec__affinity__nodeAffinity__requiredDuringSchedulingIgnoredDuringExecution"
    return of_cluster(made).but(**{f"{path}__nodeSelectorTerms": pinned})


def test_a_quorum_of_a_statefulset_for_each_member_is_one() -> None:
    pinned = of(NODES, member("db-0", "a"), member("db-1", "c"), member("db-2", "e"))
    assert {each.group for each in pinned.placed} == {"db-0, db-1, db-2"}
    assert loss("s1", pinned) == {"db-0": (1, 2, True, False)}
    beside = of(NODES, member("db-0", "a"), member("db-1", "b"), member("db-2", "e"))
    assert loss("s1", beside) == {"db-0": (2, 1, False, False)}
    anywhere = [member(f"db-{number}", "a", "b", "c", "e", apart=(HOST, SERVER)) for number in range(3)]
    assert loss("s1", of(NODES, *anywhere)) == {"db-0": (1, 2, True, True)}
    over_nodes = [member(f"db-{number}", "a", "b", "c", "e", apart=(HOST,)) for number in range(3)]
    assert loss("s1", of(NODES, *over_nodes)) == {"db-0": (2, 1, False, True)}


def test_masters_on_one_server_take_etcd_with_them() -> None:
    found = of(masters(2, server="s1"), machine("master-3", "master", server="s2", roles=["master"]), etcd())
    assert loss("s1", found) == {"etcd": (2, 1, False, False)}
    assert loss("s2", found) == {"etcd": (1, 2, True, False)}


def test_what_runs_everywhere_goes_with_its_node() -> None:
    found = of(NODES, daemons("agent", "p"))
    assert loss("s1", found) == {}


def test_a_server_that_no_label_names_is_not_judged() -> None:
    bare = machine("f", "p").but(labels={"quorate.io/pool": "p"})
    assert set(losses.of_servers(of(NODES, bare, workload("api", pools=["p"])))) == {"s1", "s2", "s3"}


def test_what_cannot_be_known_is_named_and_left_out() -> None:
    found = of(NODES, workload("api", pools=["p"], replicas=UNKNOWN), workload("web", pools=["p"]))
    assert [each.name for each in found.placed] == ["web"]
    assert found.unknown == ("Deployment api: spec.replicas of api cannot be known in this preview",)
    assert of(machine_pool("p").but(nodes=UNKNOWN), workload("web")).unknown[0].startswith("the nodes: ")


@pytest.mark.parametrize("given", [whole_stack("1000"), [*NODES, quorum(pools=["p"])], []], ids=["1000", "few", "none"])
def test_it_comes_through_the_record_as_it_was(given: list[Given], tmp_path: Path) -> None:
    found = of(given)
    written = Record((), found, "lab", "100", "2026-11-21", {})
    record.write(written, tmp_path / record.FILE)
    assert record.read(tmp_path / record.FILE) == written
    assert of(list(reversed(given))) == found, "whatever the order that resources come in"


def test_places_are_drawn_from_the_plan_only_where_the_resources_allow_them(tmp_path: Path) -> None:
    found = of(NODES, workload("api", pools=["p"], replicas=2))
    (api,) = found.placed

    def drawn(*nodes: str) -> list[str] | None:
        document = {"version": 2, "assignment": [{"service": "api", "node": node} for node in nodes], "services": []}
        (tmp_path / "plan.json").write_text(json.dumps(document), encoding="utf-8")
        numbers = PlanFile.read(tmp_path / "plan.json").nodes_of(api, found)
        return None if numbers is None else [found.nodes[number].name for number in numbers]

    assert drawn("e", "a") == ["a", "e"]
    assert drawn("a") is None, "another count"
    assert drawn("a", "a") is None, "one node twice"
    assert drawn("a", "elsewhere") is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 2}'])
def test_a_plan_that_cannot_be_read_is_no_plan(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text, encoding="utf-8")
    assert PlanFile.read(tmp_path / "plan.json") == PlanFile() == PlanFile.read(tmp_path / "none.json")


def test_where_places_are_certain() -> None:
    found = {
        each.name: each for each in of(NODES, workload("api", pools=["p"], replicas=5), quorum(pools=["p"])).placed
    }
    assert found["api"].is_certain
    assert not found["rabbitmq"].is_certain
    three = machines("rabbitmq")
    assert of(three, quorum()).placed[0].is_certain
    assert not of(three, quorum(apart=())).placed[0].is_certain, "all three may stand on one node"
