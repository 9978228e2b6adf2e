"""A machine goes out and comes back on a real API server and scheduler: Lease, marks, and evictions by a budget.

Nodes and pods are simulated, and no program answers in a pod: every quorum is whole, and the machine has neither
computes nor OSDs. The replica of a machine whose registry of images is away has the status that a kubelet would write.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.api import MERGE, STRATEGIC, Api
from cluster.objects import Object, listed, name, text, texts
from console.errors import UserError
from contract import MAINTENANCE, NAME
from operations import operation_lease, wholeness_wait
from operations.live_cluster import LiveCluster
from operations.living.cloud import LivingCloud
from operations.maintenance import out_and_back
from operations.maintenance.failure_domains import named
from operations.maintenance.out_and_back import Maintenance, Stalled
from operations.operation_lease import LEASES, CloudOperation, current, held
from proof import control_plane
from tests.operations.living.living_cloud import living
from tests.operations.maintenance.small_cloud import PLAN
from tests.proof.simulated_nodes import node_object, plane_without_kubelets, until

OUT, OTHER = "messaging1", "messaging2"
BY_HAND = "byhand"
"""Label of a pod whose status a test writes."""
LABELS = {NAME: "guarded"}
DEPLOYMENT = "/apis/apps/v1/namespaces/openstack/deployments"
BUDGETS = "/apis/policy/v1/namespaces/openstack/poddisruptionbudgets"


class Interrupted(BaseException):
    """Ctrl-C."""


@pytest.fixture
def stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the simulated kubelets leave pods alone whose status a test writes."""
    every = "- {key: .metadata.deletionTimestamp, operator: DoesNotExist}\n"
    for path in control_plane.STAGES.glob("*"):
        found = path.read_text(encoding="utf-8")
        others = f"      - {{key: .metadata.labels.{BY_HAND}, operator: DoesNotExist}}\n"
        (tmp_path / path.name).write_text(found.replace(every, every + others), encoding="utf-8")
    monkeypatch.setattr(control_plane, "STAGES", tmp_path)


@pytest.fixture
def api(binaries: Path, stages: None) -> Generator[Api]:
    """The API server of two nodes, each with a replica behind a budget that admits one eviction."""
    del stages
    with plane_without_kubelets(binaries) as found:
        found.api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "openstack"}})
        for node in (OUT, OTHER):
            found.api.ask("POST", "/api/v1/nodes", node_object(node))
        template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        spec = {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": template}
        found.api.ask("POST", DEPLOYMENT, {"metadata": {"name": "guarded"}, "spec": spec})
        budget = {"minAvailable": 1, "selector": {"matchLabels": LABELS}}
        found.api.ask("POST", BUDGETS, {"metadata": {"name": "guarded"}, "spec": budget})
        until(lambda: len(running(found.api)) == 2)
        if OUT not in running(found.api):  # the scheduler may choose one node for both
            move(found.api)
        until(lambda: admitted(found.api) == 1)
        yield found.api


def running(api: Api) -> list[str]:
    """Returns the nodes of running replicas."""
    pods = listed(api.ask("GET", "/api/v1/namespaces/openstack/pods"), "items")
    return [
        text(pod, "spec", "nodeName")
        for pod in pods
        if text(pod, "status", "phase") == "Running" and not text(pod, "metadata", "deletionTimestamp")
    ]


def move(api: Api) -> None:
    """Starts both replicas again on the node that goes out."""
    api.ask("PATCH", f"/api/v1/nodes/{OTHER}", {"spec": {"unschedulable": True}}, content=MERGE)
    api.ask("DELETE", "/api/v1/namespaces/openstack/pods")
    until(lambda: running(api) == [OUT, OUT])
    api.ask("PATCH", f"/api/v1/nodes/{OTHER}", {"spec": {"unschedulable": False}}, content=MERGE)


def admitted(api: Api) -> int:
    return api.ask("GET", f"{BUDGETS}/guarded").get("status", {}).get("disruptionsAllowed", 0)


def stalls_without_an_image(api: Api, take_out: Callable[[], None], said: Sequence[str]) -> None:
    """Requires that a drain names the replica elsewhere for which its budget waits, and that its image is missing."""
    set_status(api, {"state": {"waiting": {"reason": "ImagePullBackOff"}}, "ready": False}, "False")
    until(lambda: admitted(api) == 0)
    with pytest.raises(Stalled) as stalled:
        take_out()
    assert "The disruption budget guarded needs 1 healthy pods and has 1 currently" in str(stalled.value)
    waits = f" on {OTHER} is not ready, and its budget waits for it: ImagePullBackOff of a\n"
    assert waits in str(stalled.value)
    assert any(waits.strip() in line for line in said), "it is said while the run waits"
    assert running(api).count(OUT) == 1
    set_status(api, {"state": {"running": {}}, "ready": True}, "True")
    until(lambda: admitted(api) == 1)


def set_status(api: Api, container: Object, ready: str) -> None:
    pods = listed(api.ask("GET", "/api/v1/namespaces/openstack/pods"), "items")
    pod = next(pod for pod in pods if text(pod, "spec", "nodeName") == OTHER)
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": "2026-11-30T14:00:00Z"}
    status = {"name": "a", "image": "a", "imageID": "", "restartCount": 0, **container}
    changed = {"status": {"conditions": [condition], "containerStatuses": [status]}}
    path = f"/api/v1/namespaces/openstack/pods/{name(pod)}"
    api.ask("PATCH", path, {"metadata": {"labels": {BY_HAND: "true"}}}, content=MERGE)
    api.ask("PATCH", f"{path}/status", changed, content=STRATEGIC)


def node(api: Api, called: str) -> Object:
    return api.ask("GET", f"/api/v1/nodes/{called}")


def test_a_machine_goes_out_and_comes_back(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (out_and_back, wholeness_wait):
        monkeypatch.setattr(module, "PAUSE", 0.2)
    domain = named(PLAN, OUT)
    assert domain
    said: list[str] = []
    interrupt_at = "evict the pods"

    def say(message: str) -> None:
        said.append(message)
        if interrupt_at and interrupt_at in message:
            raise Interrupted

    def read() -> LivingCloud:
        pods = listed(api.ask("GET", "/api/v1/namespaces/openstack/pods"), "items")
        return living(PLAN, nodes=api.items("/api/v1/nodes")[0], pods=pods)

    def take_out(subject: str = OUT) -> None:
        with held(api, CloudOperation(subject), "dev", say) as lease:
            Maintenance(LiveCluster(api, PLAN, "proof", ()), lease, read, say).take_out(domain)

    with pytest.raises(Interrupted):
        take_out()
    interrupt_at = ""
    closed = node(api, OUT)
    assert closed["spec"]["unschedulable"]
    assert texts(closed, "metadata", "annotations")[MAINTENANCE] == OUT
    assert OUT in running(api)
    began = current(api)
    assert began
    with pytest.raises(UserError, match=f"Maintenance of {OUT} is under way: .*@.* began it at"):
        take_out(OTHER)

    api.ask("PATCH", f"{BUDGETS}/guarded", {"spec": {"minAvailable": 2}}, content=MERGE)
    until(lambda: admitted(api) == 0)
    monkeypatch.setattr(out_and_back, "DRAIN", 1.0)
    with pytest.raises(Stalled, match=r"The disruption budget guarded needs 2 healthy pods and has 2 currently"):
        take_out()
    api.ask("PATCH", f"{BUDGETS}/guarded", {"spec": {"minAvailable": 1}}, content=MERGE)
    stalls_without_an_image(api, take_out, said)
    monkeypatch.setattr(out_and_back, "DRAIN", 60.0)
    take_out()
    until(lambda: running(api) == [OTHER, OTHER])
    assert current(api) == replace(began, step="5. hold until --end")
    assert "holderIdentity" not in api.ask("GET", f"{LEASES}/{operation_lease.NAME}")["spec"]

    with held(api, CloudOperation(OUT), "dev", say) as lease:
        Maintenance(LiveCluster(api, PLAN, "proof", ()), lease, read, say).bring_back(domain)
        lease.finish()
    opened = node(api, OUT)
    assert not opened["spec"].get("unschedulable")
    assert MAINTENANCE not in texts(opened, "metadata", "annotations")
    assert current(api) is None
    assert name(opened) == OUT
