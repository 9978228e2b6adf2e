"""A live stack on a real API server: applied, unchanged, interrupted, failed and destroyed, with kwok's nodes."""

from __future__ import annotations

import json
import os
import signal
import tarfile
import threading
import time
from base64 import b64decode
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.plan.nodes import Capacity, Node
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from cluster.api import MERGE, Api, ApiError
from cluster.cache import object_cache
from cluster.objects import Object, name, number, text
from commands import deployment
from commands.live import action_command, snapshot
from components import kubelet
from console.errors import UserError
from contract import COMPUTE_NODE, DEDICATED, SERVER
from operations import action_quorum
from operations.living.quorum import LivingMember, LivingQuorum
from operations.operation_lease import CloudOperation, held
from proof import control_plane as planes
from proof.control_plane import ControlPlane, control_plane
from proof.simulated_nodes import SimulatedMachine, register_all
from proof.termination import terminate_pods
from tests.engine.conftest import ROOT_SECRET_TEXT, with_root_secret
from tests.stacks import ROOT, SOURCES, STACKS
from toolchain.engine import MANIFEST, Engine

pytestmark = pytest.mark.waits

STACK = "cloud"
CONTEXT = "kubernetes-super-admin@kubernetes"
"""The only context of the kubeconfig that kubeadm writes."""
BROKEN = "sha256:" + "0" * 64
"""The digest of an image whose containers fail here."""

FAILS = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-fails}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
      - {key: '.spec.containers.[].image | contains("BROKEN")', operator: In, values: ["true"]}
      - {key: .status.phase, operator: In, values: [Pending]}
      - {key: .spec.nodeName, operator: Exists}
  next:
    statusTemplate: |
      containerStatuses:
      {{ range .spec.containers }}
      - name: {{ .name | Quote }}
        image: {{ .image | Quote }}
        ready: false
        restartCount: 0
        state: {terminated: {exitCode: 3, reason: Error}}
      {{ end }}
      phase: Failed
""".replace("BROKEN", BROKEN)


@dataclass(frozen=True)
class Live:
    """A live stack, and the control plane that it is applied to."""

    root: Path
    plane: ControlPlane
    nodes: Sequence[Node]

    @property
    def api(self) -> Api:
        return self.plane.api

    def edit(self, **config: Any) -> None:
        """Changes keys of the stack file; None removes one."""
        file = self.root / f"Pulumi.{STACK}.yaml"
        document: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
        changed = document["config"] | {f"quorate:{key}": value for key, value in config.items()}
        document["config"] = {key: value for key, value in changed.items() if value is not None}
        file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")

    def items(self, path: str) -> list[Object]:
        return self.api.items(path)[0]

    def state(self) -> str:
        return (self.root / "build" / ".state" / ".pulumi" / "stacks" / "quorate" / f"{STACK}.json").read_text()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, binaries: Path) -> Generator[Live]:
    """A live lab on one server, in a clone of its own; nothing is applied yet."""
    if Engine.load(ROOT / ".venv" / MANIFEST) is None:
        pytest.skip("the engine is not set up: `make setup`")
    root = tmp_path_factory.mktemp("live")
    for source in (*SOURCES, ".venv"):
        (root / source).symlink_to(ROOT / source)
    target = f"quorate:target: live\n  quorate:machines: existing\n  quorate:cluster: {{context: {CONTEXT}}}"
    file = root / f"Pulumi.{STACK}.yaml"
    source = STACKS["one-server"].read_text(encoding="utf-8").replace("quorate:target: render", target)
    file.write_text(with_root_secret(source), encoding="utf-8")
    nodes = plan(load_file(file)).nodes
    with pytest.MonkeyPatch.context() as patch, _cluster(root, binaries, patch) as plane:
        patch.setenv("KUBECONFIG", str(plane.kubeconfig))
        patch.setenv("PULUMI_CONFIG_PASSPHRASE", "test")
        patch.delenv("PULUMI_BACKEND_URL", raising=False)
        patch.chdir(root)
        assert register_all(plane.api, map(_machine, nodes)) == []
        yield Live(root, plane, nodes)


@contextmanager
def _cluster(root: Path, binaries: Path, patch: pytest.MonkeyPatch) -> Generator[ControlPlane]:
    stages = root / "stages"
    stages.mkdir()
    for file in planes.STAGES.iterdir():
        (stages / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    (stages / "fails.yaml").write_text(FAILS, encoding="utf-8")
    pods = stages / "pod.yaml"
    ready = "      - {key: .status.phase, operator: In, values: [Pending, Running]}\n"
    text = pods.read_text(encoding="utf-8")
    assert text.count(ready) == 1
    broken = f"""{{key: '.spec.containers.[].image | contains("{BROKEN}")', operator: NotIn, values: ["true"]}}"""
    sound = f"      - {broken}\n"
    pods.write_text(text.replace(ready, ready + sound), encoding="utf-8")
    patch.setattr(planes, "STAGES", stages)
    with (
        control_plane(binaries, services="172.24.0.0/16") as plane,
        object_cache(plane.api, plane.check) as cache,
        terminate_pods(plane.api, cache),
    ):
        yield plane


def _machine(node: Node) -> SimulatedMachine:
    """A node as an operator has set it up for the plan."""
    capacity = kubelet.quantities(Capacity(node.machine.cpu, node.machine.memory)) | {"pods": "110"}
    allocatable = kubelet.quantities(node.allocatable) | {"pods": "110"}
    taints = kubelet.taints(node)
    return SimulatedMachine(
        node.name, node.address, capacity, allocatable, dict(node.labels), taints, "master" in node.roles
    )


def test_a_wrong_context_is_refused_before_anything_is_made(live: Live, capfd: pytest.CaptureFixture[str]) -> None:
    live.edit(cluster={"context": "elsewhere"})
    with pytest.raises(UserError, match=r"no entry named 'elsewhere'[\s\S]*Nothing was changed"):
        deployment.up(live.root, STACK)
    live.edit(cluster={"context": CONTEXT})
    assert not (live.root / "build" / ".state").exists()
    with pytest.raises(ApiError, match="404"):
        live.api.ask("GET", "/api/v1/namespaces/openstack")


def test_a_node_without_its_label_is_listed_with_its_kubectl_line(
    live: Live, capfd: pytest.CaptureFixture[str]
) -> None:
    change = {"metadata": {"labels": {SERVER: None, COMPUTE_NODE: "no"}}, "spec": {"taints": [_taint("mysqld")]}}
    live.api.ask("PATCH", "/api/v1/nodes/one1", change, content=MERGE)
    with pytest.raises(UserError, match="labelNodes: true"):
        deployment.up(live.root, STACK)
    shown = capfd.readouterr().out
    assert f"label {SERVER} is missing; expected one1" in shown
    kubectl = f"kubectl --context {CONTEXT}"
    assert f"{kubectl} label node one1 --overwrite {SERVER}=one1 {COMPUTE_NODE}=enabled" in shown
    assert f"{kubectl} taint node one1 {DEDICATED}:NoSchedule-" in shown
    assert "node one1 is not" not in shown


def _taint(pool: str) -> dict[str, str]:
    return {"key": DEDICATED, "value": pool, "effect": "NoSchedule"}


def test_a_failed_job_is_shown_and_the_next_up_goes_on(live: Live, capfd: pytest.CaptureFixture[str]) -> None:
    """This `up` sets the node's labels, which the test above removed: labelNodes is true."""
    live.edit(cluster={"context": CONTEXT, "labelNodes": True}, images={"digests": {"keystone": BROKEN}})
    threading.Thread(target=_end_first_job, args=[live.api], daemon=True).start()
    assert deployment.up(live.root, STACK) == 1
    shown = capfd.readouterr().out
    assert "Set labels and taints of node one1 as planned." in shown
    assert "Job openstack/keystone-" in shown
    assert "has failed (exit code 3)" in shown
    node = live.api.ask("GET", "/api/v1/nodes/one1")
    assert (node["metadata"]["labels"][SERVER], node["spec"].get("taints")) == ("one1", None)
    live.edit(images=None)

    assert deployment.up(live.root, STACK) == 0
    assert "created" in capfd.readouterr().out
    jobs = live.items("/apis/batch/v1/namespaces/openstack/jobs")
    assert {number(job, "status", "succeeded") for job in jobs} == {1}
    assert len(jobs) > 10


def test_up_waits_for_the_end_of_a_maintenance(live: Live) -> None:
    with held(live.api, CloudOperation("one1"), STACK, print) as lease:
        with pytest.raises(UserError, match="Maintenance of one1 is under way"):
            deployment.up(live.root, STACK)
        lease.finish()


def _end_first_job(api: Api) -> None:
    """Spares the test the ten minutes in which Kubernetes repeats a failing Job."""
    for _ in range(600):
        time.sleep(0.5)
        for job in api.items("/apis/batch/v1/jobs")[0]:
            if number(job, "status", "failed") and number(job, "spec", "backoffLimit"):
                api.ask(
                    "PATCH",
                    f"/apis/batch/v1/namespaces/openstack/jobs/{name(job)}",
                    {"spec": {"backoffLimit": 0}},
                    content=MERGE,
                )
                return


def test_all_objects_are_there_and_a_second_up_changes_nothing(live: Live, capfd: pytest.CaptureFixture[str]) -> None:
    resources = json.loads(live.state())["checkpoint"]["latest"]["resources"]
    made = {str(each["id"]) for each in resources if each["type"] == "kubernetes:core/v1:Secret"}
    secrets = {f"openstack/{name(each)}": each for each in live.items("/api/v1/namespaces/openstack/secrets")}
    assert made
    assert made <= secrets.keys()
    assert not any("<secret" in json.dumps(each) for each in secrets.values())
    state = live.state()
    contents = {content for each in secrets.values() for content in each["data"].values()}
    assert not any(content in state or b64decode(content).decode() in state for content in contents)
    assert ROOT_SECRET_TEXT not in state
    claims = live.items("/api/v1/namespaces/openstack/persistentvolumeclaims")
    assert {text(each, "status", "phase") for each in claims if name(each) != "mysqld-backup"} == {"Bound"}

    before = {name(each): text(each, "metadata", "generation") for each in _workloads(live)}
    assert deployment.up(live.root, STACK) == 0
    assert "No changes: all" in capfd.readouterr().out
    assert {name(each): text(each, "metadata", "generation") for each in _workloads(live)} == before


def test_an_action_runs_beside_a_whole_quorum_only(
    live: Live, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With kwok, the backup's pod ends at once: scheduled on the node of the member's volume, with a claim bound.

    Members on simulated nodes answer nothing, so that the action is refused; then the reading is replaced.
    """
    with pytest.raises(UserError, match="0 take part"):
        action_command.run(live.root, STACK, "mysqld-backup")
    whole = LivingQuorum("mysqld", "galera", (LivingMember("mysqld-0", counts=True, says="Synced"),), serves=True)

    def read_quorum(*_: object) -> LivingQuorum:
        return whole

    monkeypatch.setattr(action_quorum, "read_quorum", read_quorum)
    assert action_command.run(live.root, STACK, "mysqld-backup") == 0
    assert "is complete" in capfd.readouterr().out
    (job,) = [each for each in live.items("/apis/batch/v1/namespaces/openstack/jobs") if "by-hand" in name(each)]
    assert number(job, "status", "succeeded") == 1
    claims = live.items("/api/v1/namespaces/openstack/persistentvolumeclaims")
    assert {text(each, "status", "phase") for each in claims} == {"Bound"}
    with pytest.raises(UserError, match="Stop them first"):
        action_command.run(live.root, STACK, "mysqld-restore")
    assert action_command.run(live.root, STACK, "keystone-db-sync") == 0


def test_a_snapshot_has_the_states_of_all_objects_and_no_secret(live: Live) -> None:
    assert snapshot.collect(live.root, STACK) == 0
    (path,) = (live.root / "build" / STACK).glob("snapshot-*.tar.gz")
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as archive:
        found = {each.name.partition("/")[2]: archive.extractfile(each) for each in archive.getmembers()}
        texts = {inner: file.read().decode() for inner, file in found.items() if file}
    assert '"mysqld-backup"' in texts["objects/cronjobs.json"]
    assert json.loads(texts["objects/pods.json"])
    everything = "".join(texts.values())
    secrets = [each["data"] for each in live.items("/api/v1/namespaces/openstack/secrets")]
    encoded = {content for data in secrets for content in data.values()}
    assert not [each for each in encoded if each in everything or b64decode(each).decode() in everything]
    assert ROOT_SECRET_TEXT not in everything


def _workloads(live: Live) -> list[Object]:
    kinds = ("deployments", "statefulsets", "daemonsets")
    return [each for kind in kinds for each in live.items(f"/apis/apps/v1/namespaces/openstack/{kind}")]


def test_another_cluster_under_the_same_name_is_refused(live: Live) -> None:
    """The state's namespace has another UID than the cluster's: the context now means another cluster."""
    uid = live.api.ask("GET", "/api/v1/namespaces/openstack")["metadata"]["uid"]
    file = live.root / "build" / ".state" / ".pulumi" / "stacks" / "quorate" / f"{STACK}.json"
    original = file.read_text(encoding="utf-8")
    try:
        file.write_text(original.replace(uid, "00000000-0000-0000-0000-000000000000"), encoding="utf-8")
        with pytest.raises(UserError, match="its UID differs"):
            deployment.up(live.root, STACK)
        with pytest.raises(UserError, match="its UID differs"):
            deployment.destroy(live.root, STACK, STACK)
    finally:
        file.write_text(original, encoding="utf-8")


def test_a_preview_without_the_cluster_renders(
    live: Live, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(live.root / "none"))
    assert deployment.preview(live.root, STACK) == 0
    shown = capfd.readouterr().out
    assert "cannot be read" in shown
    assert deployment.NOT_COMPARED in shown
    assert "<secret" not in shown


def test_destroy_keeps_the_claims_and_their_volumes(live: Live, capfd: pytest.CaptureFixture[str]) -> None:
    claims = "/api/v1/namespaces/openstack/persistentvolumeclaims"
    before = {(name(each), each["metadata"]["uid"]) for each in live.items(claims)}
    with pytest.raises(UserError, match=f"CONFIRM={STACK}"):
        deployment.destroy(live.root, STACK, "")
    assert deployment.destroy(live.root, STACK, STACK) == 0
    assert "Kept in the cluster, with all data" in capfd.readouterr().out
    kept = live.items(claims)
    assert {(name(each), each["metadata"]["uid"]) for each in kept} == before != set()
    assert {text(each, "status", "phase") for each in kept} == {"Bound"}
    assert _workloads(live) == []
    assert live.items("/api/v1/namespaces/openstack/secrets") == []


@pytest.mark.heavy
def test_an_interrupted_up_goes_on_and_what_was_deleted_by_hand_is_made_again(
    live: Live, capfd: pytest.CaptureFixture[str]
) -> None:
    live.edit(cluster={"context": CONTEXT, "labelNodes": True}, images={"digests": {"keystone": BROKEN}})
    failed: list[str] = []
    for _ in range(2):
        threading.Thread(target=_end_first_job, args=[live.api], daemon=True).start()
        assert deployment.up(live.root, STACK) == 1
        (job,) = [each for each in live.items("/apis/batch/v1/jobs") if number(each, "status", "failed")]
        failed.append(job["metadata"]["uid"])
    assert failed[0] != failed[1], "the second up did not run the failed Job again"
    live.edit(images=None)

    threading.Thread(target=_interrupt_when, args=[live.api, "glance-api"], daemon=True).start()
    assert deployment.up(live.root, STACK) == 130
    assert "Interrupted" in capfd.readouterr().err
    assert deployment.up(live.root, STACK) == 0
    whole = {name(each) for each in _workloads(live)}
    assert "horizon" in whole

    live.api.ask("DELETE", "/apis/apps/v1/namespaces/openstack/deployments/horizon")
    assert deployment.up(live.root, STACK, refresh_first=True) == 0
    assert {name(each) for each in _workloads(live)} == whole
    assert deployment.destroy(live.root, STACK, STACK) == 0


def _interrupt_when(api: Api, deployed: str) -> None:
    """Terminates this process, which runs the engine, as soon as a Deployment is there."""
    path = "/apis/apps/v1/namespaces/openstack/deployments"
    for _ in range(1200):
        time.sleep(0.25)
        if any(name(each) == deployed for each in api.items(path)[0]):
            os.kill(os.getpid(), signal.SIGTERM)
            return
