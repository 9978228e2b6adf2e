"""Bare machines with cgroup v2 become a master and a worker by one `up` over SSH, and a pod has its limits there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint import node_software
from components.target import ssh_client
from console.errors import UserError
from console.progress import Reporter
from contract import DEDICATED, KUBECONFIG_OUTPUT
from tests import host_programs, sshd
from tests.engine.conftest import (
    Project,
    engine,  # noqa: F401  # pyright: ignore[reportUnusedImport] - a fixture
)
from tests.stacks import ROOT
from tests.trials.machines import bare_guest, bare_stack, site_services, virt_network
from tests.trials.machines.bare_guest import BareGuest, Installer
from tests.trials.machines.bare_stack import MASTER, PLACE, WORKER
from tests.trials.machines.site_services import Site
from toolchain import cluster_programs, debian_root
from trials.cloud.control_images import ImageSources

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

BOOT = 600.0
"""Seconds until a machine must answer by SSH."""
READY = 900.0
"""Seconds until nodes and pods must be ready, and `doctor` content."""
OWN_MEMORY = 512
"""MiB that kernel and kubelet take of a machine's memory, beside what the stack file says."""
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


@dataclass
class Trial:
    """The stack, its running machines, and what they said."""

    project: Project
    guests: dict[str, BareGuest]
    kubectl: Path
    directory: Path
    seconds: dict[str, int] = field(default_factory=dict[str, int])

    def said(self, name: str, script: str, *, must: bool = True) -> str:
        """Returns the output of a shell script on a machine. `must`: whether it has to succeed."""
        guest, ssh = self.guests[name], self.project.plan.settings.ssh
        known = self.directory / "known_hosts"
        known.write_text(ssh_client.known_hosts({guest.address: guest.host_key}, ssh), encoding="utf-8")
        words = [*ssh_client.words(guest.address, ssh, str(known)), "sh", "-s"]
        done = subprocess.run(
            words, input=script, env=self.project.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or not must, f"{name}: {script}\n{done.stdout}{done.stderr}"
        return done.stdout.strip() if done.returncode == 0 else ""

    def kubernetes(self, *words: str, text: str | None = None) -> str:
        """Returns the output of kubectl as the stack's administrator; "" if it fails."""
        file = self.directory / "kubeconfig"
        if not file.exists():
            done = self.project.run("stack", "output", KUBECONFIG_OUTPUT, "--show-secrets")
            file.touch(0o600)
            file.write_text(done.output, encoding="utf-8")
        command = [self.kubectl, f"--kubeconfig={file}", "--request-timeout=60s", *words]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else ""

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        """Measures a part of the trial."""
        started = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - started)
        print(f"{self.seconds[name]:>6} s  {name}", flush=True)


def until(what: str, condition: Callable[[], bool], limit: float) -> None:
    """Waits for a condition."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, f"not after {limit:.0f} s: {what}"
        time.sleep(3)


@pytest.fixture
def trial(
    tmp_path: Path,
    engine: dict[str, str],  # noqa: F811 - the fixture
    agent: sshd.Agent,
) -> Generator[Trial]:
    """The stack on two running machines, of which none has more than its distribution."""
    host_programs.require(bare_guest.PROGRAMS, bare_guest.PACKAGES)
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    reporter = Reporter()
    try:
        bare, machine, network = (
            debian_root.ensure(reporter, each)
            for each in (debian_root.BARE, debian_root.MACHINE, debian_root.NETWORK_IMAGES)
        )
        control, node = (
            cluster_programs.ensure(reporter, each) for each in (cluster_programs.CONTROL_PLANE, cluster_programs.NODE)
        )
    except UserError as reason:
        pytest.skip(str(reason))
    site = Site(PLACE.deployer, tmp_path / "files", tmp_path / "blobs")
    for directory in (site.files, site.blobs):
        directory.mkdir()
    archives = bare_stack.archives(control, node, machine, site)
    bare_stack.add_images(ImageSources(control, node, network), node_software.NGINX, site, tmp_path)
    memory = bare_stack.MEMORY * 1024 + OWN_MEMORY
    guests = [Installer(bare, PLACE, agent.public_key, tmp_path).make(*each, memory) for each in (MASTER, WORKER)]
    file = tmp_path / "bare.yaml"
    bare_stack.write(file, bare_stack.config(guests, archives, site))
    project = bare_stack.open_stack(tmp_path / "project", engine | {"SSH_AUTH_SOCK": str(agent.socket)}, file)
    found = Trial(project, {each.name: each for each in guests}, node / "kubectl", tmp_path)
    with virt_network.connected(PLACE), site_services.running(site), bare_guest.running(guests, bare, PLACE):
        with found.phase("both machines answer by SSH"):
            for name in found.guests:
                until(f"{name} answers", lambda name=name: bool(found.said(name, "hostname", must=False)), BOOT)
        yield found


def test_bare_machines_become_nodes(trial: Trial) -> None:
    for number, name in enumerate(trial.guests, start=1):
        assert trial.said(name, "stat -fc %T /sys/fs/cgroup") == "cgroup2fs"
        assert not trial.said(name, "command -v containerd runc kubelet kubeadm etcd chronyd curl", must=False)
        add_pod_network(trial, name, number)
    with trial.phase("the first up, which prepares both machines, makes a cluster and joins the worker to it"):
        done = trial.project.run("up", "--yes", "--skip-preview")
    assert done.code == 0, done.output[-20_000:]
    assert "is healthy" in trial.said(MASTER[0], f"{ETCD} endpoint health 2>&1")
    with trial.phase("both nodes Ready"):
        until("both nodes are Ready", lambda: ready(trial) == set(trial.guests), READY)
    for name in trial.guests:
        assert driver(trial, name) == "systemd"
    with trial.phase("a pod with limits runs on the worker"):
        scope = start_pod(trial)
    assert scope.startswith("/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod")
    for group in (scope, scope.rpartition("/")[0]):
        for file, value in LIMITS.items():
            assert trial.said(WORKER[0], f"cat {group}/{file}") == value, f"{group}/{file}"
    with trial.phase("doctor finds nothing"):
        until("doctor finds nothing", lambda: diagnosis(trial).endswith("All machines are ready.\n"), READY)
    with trial.phase("a second up"):
        done = trial.project.run("up", "--yes", "--skip-preview")
    assert done.code == 0, done.output[-20_000:]
    assert done.changes() == {}


def add_pod_network(trial: Trial, name: str, number: int) -> None:
    """Gives a machine the configuration of pods' network, which a stack with `cni: none` brings by itself."""
    text = bare_stack.pod_network(number)
    trial.said(name, f"mkdir -p /etc/cni/net.d\ncat >/etc/cni/net.d/10-site.conflist <<'END'\n{text}\nEND\n")


def ready(trial: Trial) -> set[str]:
    """Returns the nodes that are Ready."""
    said = trial.kubernetes("get", "nodes", "--output=json")
    return {
        node["metadata"]["name"]
        for node in (json.loads(said)["items"] if said else ())
        if any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"]["conditions"])
    }


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
    return trial.said(WORKER[0], find).rpartition("/")[0]


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
            "nodeName": WORKER[0],
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
