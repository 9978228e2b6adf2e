"""A dead machine's node, pods, volumes and claims are removed on a real API server, and its member starts elsewhere.

Nodes and pods are simulated, and no program answers in a pod: the lists of members are changed by fakes.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from blueprint.plan.nodes import Node
from cluster.api import Api, ApiError
from cluster.objects import Object, listed, text
from cluster.pod_exec import CommandOutput
from contract import HOSTNAME, NAME
from operations.live_cluster import LiveCluster
from operations.living.cloud import LivingCloud
from operations.operation_lease import REPLACEMENT, CloudOperation, current, held
from operations.replacement import disk_steps, failed_member, in_pods
from operations.replacement.dead_machine import NodeVolume, find
from operations.replacement.disk_steps import DiskWork
from operations.replacement.removal import OutsideCluster, Replacement
from tests.operations.living.living_cloud import living
from tests.operations.maintenance.small_cloud import PLAN
from tests.proof.simulated_nodes import node_object, plane_without_kubelets, until

NODES = ("messaging1", "messaging2", "messaging3")
NEW = "messaging4"
BASE = "/api/v1/namespaces/openstack"
CLASS = "openstack-local"


class Interrupted(BaseException):
    """The run was killed."""


@pytest.fixture(scope="module")
def api(binaries: Path) -> Generator[Api]:
    """The API server of three nodes, each with a member of RabbitMQ on its local volume."""
    with plane_without_kubelets(binaries) as found:
        found.api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "openstack"}})
        waits = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
        storage = {"metadata": {"name": CLASS}, "reclaimPolicy": "Retain", **waits}
        found.api.ask("POST", "/apis/storage.k8s.io/v1/storageclasses", storage)
        for node in NODES:
            add_node(found.api, node)
            add_volume(found.api, node)
        found.api.ask("POST", "/apis/apps/v1/namespaces/openstack/statefulsets", brokers())
        until(lambda: len(running(found.api)) == 3)
        yield found.api


def add_node(api: Api, node: str) -> None:
    made = node_object(node)
    made["metadata"]["labels"] = {**made["metadata"].get("labels", {}), HOSTNAME: node}
    api.ask("POST", "/api/v1/nodes", made)


def add_volume(api: Api, node: str) -> None:
    """Adds a local volume of RabbitMQ on a node."""
    rule = {"key": HOSTNAME, "operator": "In", "values": [node]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": CLASS,
        "local": {"path": "/var/lib/quorate/openstack/rabbitmq"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}},
    }
    api.ask("POST", "/api/v1/persistentvolumes", {"metadata": {"name": f"openstack-rabbitmq-{node}"}, "spec": spec})


def brokers() -> Object:
    labels = {NAME: "rabbitmq"}
    apart = {"labelSelector": {"matchLabels": labels}, "topologyKey": HOSTNAME}
    pod: dict[str, Any] = {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
        "containers": [{"name": "a", "image": "a", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
    }
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": CLASS,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    spec = {
        "replicas": 3,
        "serviceName": "rabbitmq",
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
    }
    return {"metadata": {"name": "rabbitmq"}, "spec": spec}


def running(api: Api) -> dict[str, tuple[str, str]]:
    """Node and UID of each running member."""
    return {
        text(pod, "metadata", "name"): (text(pod, "spec", "nodeName"), text(pod, "metadata", "uid"))
        for pod in listed(api.ask("GET", f"{BASE}/pods"), "items")
        if text(pod, "status", "phase") == "Running" and not text(pod, "metadata", "deletionTimestamp")
    }


def nothing(*_words: object) -> str:
    return ""


def names(api: Api, path: str) -> set[str]:
    return {text(each, "metadata", "name") for each in listed(api.ask("GET", path), "items")}


def test_a_member_finds_a_place_on_the_new_machine(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    before = running(api)
    (member,) = [name for name, (node, _) in before.items() if node == NODES[1]]
    cluster = LiveCluster(api, PLAN, "proof", ())
    node = next(each for each in PLAN.nodes if each.name == NODES[1])
    dead = find(cluster, node)
    directory = "/var/lib/quorate/openstack/rabbitmq"
    assert dead.volumes == (NodeVolume(f"openstack-rabbitmq-{NODES[1]}", f"data-{member}", directory),)
    assert dead.members == (("rabbitmq", member),)

    forgotten: list[str] = []

    def forget_broker(_cluster: LiveCluster, _quorum: str, gone: str) -> str:
        forgotten.append(gone)
        return ""

    monkeypatch.setattr(in_pods, "forget_broker", forget_broker)
    monkeypatch.setattr(in_pods, "forget_records", nothing)
    written: list[Sequence[str]] = []
    interrupt_at = "delete the volumes"

    def say(message: str) -> None:
        if interrupt_at and interrupt_at in message:
            raise Interrupted

    def read() -> LivingCloud:
        return living(PLAN, {member: "no answer"})

    def remove() -> None:
        with held(api, CloudOperation(NODES[1], REPLACEMENT, new=NEW), "dev", say) as lease:
            outside = OutsideCluster(written.append, lambda: None)
            Replacement(cluster, lease, read, say).remove(find(cluster, node), outside)
            if not interrupt_at and len(written) == 3:
                lease.finish()

    with pytest.raises(Interrupted):
        remove()
    assert NODES[1] not in names(api, "/api/v1/nodes")
    assert set(running(api)) == set(before) - {member}
    interrupt_at = ""
    remove()
    assert forgotten == [member, member], "its claim was still there"
    until(lambda: f"openstack-rabbitmq-{NODES[1]}" not in names(api, "/api/v1/persistentvolumes"))
    operation = current(api)
    assert operation
    assert (operation.done, operation.new) == ((NODES[1],), NEW)
    remove()
    assert forgotten == [member, member], "nothing of it is left"

    add_node(api, NEW)
    add_volume(api, NEW)
    until(lambda: len(running(api)) == 3)
    after = running(api)
    assert after[member][0] == NEW
    assert {name: each for name, each in after.items() if name != member} == {
        name: each for name, each in before.items() if name != member
    }
    with pytest.raises(ApiError, match="404"):
        api.ask("GET", f"/api/v1/persistentvolumes/openstack-rabbitmq-{NODES[1]}")


def test_a_member_waits_for_its_machine_under_its_name(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    before = running(api)
    (member,) = [name for name, (node, _) in before.items() if node == NODES[0]]
    monkeypatch.setattr(in_pods, "forget_broker", nothing)
    cluster = LiveCluster(api, PLAN, "proof", ())
    node = next(each for each in PLAN.nodes if each.name == NODES[0])
    with held(api, CloudOperation(NODES[0], REPLACEMENT), "dev", print) as lease:
        written: list[Sequence[str]] = []
        outside = OutsideCluster(written.append, None)
        Replacement(cluster, lease, lambda: living(PLAN, {member: "no answer"}), print).remove(
            find(cluster, node), outside
        )
        assert (lease.operation.done, written) == ((NODES[0],), [[]])
        lease.finish()
    claim = api.ask("GET", f"{BASE}/persistentvolumeclaims/data-{member}")
    assert text(claim, "spec", "volumeName") == f"openstack-rabbitmq-{NODES[0]}"
    until(lambda: member in names(api, f"{BASE}/pods"))
    assert member not in running(api), "no other node has its volume"
    add_node(api, NODES[0])
    until(lambda: len(running(api)) == 3)
    assert running(api)[member][0] == NODES[0]


def test_a_member_comes_back_on_its_empty_volume(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the pod and the claim of this member go. Each run is killed before one of its changes, or ends."""
    before, claims = running(api), claim_uids(api)
    (member,) = [name for name, (node, _) in before.items() if node == NODES[2]]
    found = next(each for each in PLAN.nodes if each.name == NODES[2])
    node = replace(found, machine=replace(found.machine, host_key="ssh-ed25519 A"))
    cluster = LiveCluster(api, PLAN, "proof", ())
    cloud = living(PLAN, {member: "its disk is away"})
    forgotten: list[str] = []
    emptied: list[str] = []

    def forget_broker(_cluster: LiveCluster, _quorum: str, gone: str) -> str:
        assert member not in running(api)
        forgotten.append(gone)
        return ""

    def shell(place: Node, script: str, _seconds: float) -> CommandOutput:
        assert member not in running(api)
        emptied.append(f"{place.name}: {script.splitlines()[0]}")
        return CommandOutput("", "", 0)

    monkeypatch.setattr(in_pods, "broker_runs", nothing)
    monkeypatch.setattr(in_pods, "forget_broker", forget_broker)
    disk = failed_member.find(cluster, node, member)
    assert (disk.volume, disk.identity) == (f"openstack-rabbitmq-{node.name}", claims[f"data-{member}"])
    assert disk.reasons(cloud, cluster) == []
    for steps in (disk.removal(), disk.end()[:-1]):
        for changes in range(1, 4):
            operation = CloudOperation(disk.subject, REPLACEMENT)
            with killed_after(api, changes), held(api, operation, "dev", print) as lease:
                disk_steps.run(steps, DiskWork(cluster, lease, lambda: cloud, print, shell))
    assert set(forgotten) == {member}
    assert emptied == [f"{node.name}: DIRECTORY=/var/lib/quorate/openstack/rabbitmq"]
    until(lambda: len(running(api)) == 3)
    after = running(api)
    assert after[member][0] == node.name
    assert [name for name, each in before.items() if after[name] != each] == [member]
    assert [name for name, uid in claim_uids(api).items() if claims[name] != uid] == [f"data-{member}"]


def claim_uids(api: Api) -> dict[str, str]:
    found = listed(api.ask("GET", f"{BASE}/persistentvolumeclaims"), "items")
    return {text(each, "metadata", "name"): text(each, "metadata", "uid") for each in found}


@contextmanager
def killed_after(api: Api, changes: int) -> Generator[None]:
    """Kills this thread's run before the change that follows so many others. Changes of the Lease do not count."""
    ask, left = api.ask, changes

    def counted(method: str, path: str, *rest: Any, **named: Any) -> Object:
        nonlocal left
        if method != "GET" and "/leases" not in path and threading.current_thread() is threading.main_thread():
            if not left:
                raise Interrupted
            left -= 1
        return ask(method, path, *rest, **named)

    with patch.object(api, "ask", counted), suppress(Interrupted):
        yield
