"""A small cloud whose Galera is stopped, restored by a Job, and started, with a pod that mounts its backups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from blueprint.plan.plan import Plan
from cluster import failures
from cluster.api import MERGE, Api
from cluster.kubeconfig import Access
from cluster.objects import Object, name
from cluster.pod_exec import CommandOutput, PodContainer
from operations import action_job
from operations.live_cluster import LiveCluster
from operations.living.quorum import LivingMember, LivingQuorum
from operations.restoration import galera_restoration, survivors, volume_pod
from tests.operations.maintenance.small_cloud import PLAN, SmallCloud, use

BACKUP_TIME = "2026-11-28T02-17-04Z"
MEMBERS = ("mysqld-0", "mysqld-1", "mysqld-2")
_PODS = "/api/v1/namespaces/openstack/pods"
_SPEC: Object = {
    "backoffLimit": 0,
    "template": {
        "metadata": {"labels": {"app.kubernetes.io/name": "mysqld-backup-test", "batch.kubernetes.io/x": "1"}},
        "spec": {
            "containers": [{"name": "main", "image": "mariadb-server", "volumeMounts": [{"name": "backups"}]}],
            "volumes": [{"name": "backups", "persistentVolumeClaim": {"claimName": "mysqld-backup"}}],
        },
    },
}


class GaleraCloud(SmallCloud):
    """The cloud of the stack `dev`, whose changes to mysqld are noted."""

    def __init__(self, made: Plan = PLAN) -> None:
        super().__init__(made)
        self.did: list[str] = []
        self.job_ends = "Complete"
        self.receives = CommandOutput("", "received\n", 0)
        self.received = b""
        self.written = CommandOutput("", "", 0)
        self.silent: set[str] = set()
        """Members that run and do not take part."""
        self.job: Object = {}
        self.receiver: Object = {}
        for member in MEMBERS:
            self.runs(member)

    def runs(self, member: str) -> None:
        """Notes that the container of a member runs."""
        self.pods[member]["status"]["containerStatuses"] = [{"name": "mariadb", "state": {"running": {}}}]

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content: str = "",
    ) -> dict[str, Any]:
        last = path.rpartition("/")[2]
        if "/statefulsets/" in path:
            assert (method, last, content) == ("PATCH", "mysqld", MERGE)
            self.scale(int((body or {})["spec"]["replicas"]))
            return {}
        if "/cronjobs/" in path:
            return {"spec": {"jobTemplate": {"spec": _SPEC}}}
        if path.startswith(action_job.BATCH):
            return self.job_of_restoration(method, dict(body or {}))
        if path.startswith(_PODS) and (method, last) != ("GET", "pods"):
            return self.receiver_pod(method, dict(body or {}))
        return super().ask(method, path, body, query=query, content=content)

    def items(self, path: str) -> tuple[list[dict[str, Any]], str]:
        if path.startswith(action_job.BATCH):
            made = {"metadata": {"name": "mysqld-backup"}, "status": {"lastSuccessfulTime": "2026-11-28T02:31:00Z"}}
            return ([made] if "/cronjobs" in path else []), "1"
        return super().items(path)

    def scale(self, replicas: int) -> None:
        self.did.append(f"scale to {replicas}")
        for member in MEMBERS:
            self.pods.pop(member, None)
        for member in MEMBERS[:replicas]:
            self.add(member, "mysqld", self.homes[member], "StatefulSet")
            self.runs(member)

    def job_of_restoration(self, method: str, body: Object) -> Object:
        if method == "POST":
            container = body["spec"]["template"]["spec"]["containers"][0]
            chosen = [each["value"] for each in container.get("env", []) if each["name"] == action_job.CHOICE]
            self.did.append(f"{body['metadata']['generateName']} {' '.join(chosen)}".strip())
            self.job = body
        return {
            "metadata": {"name": "restores", "namespace": "openstack"},
            "status": {"conditions": [{"type": self.job_ends, "status": "True"}]},
        }

    def receiver_pod(self, method: str, body: Object) -> Object:
        if method == "POST":
            self.receiver = {**body, "metadata": {**body["metadata"], "name": "receiver"}}
        if method != "GET":
            self.did.append(f"{method} pod")
        return {**self.receiver, "status": {"phase": "Running"}}

    def receive(
        self,
        _access: Access,
        place: PodContainer,
        command: Sequence[str],
        _seconds: float,
        given: Iterable[bytes] | None = None,
    ) -> CommandOutput:
        """Stands in for the program in the pod."""
        assert (place.pod, place.container, command[3]) == ("receiver", "main", BACKUP_TIME)
        self.received = b"".join(given or ())
        self.did.append("receive")
        return self.receives

    def marks(self, _access: Access, place: PodContainer, command: Sequence[str], _seconds: float) -> CommandOutput:
        """Stands in for a member that is let wait for another one."""
        self.did.append(f"{place.pod} waits for {command[-2]}")
        return self.written

    def serves(self, _access: Access, _place: PodContainer, _command: Sequence[str], _seconds: float) -> CommandOutput:
        """Stands in for a member that is asked what it has."""
        return CommandOutput('{"phase": "running", "primary": true}', "", 0)

    def read_quorum(self, _cluster: LiveCluster, quorum: str, pods: Sequence[Object]) -> LivingQuorum:
        there = {name(each) for each in pods} - self.silent
        members = tuple(
            LivingMember(each, counts=each in there, says="Synced" if each in there else "silent") for each in MEMBERS
        )
        return LivingQuorum(quorum, "galera", members, serves=True)


def use_galera(monkeypatch: pytest.MonkeyPatch, cloud: GaleraCloud) -> None:
    """Lets a restoration work on a cloud, without pauses."""
    use(monkeypatch, cloud)
    monkeypatch.setattr(galera_restoration, "PAUSE", 0.01)
    monkeypatch.setattr(galera_restoration, "STOPS", 0.1)
    monkeypatch.setattr(galera_restoration, "read_quorum", cloud.read_quorum)
    monkeypatch.setattr(volume_pod, "run_in_pod", cloud.receive)
    monkeypatch.setattr(galera_restoration, "run_in_pod", cloud.marks)
    monkeypatch.setattr(survivors, "run_in_pod", cloud.serves)

    def failed(_api: Api, _job: Object) -> str:
        return "no space"

    monkeypatch.setattr(failures, "failed_job", failed)
