"""A machine leaves a real API server with the rights of its own kubelet: pods are evicted, the node is deleted."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from cluster.api import MERGE
from components import joining
from components.k8s_master import etcd_clients
from console.progress import Reporter
from proof.control_plane import ControlPlane
from tests.proof.simulated_nodes import node_object, plane_without_kubelets, until
from toolchain import cluster_programs

LEAVING, STAYING = "leaving", "staying"
LABELS = {"app": "guarded"}
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


@pytest.fixture
def plane(binaries: Path) -> Generator[ControlPlane]:
    """A control plane with two nodes, each of which runs a replica behind a budget."""
    with plane_without_kubelets(binaries) as found:
        for name in (LEAVING, STAYING):
            found.api.ask("POST", "/api/v1/nodes", node_object(name))
        found.api.ask("POST", DEPLOYMENTS, _deployment())
        spec = {"minAvailable": 1, "selector": {"matchLabels": LABELS}}
        found.api.ask(
            "POST",
            BUDGETS,
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "guarded"}, "spec": spec},
        )
        # The second replica follows the first: by then the scheduler knows both nodes, and spreads them.
        until(lambda: len(_placed(found)) == 1)
        found.api.ask("PATCH", f"{DEPLOYMENTS}/guarded", {"spec": {"replicas": 2}}, content=MERGE)
        until(lambda: sorted(_placed(found)) == [LEAVING, STAYING])
        yield found


@pytest.fixture
def machine(plane: ControlPlane, binaries: Path, tmp_path: Path) -> Path:
    """The root directory of the leaving machine, with kubelet's credentials and programs that take notes."""
    credentials = _credentials(plane, binaries, LEAVING)
    files = {
        "etc/quorate/node.yaml": f'name: "{LEAVING}"\naddress: "10.0.0.1"\n',
        "etc/kubernetes/kubelet.conf": credentials,
        "bin/systemctl": '#!/bin/sh\necho "systemctl $*" >>"$ROOT/log"\n',
        "bin/kubeadm": '#!/bin/sh\necho "kubeadm $*" >>"$ROOT/log"\n',
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
        (tmp_path / path).chmod(0o755)
    programs = cluster_programs.ensure(Reporter(), cluster_programs.NODE)
    (tmp_path / "bin/kubectl").symlink_to(programs / "kubectl")
    return tmp_path


def test_pods_are_evicted_and_the_node_deletes_itself(plane: ControlPlane, machine: Path) -> None:
    _allow(plane)
    done = _leave(machine)
    assert done.returncode == 0, done.stdout + done.stderr
    assert plane.api.call("GET", f"/api/v1/nodes/{LEAVING}").status == 404
    until(lambda: _placed(plane) == [STAYING, STAYING])
    reset = (machine / "log").read_text().splitlines()[-1]
    assert reset.startswith("kubeadm reset --force")
    assert "--skip-phases=remove-etcd-member" in reset, "it deletes the data of a member that is still in the cluster"
    again = _leave(machine)
    assert again.returncode == 0, again.stderr


def test_a_node_without_the_right_stays_and_is_drained(plane: ControlPlane, machine: Path) -> None:
    done = _leave(machine)
    assert done.returncode != 0
    assert "cannot delete resource" in done.stderr
    node = plane.api.call("GET", f"/api/v1/nodes/{LEAVING}").body
    assert node["spec"]["unschedulable"] is True  # type: ignore[index]
    assert "kubeadm" not in (machine / "log").read_text()


def test_a_budget_that_admits_no_eviction_stops_it(
    plane: ControlPlane, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _allow(plane)
    patch = {"spec": {"minAvailable": 2}}
    plane.api.ask("PATCH", f"{BUDGETS}/guarded", patch, content=MERGE)
    done = _leave(machine, joining.LEAVE.replace(f"+ {joining.DRAIN})", "+ 5)"))
    assert done.returncode == 1
    assert f"these pods have not left {LEAVING}" in done.stderr
    assert "Cannot evict pod as it would violate the pod's disruption budget" in done.stderr
    assert _placed(plane).count(LEAVING) == 1


def test_no_node_deletes_another(plane: ControlPlane, machine: Path) -> None:
    _allow(plane)
    done = _kubectl(machine, "delete", "node", STAYING)
    assert done.returncode != 0
    assert "is not allowed to modify node" in done.stderr


def _allow(plane: ControlPlane) -> None:
    for document in etcd_clients.rights():
        group = "/apis/rbac.authorization.k8s.io/v1"
        plane.api.ask("POST", f"{group}/{document['kind'].lower()}s", document)


def _leave(machine: Path, text: str = joining.LEAVE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-euc", text], env=_environment(machine), capture_output=True, text=True, check=False, timeout=120
    )


def _kubectl(machine: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["kubectl", f"--kubeconfig={machine}/etc/kubernetes/kubelet.conf", *words]
    return subprocess.run(command, env=_environment(machine), capture_output=True, text=True, check=False, timeout=60)


def _environment(machine: Path) -> dict[str, str]:
    return {"PATH": f"{machine / 'bin'}:{os.environ['PATH']}", "ROOT": str(machine), "HOME": str(machine)}


def _credentials(plane: ControlPlane, binaries: Path, node: str) -> str:
    """Returns a kubelet's kubeconfig, as kubeadm writes it."""
    place = plane.kubeconfig.parent
    command = [
        binaries / "kubeadm", "kubeconfig", "user", f"--config={place / 'kubeadm.yaml'}",
        f"--client-name=system:node:{node}", "--org=system:nodes",
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _placed(plane: ControlPlane) -> list[str]:
    """Returns the nodes of the running replicas."""
    pods: list[Any] = plane.api.call("GET", "/api/v1/namespaces/default/pods").body["items"]  # type: ignore[assignment]
    return [
        each["spec"]["nodeName"]
        for each in pods
        if each["status"].get("phase") == "Running" and "deletionTimestamp" not in each["metadata"]
    ]


def _deployment() -> dict[str, Any]:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": LABELS},
    }
    pod = {"containers": [{"name": "a", "image": "a"}], "topologySpreadConstraints": [spread]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "guarded"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": pod},
        },
    }
