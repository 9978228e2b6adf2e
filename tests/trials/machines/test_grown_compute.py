"""A machine with the image and the config drive of Ironic's servers becomes a compute by an entry in the stack file."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from dataclasses import replace
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.stackfile.settings import Ssh
from tests import sshd
from tests.engine.conftest import (
    engine,  # noqa: F401  # pyright: ignore[reportUnusedImport] - a fixture
)
from tests.trials.machines import bare_guest, bare_stack, bare_trial, deployed_guest, virt_network
from tests.trials.machines.bare_guest import BareGuest
from tests.trials.machines.bare_stack import PLACE
from tests.trials.machines.bare_trial import BOOT, READY, Trial, add_pod_network, ready, until
from toolchain import debian_root
from trials.bare_metal import server_image
from trials.bare_metal.disk_tools import DiskTools
from trials.bare_metal.server_image import NewServer

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

MASTER, COMPUTE = "master1", "compute1"
MACHINES = {MASTER: ("10.76.0.11", ["master", "controller", "compute", "storage"])}
ADDRESS = IPv4Interface("10.76.0.13/24")
NEW = NewServer(COMPUTE, bare_guest.mac(str(ADDRESS.ip)), ADDRESS, PLACE.deployer)
LABELS = {"quorate.io/pool": "compute", "quorate.io/server": COMPUTE, "openstack-compute-node": "enabled"}
TAINT = {"key": "quorate.io/dedicated", "value": "compute", "effect": "NoSchedule"}


@pytest.fixture
def roots() -> list[Path]:
    """Debian roots of the image and of the tools."""
    return bare_trial.roots(debian_root.SERVER_IMAGE, debian_root.BARE_METAL)


@pytest.fixture
def trial(
    tmp_path: Path,
    engine: dict[str, str],  # noqa: F811 - the fixture
    agent: sshd.Agent,
    roots: list[Path],
) -> Generator[Trial]:
    """The stack on one running machine, which has all roles."""
    with bare_trial.running(tmp_path, MACHINES, roots[0], engine, agent) as found:
        yield found


@pytest.fixture
def machine(tmp_path: Path, roots: list[Path], agent: sshd.Agent) -> BareGuest:
    """The machine to come, with its disk and config drive."""
    tools, image = DiskTools(roots[1]), tmp_path / "image"
    server_image.make(tools, roots[0], image)
    return deployed_guest.make(tools, image, NEW, agent.public_key, bare_trial.MEMORY)


def test_the_host_key_is_known_before_the_first_login(tmp_path: Path, machine: BareGuest, agent: sshd.Agent) -> None:
    def told(script: str, guest: BareGuest = machine) -> str:
        done = bare_trial.login(guest, Ssh(), tmp_path, os.environ | {"SSH_AUTH_SOCK": str(agent.socket)}, script)
        return done.stdout.strip() if done.returncode == 0 else ""

    started = time.monotonic()
    with virt_network.connected(PLACE), bare_guest.running([machine], PLACE):
        until("the machine answers", lambda: told("hostname") == COMPUTE, BOOT)
        print(f"it answered after {time.monotonic() - started:.0f} s", flush=True)
        until("its address is its own", lambda: NEW.has_own_address(told), BOOT)
        assert not NEW.faults(told, 30)
        another = replace(machine, host_key=agent.public_key.strip())
        assert not told("hostname", another), "a machine with another host key is not logged in to"
        assert told("hostname") == COMPUTE


def test_a_deployed_machine_becomes_a_compute(trial: Trial, machine: BareGuest) -> None:
    add_pod_network(trial, MASTER, 1)
    with bare_guest.running([machine], PLACE):  # it boots for minutes meanwhile
        with trial.phase("the first up, which makes a cluster of one machine"):
            trial.up()
        with trial.phase("the machine is a Ready node"):
            until("the node is Ready", lambda: ready(trial) == {MASTER}, READY)
        trial.guests[COMPUTE] = machine
        with trial.phase("the new machine answers by SSH"):
            bare_trial.await_login(trial, COMPUTE)
        assert not trial.said(COMPUTE, "command -v containerd runc kubelet kubeadm chronyd curl", must=False)
        add_pod_network(trial, COMPUTE, 2)
        add_entry(trial, bare_stack.server(machine, ["compute"]))
        with trial.phase("the up that prepares the new machine and joins it"):
            done = trial.up()
        print({kind: sorted(names) for kind, names in done.changes().items()}, flush=True)
        with trial.phase("the new node is Ready"):
            until("both nodes are Ready", lambda: ready(trial) == {MASTER, COMPUTE}, READY)
        node = json.loads(trial.kubernetes("get", "node", COMPUTE, "--output=json"))
        assert LABELS.items() <= node["metadata"]["labels"].items()
        assert TAINT in node["spec"]["taints"]
        assert {"type": "InternalIP", "address": str(ADDRESS.ip)} in node["status"]["addresses"]
        with trial.phase("another up"):
            assert trial.up().changes() == {}


def add_entry(trial: Trial, server: dict[str, Any]) -> None:
    """Adds a server to the stack file."""
    file = trial.project.stack_file
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    document["config"]["quorate:servers"].append(server)
    file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
