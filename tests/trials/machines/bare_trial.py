"""The trials of bare machines: a stack on them that is set up over SSH, with a closed network around."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from blueprint import node_software
from blueprint.stackfile.settings import Ssh
from components.target import ssh_client
from console.errors import UserError
from console.progress import Reporter
from contract import KUBECONFIG_OUTPUT
from tests import host_programs
from tests.engine.conftest import Done, Project
from tests.sshd import Agent
from tests.trials.machines import bare_guest, bare_stack, site_services, virt_network
from tests.trials.machines.bare_guest import BareGuest, Installer
from tests.trials.machines.bare_stack import PLACE
from tests.trials.machines.site_services import Site
from toolchain import cluster_programs, debian_root
from toolchain.debian_root import Root
from trials.cloud.control_images import ImageSources

BOOT = 600.0
"""Seconds until a machine must answer by SSH."""
READY = 900.0
"""Seconds until nodes and pods must be ready, and `doctor` content."""
MEMORY = bare_stack.MEMORY * 1024 + 512
"""MiB of a machine: kernel and kubelet take half a GiB beside what the stack file says."""


@dataclass
class Trial:
    """The stack, its running machines, and what they said."""

    project: Project
    guests: dict[str, BareGuest]
    kubectl: Path
    directory: Path
    seconds: dict[str, int] = field(default_factory=dict[str, int])

    def up(self) -> Done:
        """Runs `up`, which must succeed."""
        done = self.project.run("up", "--yes", "--skip-preview")
        assert done.code == 0, done.output[-20_000:]
        return done

    def said(self, name: str, script: str, *, must: bool = True) -> str:
        """Returns the output of a shell script on a machine. `must`: whether it has to succeed."""
        done = login(
            self.guests[name], self.project.plan.settings.ssh, self.directory, self.project.environment, script
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


def login(
    guest: BareGuest, ssh: Ssh, directory: Path, variables: Mapping[str, str], script: str
) -> subprocess.CompletedProcess[str]:
    """Runs a shell script on a machine, whose SSH host key must be the one that is known.

    `directory`: for the file of known hosts. `variables`: by which the agent is found.
    """
    known = directory / "known_hosts"
    known.write_text(ssh_client.known_hosts({guest.address: guest.host_key}, ssh), encoding="utf-8")
    words = [*ssh_client.words(guest.address, ssh, str(known)), "sh", "-s"]
    return subprocess.run(words, input=script, env=dict(variables), capture_output=True, text=True, check=False)


def until(what: str, condition: Callable[[], bool], limit: float) -> None:
    """Waits for a condition."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, f"not after {limit:.0f} s: {what}"
        time.sleep(3)


def roots(*wanted: Root) -> list[Path]:
    """Returns Debian roots, and installs what machines need on this host. Skips the test if that is impossible here."""
    host_programs.require(bare_guest.PROGRAMS, bare_guest.PACKAGES)
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    try:
        return [debian_root.ensure(Reporter(), each) for each in wanted]
    except UserError as reason:
        pytest.skip(str(reason))


@contextmanager
def running(
    directory: Path, machines: Mapping[str, tuple[str, Sequence[str]]], root: Path, engine: dict[str, str], agent: Agent
) -> Generator[Trial]:
    """Runs machines that have no more than their distribution, and opens a stack on them.

    `machines`: address and roles, by name. `root`: their Debian root. `engine`: variables by which it is found.
    """
    machine, network = roots(debian_root.MACHINE, debian_root.NETWORK_IMAGES)
    control, node = (
        cluster_programs.ensure(Reporter(), each) for each in (cluster_programs.CONTROL_PLANE, cluster_programs.NODE)
    )
    site = Site(PLACE.deployer, directory / "files", directory / "blobs")
    for each in (site.files, site.blobs):
        each.mkdir()
    archives = bare_stack.archives(control, node, machine, site)
    bare_stack.add_images(ImageSources(control, node, network), node_software.NGINX, site, directory)
    installer = Installer(root, PLACE, agent.public_key, directory)
    guests = {name: installer.make(name, address, MEMORY) for name, (address, _) in machines.items()}
    servers = [bare_stack.server(each, machines[each.name][1]) for each in guests.values()]
    file = directory / "bare.yaml"
    bare_stack.write(file, bare_stack.config(servers, archives, site))
    project = bare_stack.open_stack(directory / "project", engine | {"SSH_AUTH_SOCK": str(agent.socket)}, file)
    found = Trial(project, guests, node / "kubectl", directory)
    with virt_network.connected(PLACE), site_services.running(site), bare_guest.running([*guests.values()], PLACE):
        with found.phase("the machines answer by SSH"):
            for name in guests:
                await_login(found, name)
        yield found


def await_login(trial: Trial, name: str) -> None:
    """Waits until a machine answers by SSH with the host key that is known."""
    until(f"{name} answers", lambda: bool(trial.said(name, "hostname", must=False)), BOOT)


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
