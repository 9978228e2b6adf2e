"""Tests of `quorate action`: the list of actions, errors, and the Job that is created from the cluster's object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import contract
from blueprint.plan.planner import plan
from blueprint.stackfile.settings import ExistingCluster, Settings
from cluster.api import Api, ApiError, Reply
from cluster.objects import Object, holds
from commands import stack
from commands.live import action_command, connection
from commands.stack import ValidStack
from console.errors import UserError
from operations import action_quorum
from operations.actions import of_plan
from operations.live_cluster import LiveCluster
from operations.living.quorum import LivingMember, LivingQuorum
from tests.stacks import ROOT, full_size, own_galera, parsed

SETTINGS = parsed(full_size("100"))
LOAD = stack.load
KNOWN = {each.name: each for each in of_plan(plan(SETTINGS))}
BATCH = "/apis/batch/v1/namespaces/openstack"
SPEC = {
    "backoffLimit": 6,
    "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "1"}},
    "template": {
        "metadata": {
            "labels": {"app.kubernetes.io/component": "mariadb", "batch.kubernetes.io/controller-uid": "1"},
            "annotations": {contract.COMPANION_OF: "mysqld-server"},
        },
        "spec": {"containers": [{"name": "main", "env": [{"name": "A", "value": "1"}]}], "restartPolicy": "Never"},
    },
}


def member(number: int, *, ready: bool = True, of: str = "mysqld") -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {
        "metadata": {"name": f"{of}-{number}", "labels": {contract.NAME: of}},
        "status": {"conditions": conditions},
    }


class Cluster:
    """An API server with members of quorums, each of `replicas`, whose Jobs end in the given way."""

    def __init__(self, *members: dict[str, Any], replicas: int = 3, ends: str = "Complete") -> None:
        self.members, self.replicas, self.ends = list(members), replicas, ends
        self.created: dict[str, Any] = {}

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        if method == "POST":
            self.created = dict(body or {})
            return {"metadata": {"name": "created"}}
        job = {"metadata": {"name": "created", "namespace": "openstack"}, "spec": SPEC}
        answers: dict[str, dict[str, Any]] = {
            "/api/v1/namespaces/openstack/pods": {"items": self.selected((query or {}).get("labelSelector", ""))},
            **{
                f"/apis/apps/v1/namespaces/openstack/statefulsets/{quorum}": {"spec": {"replicas": self.replicas}}
                for quorum in ("mysqld", "neutron-mysqld", "rabbitmq", "ceph-mon")
            },
            f"{BATCH}/cronjobs/mysqld-backup": {"spec": {"jobTemplate": {"spec": SPEC}}},
            f"{BATCH}/cronjobs/mysqld-restore": {"spec": {"jobTemplate": {"spec": SPEC}}},
            f"{BATCH}/cronjobs/neutron-mysqld-backup": {"spec": {"jobTemplate": {"spec": SPEC}}},
            f"{BATCH}/jobs": {"items": [job]},
            f"{BATCH}/jobs/created": {**job, "status": {"conditions": [{"type": self.ends, "status": "True"}]}},
        }
        if path not in answers:
            raise ApiError(404, "NotFound", path)
        return answers[path]

    def selected(self, selector: str) -> list[dict[str, Any]]:
        label, _, name = selector.partition("=")
        if label != contract.NAME:
            return self.members
        return [each for each in self.members if each["metadata"]["labels"][contract.NAME] == name]

    def call(self, _method: str, _path: str, *, query: object) -> Reply:
        assert query
        return Reply(200, {}, text="no route to the database\n")


def live_stack(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> pytest.MonkeyPatch:
    cluster = ExistingCluster(context="cloud-1")
    settings = settings.model_copy(update={"target": "live", "machines": "existing", "cluster": cluster})

    def load(root: Path, name: str) -> ValidStack:
        return replace(LOAD(root, name), target="live", settings=settings)

    monkeypatch.setattr(stack, "load", load)
    return monkeypatch


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    return live_stack(monkeypatch, SETTINGS)


@pytest.fixture
def live_with_two(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A live stack with a Galera for Neutron beside its own."""
    return live_stack(monkeypatch, parsed(full_size("100", **own_galera())))


def do(live: pytest.MonkeyPatch, cluster: Cluster, name: str, backup: str = "") -> int:
    connected = LiveCluster(cast("Api", cluster), plan(SETTINGS), "cloud-1", ())

    def connect(_root: Path, _stack: ValidStack) -> LiveCluster:
        return connected

    def read_quorum(_cluster: LiveCluster, quorum: str, pods: Sequence[Object]) -> LivingQuorum:
        """Each pod's program says what its readiness is in this test."""
        counting = {each["metadata"]["name"] for each in pods if holds(each, "Ready")}
        names = [f"{quorum}-{number}" for number in range(3)]
        members = tuple(LivingMember(each, counts=each in counting, says="Synced") for each in names)
        return LivingQuorum(quorum, "galera", members, serves=True)

    live.setattr(connection, "connect", connect)
    live.setattr(action_quorum, "read_quorum", read_quorum)
    return action_command.run(ROOT, "dev", name, backup)


HEALTHY = [member(number) for number in range(3)]


def test_every_action_is_listed_with_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert action_command.run(ROOT, "dev", "") == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"mysqld-backup", "mysqld-restore", "keystone-db-sync", "nova-online-data-migrations"} <= {
        line.split()[0] for line in lines
    }
    assert all(len(line.split(None, 1)) == 2 for line in lines)


def test_an_unknown_action_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UserError, match="did you mean 'keystone-db-sync'"):
        action_command.run(ROOT, "dev", "keystone-dbsync")
    with pytest.raises(UserError, match="derived from the root secret"):
        action_command.run(ROOT, "dev", "fernet-rotate")


def test_a_rendered_stack_gets_the_kubectl_line() -> None:
    line = "kubectl -n openstack create job mysqld-backup-by-hand --from=cronjob/mysqld-backup"
    with pytest.raises(UserError, match=f"target render[\\s\\S]*{line}"):
        action_command.run(ROOT, "dev", "mysqld-backup")
    with pytest.raises(UserError, match="kubectl replace --force -f build/dev/manifests"):
        action_command.run(ROOT, "dev", "keystone-db-sync")


def test_a_job_is_created_from_the_cron_job_and_awaited(
    live: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = Cluster(*HEALTHY)
    assert do(live, cluster, "mysqld-backup") == 0
    assert "Job openstack/created is complete" in capsys.readouterr().out
    assert cluster.created["metadata"]["generateName"] == "mysqld-backup-by-hand-"
    spec = cluster.created["spec"]
    assert (spec["backoffLimit"], "selector" in spec) == (6, False)
    template = spec["template"]["metadata"]
    assert template["labels"] == {"app.kubernetes.io/component": "mariadb"}
    assert template["annotations"] == {contract.COMPANION_OF: "mysqld-server"}


def test_a_failed_job_shows_its_last_lines(live: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert do(live, Cluster(*HEALTHY, ends="Failed"), "keystone-db-sync") == 1
    assert "no route to the database" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "members", "refused"),
    [
        (
            "mysqld-backup",
            [member(0), member(1), member(2, ready=False)],
            "needs 3 of 3 members of mysqld; 2 take part",
        ),
        ("keystone-db-sync", [member(0), member(1, ready=False)], "needs 2 of 3 members of mysqld; 1 take part"),
        ("mysqld-restore", [member(0, ready=False)], "--replicas=0\n.*--replicas=3"),
    ],
)
def test_the_living_quorum_is_asked_first(
    live: pytest.MonkeyPatch, name: str, members: list[dict[str, Any]], refused: str
) -> None:
    cluster = Cluster(*members)
    with pytest.raises(UserError, match=refused):
        do(live, cluster, name)
    assert not cluster.created


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("neutron-messaging", "needs 2 of 3 members of rabbitmq; 1 take part"),
        ("nova-notifications", "needs 2 of 3 members of rabbitmq; 1 take part"),
        ("nova-storage", "needs 2 of 3 members of ceph-mon; 0 take part"),
    ],
)
def test_the_members_of_the_quorum_that_the_job_uses_are_counted(
    live: pytest.MonkeyPatch, name: str, refused: str
) -> None:
    cluster = Cluster(*HEALTHY, member(0, of="rabbitmq"))
    with pytest.raises(UserError, match=refused):
        do(live, cluster, name)
    assert not cluster.created


def test_a_job_of_rabbitmq_does_not_wait_for_the_database(live: pytest.MonkeyPatch) -> None:
    assert do(live, Cluster(member(0, of="rabbitmq"), member(1, of="rabbitmq")), "neutron-messaging") == 0


@pytest.mark.parametrize("name", ["neutron-mysqld-backup", "neutron-databases", "heat-db-sync"])
def test_a_galera_of_its_own_is_counted_for_the_projects_that_use_it(
    live_with_two: pytest.MonkeyPatch, name: str
) -> None:
    cluster = Cluster(*HEALTHY, member(0, of="neutron-mysqld"))
    with pytest.raises(UserError, match=r"of 3 members of neutron-mysqld; 1 take part"):
        do(live_with_two, cluster, name)
    assert not cluster.created
    own = [member(number, of="neutron-mysqld") for number in range(3)]
    assert do(live_with_two, Cluster(*own), name) == 0, "the other cluster may be down"


def test_a_majority_is_enough_for_a_job(live: pytest.MonkeyPatch) -> None:
    assert do(live, Cluster(member(0), member(1)), "keystone-db-sync") == 0


def test_a_stopped_database_is_restored_from_the_backup_that_is_named(live: pytest.MonkeyPatch) -> None:
    cluster = Cluster(replicas=0)
    assert do(live, cluster, "mysqld-restore", "2026-11-22T02-17-00Z") == 0
    (container,) = cluster.created["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "A", "value": "1"}, {"name": "BACKUP", "value": "2026-11-22T02-17-00Z"}]
    with pytest.raises(UserError, match="takes none"):
        do(live, Cluster(*HEALTHY), "mysqld-backup", "2026-11-22T02-17-00Z")


def test_what_the_cluster_refuses_is_said(live: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="nova-online-data-migrations did not run: 404"):
        do(live, Cluster(*HEALTHY), "nova-online-data-migrations")


def test_the_templates_of_actions_are_in_the_rendered_tree() -> None:
    """The names that the command asks for are those that the components give."""
    assert {each.name for each in KNOWN.values() if each.kind == "cronjob"} == {
        "mysqld-backup",
        "mysqld-backup-test",
        "mysqld-restore",
        "nova-online-data-migrations",
    }
