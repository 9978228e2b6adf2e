"""A cloud read from a cluster with pods, whose members answer what real ones have answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from blueprint.plan.nodes import Node
from blueprint.plan.planner import plan
from blueprint.stackfile.settings import ExistingCluster, Ssh
from cluster.api import Api, ApiError, Reply, Unreachable
from cluster.objects import Object
from operations.live_cluster import LiveCluster
from operations.living import asking
from operations.living.answers import Answer
from operations.living.cloud import LivingCloud, read_cloud, read_quorum
from tests.components.k8s_master.test_backup_copies import COPIES
from tests.operations.living.living_cloud import pod, ready_node
from tests.operations.living.recorded_answers import answers
from tests.stacks import full_size, parsed

SETTINGS = parsed(full_size("100"))
PLAN = plan(SETTINGS)
RECORDED = {
    "mariadb": answers("galera-whole"),
    "rabbitmq": answers("rabbitmq-whole"),
    "ceph-mon": answers("ceph-whole"),
}

MEMBER = """\
Server ID: de00 (de003104-7d79-4461-b0f3-400d1c97ac4e)
Status: cluster member
Role: leader
Leader: self
Servers:
    de00 (de00 at tcp:ovn-sb-1.ovn-sb-members.openstack.svc.cluster.local:6644) (self)
"""
"""What a member of OVN's southbound database says that leads."""


class Cluster:
    """An API server that lists pods and budgets."""

    def __init__(self, *pods: Object, refusal: int = 404) -> None:
        self.pods, self.refusal = list(pods), refusal

    def items(self, path: str) -> tuple[list[Object], str]:
        return (self.pods if "/pods" in path else []), "1"

    def ask(self, method: str, path: str) -> Object:
        """Refuses every object, as a cluster that has none of them."""
        raise ApiError(self.refusal, method, path.rpartition("/")[2])


def member(name: str, node: str) -> Object:
    container = {"mysqld": "mariadb", "elasticsearch-kibana": "opensearch"}.get(name[:-2], name[:-2])
    status: Object = {"containerStatuses": [{"name": container, "state": {"running": {}}}], "phase": "Running"}
    return {**pod(name, name[:-2], node), "status": status}


UNSCHEDULABLE = {"type": "PodScheduled", "reason": "Unschedulable", "message": "0/3 nodes are available"}
LOST_NODE = {"reason": "ContainerStatusUnknown", "exitCode": 137}
MEMBERS = [
    member(f"{quorum}-{number}", f"ctl0{number + 1}")
    for quorum in ("mysqld", "rabbitmq", "ceph-mon", "elasticsearch-kibana")
    for number in range(3)
]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Members answer as real ones did, but OpenSearch, which nobody can ask; etcd's are named as the masters."""
    etcd = dict(zip(("master1", "master2", "master3"), answers("etcd-whole").values(), strict=True))
    renamed = {
        name: Answer({key: said.replace("etcd-0", "master1").replace("etcd-1", "master2").replace("etcd-2", "master3")
                      for key, said in answer.parts.items()})
        for name, answer in etcd.items()
    }  # fmt: skip

    ask = asking.in_pod

    def in_pod(_api: Api, found: Object | None, container: str, _questions: Mapping[str, str]) -> Answer:
        if asking.not_running(found, container):
            return ask(_api, found, container, _questions)
        return RECORDED.get(container, {}).get(found["metadata"]["name"] if found else "", Answer(problem="not found"))

    def on_machine(node: Node, _ssh: Ssh, known_hosts: Path) -> Answer:
        assert known_hosts.is_file()
        return renamed[node.name]

    monkeypatch.setattr(asking, "in_pod", in_pod)

    def by_metrics(_api: Api, node: str) -> Answer:
        return renamed[node]

    monkeypatch.setattr(asking, "on_machine", on_machine)
    monkeypatch.setattr(asking, "by_metrics", by_metrics)
    return monkeypatch


def read(*pods: Object, **changes: Any) -> LivingCloud:
    made = replace(PLAN, settings=SETTINGS.model_copy(update=changes))
    nodes = tuple(ready_node(node.name) for node in PLAN.nodes)
    return read_cloud(made, LiveCluster(cast("Api", Cluster(*pods)), made, "admin", nodes))


def standings(cloud: LivingCloud) -> dict[str, str]:
    return {quorum.name: quorum.standing for quorum in cloud.quorums}


@pytest.mark.usefixtures("answering")
def test_every_quorum_is_read_by_its_own_program() -> None:
    assert standings(read(*MEMBERS)) == {
        "etcd": "whole",
        "mysqld": "whole",
        "rabbitmq": "whole",
        "ceph-mon": "whole",
        "elasticsearch-kibana": "unknown",
    }


@pytest.mark.usefixtures("answering")
def test_members_have_the_node_of_their_pod() -> None:
    cloud = read(*MEMBERS)
    assert cloud.places["rabbitmq", "rabbitmq-2"] == "ctl03"
    assert cloud.places["etcd", "master1"] == "master1"
    assert cloud.storage


@pytest.mark.usefixtures("answering")
def test_a_pod_that_is_gone_is_a_lost_member() -> None:
    found = read(*(each for each in MEMBERS if each["metadata"]["name"] != "mysqld-1"))
    assert standings(found)["mysqld"] == "reduced"
    mysqld = next(each for each in found.quorums if each.name == "mysqld")
    assert mysqld.members[1].says == "it has no pod"


@pytest.mark.parametrize(("key", "asked"), [(None, "by_metrics"), ("ssh-ed25519 AAAA", "on_machine")])
def test_etcd_is_asked_over_ssh_where_the_host_key_is_known(
    answering: pytest.MonkeyPatch, key: str | None, asked: str
) -> None:
    def nobody(*_: object) -> Answer:
        raise AssertionError

    other = {"by_metrics": "on_machine", "on_machine": "by_metrics"}[asked]
    answering.setattr(asking, other, nobody)
    nodes = tuple(replace(node, machine=replace(node.machine, host_key=key)) for node in PLAN.nodes)
    made = replace(PLAN, nodes=nodes)
    found = read_cloud(made, LiveCluster(cast("Api", Cluster(*MEMBERS)), made, "admin", ()))
    assert standings(found)["etcd"] == "whole"


class Metrics:
    """An API server that fetches a member's metrics; `status` and `body` of the answer for the health."""

    access = None

    def __init__(self, _access: object, _timeout: float = 0) -> None:
        self.paths: list[str] = []

    def call(self, method: str, path: str) -> Reply:
        self.paths.append(f"{method} {path}")
        if path.startswith("/api/v1/nodes/http:dead:2381/"):
            return Reply(503, {"message": "connection refused"})
        if path.startswith("/api/v1/nodes/http:gone:2381/"):
            raise Unreachable("timed out")
        if path.endswith("/health"):
            body = {"health": "false", "reason": "RAFT NO LEADER"}
            return Reply(503, body, text='{"health":"false"}')
        return Reply(200, {}, text="etcd_server_has_leader 0\n")


def test_metrics_are_fetched_by_the_api_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "Api", Metrics)
    api = cast("Api", Metrics(None))
    expected = {"metrics": "etcd_server_has_leader 0\n", "health": '{"health":"false"}'}
    assert asking.by_metrics(api, "master1") == Answer(expected)
    assert asking.by_metrics(api, "dead").problem == "its metrics were not read: connection refused"
    assert asking.by_metrics(api, "gone").problem == "its metrics were not read: timed out"


def test_agents_are_asked_in_a_member_that_counts(answering: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, tuple[str, ...]]] = []
    answer = asking.in_pod

    def in_pod(api: Api, found: Object | None, container: str, questions: Mapping[str, str]) -> Answer:
        if "nova" not in questions:
            return answer(api, found, container, questions)
        asked.append((found["metadata"]["name"] if found else "", tuple(questions)))
        return Answer(dict.fromkeys(questions, "agent\tan agent\tcmp1\t9\t0\nend\n"))

    answering.setattr(asking, "in_pod", in_pod)
    found = read(*(each for each in MEMBERS if each["metadata"]["name"] != "mysqld-0"))
    assert asked == [("mysqld-1", ("nova", "neutron", "cinder"))]
    assert [agent.project for agent in found.agents.agents] == ["nova", "neutron", "cinder"]


@pytest.mark.usefixtures("answering")
def test_agents_are_not_asked_without_a_member() -> None:
    found = read(*(each for each in MEMBERS if not each["metadata"]["name"].startswith("mysqld")))
    assert [line.partition(": ")[2] for line in found.agents.unasked] == ["no member of mysqld takes part"] * 3


@pytest.mark.parametrize(("there", "said"), [(True, "found"), (False, "no member of ovn-sb takes part")])
def test_agents_of_ovn_are_asked_in_a_member_of_its_database(
    answering: pytest.MonkeyPatch, there: bool, said: str
) -> None:
    made = plan(parsed(full_size("100", networks={"backend": "ovn"})))
    asked: list[str] = []

    def in_pod(_api: Api, found: Object | None, container: str, questions: Mapping[str, str]) -> Answer:
        name = found["metadata"]["name"] if found else ""
        if "chassis" in questions:
            asked.append(f"{name} {container}")
            return Answer(problem="found")
        if not (container == "ovn-sb-db-server" and there and name == "ovn-sb-1"):
            return Answer(problem="not found")
        return Answer({"status": MEMBER})

    answering.setattr(asking, "in_pod", in_pod)
    pods = [member(f"ovn-sb-{number}", f"ctl0{number + 1}") for number in range(3)]
    found = read_cloud(made, LiveCluster(cast("Api", Cluster(*pods)), made, "admin", ()))
    assert f"the agents of OVN were not read: {said}" in found.agents.unasked
    assert asked == (["ovn-sb-1 ovn-sb-db-server"] if there else [])


@pytest.mark.usefixtures("answering")
def test_backups_are_asked_with_the_quorums() -> None:
    found = read(*MEMBERS).backups
    assert [(each.of, each.stopped) for each in found.found] == [("mysqld", "the cluster does not have it")]
    assert found.unasked == (
        "the copies of etcd's data on master1, master2, master3 were not read: they are asked over SSH",
    )
    without = read_cloud(PLAN, None, "the API server does not answer").backups
    assert without.found == ()
    assert [line.split()[1] for line in without.unasked] == ["backups", "copies"]


@pytest.mark.usefixtures("answering")
def test_restored_copies_are_read_where_the_stack_has_copies() -> None:
    made = replace(PLAN, settings=parsed(full_size("100", backups={"copies": COPIES})))
    found = {
        status: read_cloud(made, LiveCluster(cast("Api", Cluster(*MEMBERS, refusal=status)), made, "admin", ())).backups
        for status in (404, 403)
    }
    assert [(each.of, each.newest) for each in found[404].copy_tests] == [("mysqld", None), ("etcd", None)]
    assert found[403].copy_tests == ()
    assert found[403].unasked[-1] == "when copies were restored was not read: 403 GET: quorate-copy-tests"
    assert read(*MEMBERS).backups.copy_tests == ()


@pytest.mark.usefixtures("answering")
def test_one_quorum_is_read_in_its_pods() -> None:
    cluster = LiveCluster(cast("Api", Cluster()), PLAN, "admin", ())
    found = read_quorum(cluster, "mysqld", MEMBERS[:2])
    assert (found.standing, found.counting) == ("reduced", 2)
    assert [member.name for member in found.members] == ["mysqld-0", "mysqld-1", "mysqld-2"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": {"phase": "Pending"}}, "its pod is Pending"),
        (
            {
                "status": {
                    "containerStatuses": [{"name": "rabbitmq", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]
                }
            },
            "its container is waiting (CrashLoopBackOff)",
        ),
        (
            {"spec": {}, "status": {"phase": "Pending", "conditions": [UNSCHEDULABLE]}},
            "its pod is Pending (Unschedulable: 0/3 nodes are available)",
        ),
        (
            {
                "status": {
                    "phase": "Pending",
                    "initContainerStatuses": [{"name": "prepare", "state": {"waiting": {"reason": "CreateError"}}}],
                    "containerStatuses": [{"name": "rabbitmq", "state": {"waiting": {"reason": "PodInitializing"}}}],
                }
            },
            "its pod is Pending (init container prepare: CreateError)",
        ),
        ({"metadata": {"name": "a", "deletionTimestamp": "2026-11-28T10:00:00Z"}}, "until 2026-11-28T10:00:00Z"),
    ],
)
def test_a_container_that_does_not_run_is_not_asked(changes: dict[str, Any], said: str) -> None:
    assert said in asking.not_running({**member("rabbitmq-0", "ctl01"), **changes}, "rabbitmq")


@pytest.mark.parametrize(
    ("status", "is_down"),
    [
        ({"phase": "Pending"}, True),
        ({"phase": "Unknown"}, False),
        ({}, False),
        ({"containerStatuses": [{"name": "rabbitmq"}]}, False),
        ({"containerStatuses": [{"name": "rabbitmq", "state": {"waiting": {"reason": "ErrImagePull"}}}]}, True),
        (
            {
                "containerStatuses": [
                    {"name": "rabbitmq", "state": {"terminated": {"reason": "ContainerStatusUnknown"}}}
                ]
            },
            False,
        ),
    ],
)
def test_a_container_whose_state_nobody_knows_may_run(status: dict[str, Any], is_down: bool) -> None:
    found = {**member("rabbitmq-0", "ctl01"), "status": status}
    assert asking.in_pod(cast("Api", None), found, "rabbitmq", {}).is_down == is_down


@pytest.mark.usefixtures("answering")
def test_a_quorum_without_pods_is_lost_and_one_that_is_being_deleted_is_not_asked() -> None:
    others = [each for each in MEMBERS if not each["metadata"]["name"].startswith("mysqld")]
    assert standings(read(*others))["mysqld"] == "lost"
    leaving = [
        {**each, "metadata": {**each["metadata"], "deletionTimestamp": "2026-11-28T10:00:00Z"}}
        for each in MEMBERS
        if each not in others
    ]
    assert standings(read(*others, *leaving))["mysqld"] == "unknown"


@pytest.mark.usefixtures("answering")
def test_etcd_of_an_existing_cluster_is_not_of_the_stack() -> None:
    cloud = read(*MEMBERS, cluster=ExistingCluster(context="cloud-1"))
    assert "etcd" not in standings(cloud)


@pytest.mark.usefixtures("answering")
def test_without_an_api_server_etcd_is_asked() -> None:
    cloud = read_cloud(PLAN, None, "the API server does not answer")
    assert standings(cloud)["etcd"] == "whole"
    assert {each for name, each in standings(cloud).items() if name != "etcd"} == {"unknown"}
    assert cloud.problems == ("the API server does not answer",)


def test_a_machine_without_a_host_key_cannot_be_asked(tmp_path: Path) -> None:
    found = asking.on_machine(PLAN.members[0], Ssh(), tmp_path / "known_hosts")
    assert "no hostKey" in found.problem
    assert not found.is_down
