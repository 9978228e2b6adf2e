"""Bare machines with cgroup v2 become a master and a worker by one `up` over SSH, and a pod has its limits there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint import node_software
from contract import DEDICATED
from tests import sshd
from tests.engine.conftest import (
    engine,  # noqa: F401  # pyright: ignore[reportUnusedImport] - a fixture
)
from tests.stacks import ROOT
from tests.trials.machines import bare_trial
from tests.trials.machines.bare_trial import READY, Trial, add_pod_network, ready, until
from toolchain import debian_root

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

MASTER, WORKER = "master1", "worker1"
MACHINES = {MASTER: ("10.76.0.11", ["master"]), WORKER: ("10.76.0.12", ["controller", "compute", "storage"])}
LIMITS = {"memory.max": str(64 * 2**20), "cpu.max": "25000 100000"}
"""What the pod's cgroup says of 64 MiB and a quarter of a core."""
NAME = "limited"
DOCTOR = """
import pathlib, sys
from commands.live import machine_check
from doctor import login
login.LIMIT = 390  # an emulated processor is slow
sys.exit(machine_check.check_machines(pathlib.Path.cwd(), "bare"))
"""
ETCD = "etcdctl --endpoints=https://127.0.0.1:2379 --cacert=/etc/etcd/pki/ca.crt --cert={0}.crt --key={0}.key".format(
    "/etc/kubernetes/pki/apiserver-etcd-client"
)


@pytest.fixture
def trial(
    tmp_path: Path,
    engine: dict[str, str],  # noqa: F811 - the fixture
    agent: sshd.Agent,
) -> Generator[Trial]:
    """The stack on two running machines, of which none has more than its distribution."""
    (root,) = bare_trial.roots(debian_root.BARE)
    with bare_trial.running(tmp_path, MACHINES, root, engine, agent) as found:
        yield found


def test_bare_machines_become_nodes(trial: Trial) -> None:
    for number, name in enumerate(trial.guests, start=1):
        assert trial.said(name, "stat -fc %T /sys/fs/cgroup") == "cgroup2fs"
        assert not trial.said(name, "command -v containerd runc kubelet kubeadm etcd chronyd curl", must=False)
        add_pod_network(trial, name, number)
    with trial.phase("the first up, which prepares both machines, makes a cluster and joins the worker to it"):
        trial.up()
    assert "is healthy" in trial.said(MASTER, f"{ETCD} endpoint health 2>&1")
    with trial.phase("both nodes Ready"):
        until("both nodes are Ready", lambda: ready(trial) == set(trial.guests), READY)
    for name in trial.guests:
        assert driver(trial, name) == "systemd"
    with trial.phase("a pod with limits runs on the worker"):
        scope = start_pod(trial)
    assert scope.startswith("/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod")
    for group in (scope, scope.rpartition("/")[0]):
        for file, value in LIMITS.items():
            assert trial.said(WORKER, f"cat {group}/{file}") == value, f"{group}/{file}"
    with trial.phase("doctor finds nothing"):
        until("doctor finds nothing", lambda: diagnosis(trial).endswith("All machines are ready.\n"), READY)
    with trial.phase("a second up"):
        done = trial.up()
    assert done.changes() == {}


def driver(trial: Trial, name: str) -> str:
    """Returns the cgroup driver that a node's kubelet runs with."""
    found: list[str] = []

    def known() -> bool:
        said = trial.kubernetes("get", "--raw", f"/api/v1/nodes/{name}/proxy/configz")
        found[:] = [json.loads(said)["kubeletconfig"]["cgroupDriver"]] if said else []
        return bool(found)

    until(f"kubelet of {name} tells its configuration", known, READY)
    return found[0]


def start_pod(trial: Trial) -> str:
    """Starts a pod with limits on the worker, waits until it is Running, and returns its container's cgroup."""
    text = yaml.safe_dump(pod(node_software.sandbox(int(trial.project.plan.settings.kubernetes.split(".")[1]))))
    until("the pod is there", lambda: bool(trial.kubernetes("apply", "--filename=-", text=text)), READY)
    phase = ("get", "pod", NAME, "--output=jsonpath={.status.phase}")
    until("the pod runs", lambda: trial.kubernetes(*phase) == "Running", READY)
    memory = LIMITS["memory.max"]
    find = f"""grep -lx {memory} /sys/fs/cgroup/kubepods.slice/*/*/cri-containerd-*/memory.max"""
    return trial.said(WORKER, find).rpartition("/")[0]


def pod(image: str) -> dict[str, Any]:
    """Returns a pod with limits, which tolerates the worker's taint."""
    resources = {
        "requests": {"memory": "32Mi", "cpu": "100m"},
        "limits": {"memory": "64Mi", "cpu": "250m"},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": NAME, "namespace": "default"},
        "spec": {
            "nodeName": WORKER,
            "tolerations": [{"key": DEDICATED, "operator": "Exists"}],
            "containers": [{"name": NAME, "image": image, "resources": resources}],
        },
    }


def diagnosis(trial: Trial) -> str:
    """Runs `doctor` on the stack, and returns what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", DOCTOR],
        cwd=trial.project.directory,
        env=trial.project.environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout + done.stderr, flush=True)
    return done.stdout
