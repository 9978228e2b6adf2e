"""The expected state of the proof and the plan are computed apart from each other, and agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from blueprint.stackfile.settings import Settings
from cluster.objects import Object
from contract import COMPANION_OF, ROW
from proof.cluster import ClusterState, RunningNode, row_of
from proof.expected import expected_state, failures_tolerated
from proof.verify import verify
from tests.stacks import ROOT, STACKS, full_size, own_galera, parsed, server, two_brokers, two_galeras, without_storage

TOPOLOGY = "tests/data/topologies/stack/three-nodes.yaml"


def lab(*more: dict[str, Any], **keys: Any) -> Settings:
    others = [
        server("master[1-3]", ["master"], "10.20.0.11"),
        server("stor1", ["storage"], "10.20.1.1"),
        server("cmp1", ["compute"], "10.20.4.1"),
    ]
    return parsed({"profile": "lab", "architecture": "100", "servers": [*others, *more], **keys})


def controllers(count: int) -> dict[str, Any]:
    return server(f"ctl[1-{count}]", ["controller"], "10.20.0.31")


def with_topology(nodes: int) -> Settings:
    servers = [server("master[1-3]", ["master"], "10.20.0.1"), server(f"node[1-{nodes}]", [], "10.20.1.1")]
    return parsed({"profile": "lab", "architecture": "100", "topology": TOPOLOGY, "servers": servers})


CASES: dict[str, Settings] = {
    **{name: load_file(STACKS[name]) for name in ("dev", "prod", "one-server", "two-servers")},
    **{f"a lab of {count} controllers": lab(controllers(count)) for count in (1, 2, 3, 4, 5, 6)},
    "controllers that are computes": lab(server("mix[1-3]", ["controller", "compute"], "10.20.5.1")),
    "a lab with monitoring": lab(controllers(2), server("mon1", ["monitoring"], "10.20.6.1")),
    "a lab with a count of its own": lab(controllers(3), services={"glance-api": {"replicas": 2}}),
    "a topology": with_topology(3),
    "a topology with spare nodes": with_topology(12),
    "production": parsed(full_size("300")),
    "further brokers on shared nodes": parsed(full_size("300", **two_brokers())),
    "further brokers on nodes of their own": parsed(full_size("500", controllers=19, **two_brokers(replicas=5))),
    "further brokers in a lab": lab(controllers(3), **two_brokers()),
    "a further Galera on shared nodes": parsed(full_size("300", **own_galera())),
    "further Galeras on nodes of their own": parsed(full_size("1000", controllers=38, **two_galeras(replicas=5))),
    "an external Ceph": parsed(without_storage("300")),
    "an external Ceph, without nodes for its monitors": parsed(without_storage("1000", controllers=27)),
    "an external Ceph of a lab": parsed({**without_storage("100", controllers=2), "profile": "lab"}),
    "further Galeras in a lab": lab(controllers(3), **two_galeras()),
}


def nodes_of(settings: Settings) -> dict[str, RunningNode]:
    """The plan's nodes as a cluster has them."""
    return {each.name: RunningNode(each.name, each.labels, (), True, (each.address,)) for each in plan(settings).nodes}


@pytest.mark.parametrize("settings", CASES.values(), ids=list(CASES))
def test_counts_and_nodes_are_those_of_the_plan(settings: Settings) -> None:
    made, state, nodes = plan(settings), expected_state(settings), nodes_of(settings)
    further = {each.name: each for each in made.companions if each.definition and each.quorum}
    services = {each.name: each for each in made.services if not each.replaced_by} | further
    assert {row.service for row in state.rows} == services.keys()
    for row in state.rows:
        service = services[row.service]
        eligible = {each.name for each in made.nodes if each.pool in service.pools}
        assert {name for name, node in nodes.items() if row.may_use(node)} == eligible, row.name
        assert (len(eligible) if row.instances is None else row.instances) == service.instances, row.name
        assert set(row.apart_from) == set(service.apart_from), row.name
    assert state.dedicated_total == sum(each.dedicated_to is not None for each in made.nodes)
    assert state.servers == {each.name: each.server for each in made.nodes}
    assert state.etcd == {each.name: each.server for each in made.members}


def made_by(kind: str, workload: str, **annotations: str) -> Object:
    owner = {"kind": kind, "name": workload, "controller": True}
    return {"metadata": {"name": f"{workload}-0", "annotations": annotations, "ownerReferences": [owner]}}


def test_members_of_a_further_cluster_count_for_it_and_other_companions_for_nothing() -> None:
    beside = {COMPANION_OF: "rabbitmq-server"}
    assert row_of(made_by("StatefulSet", "neutron-rabbitmq", **beside)) == "neutron-rabbitmq"
    assert row_of(made_by("StatefulSet", "rabbitmq", **{ROW: "rabbitmq-server"})) == "rabbitmq-server"
    assert row_of(made_by("Job", "nova-messaging", **beside)) is None


@pytest.mark.parametrize("name", ["one-server", "a topology with spare nodes", "two-servers"])
def test_verify_knows_the_declared_nodes(name: str) -> None:
    state, nodes = expected_state(CASES[name]), nodes_of(CASES[name])
    declared = {each.subject for each in verify(state, ClusterState(nodes, ())) if each.check == "nodes-declared"}
    assert declared == set()
    first, *others = sorted(nodes)
    missing = verify(state, ClusterState({each: nodes[each] for each in others}, ()))
    assert f"node {first}" in {each.subject for each in missing if each.check == "nodes-declared"}


@pytest.mark.parametrize(("members", "tolerated"), [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (7, 3)])
def test_failures_that_a_quorum_tolerates(members: int, tolerated: int) -> None:
    assert failures_tolerated(members) == tolerated


def test_the_plan_is_not_read() -> None:
    """An error of the planner cannot hide in the expected state: it imports nothing of the layout."""
    source = Path(ROOT / "proof" / "expected.py").read_text(encoding="utf-8")
    imported = {line.split()[1] for line in source.splitlines() if line.startswith("from blueprint.plan")}
    assert imported == {"blueprint.plan.quorum_limits"}
    assert "replicas import" not in source, "it counts instances by itself"
    assert "import replicas" not in source
