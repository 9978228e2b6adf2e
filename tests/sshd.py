"""An SSH agent, and sshd on simulated machines."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from console.errors import UserError
from console.progress import Reporter
from toolchain import debian_root
from trials.services import testbed
from trials.services.testbed import ServiceMachine, ServiceTestbed

HOST_KEY = "/etc/ssh/ssh_host_ed25519_key"


@dataclass(frozen=True)
class Agent:
    """A running SSH agent with one key."""

    socket: Path
    public_key: str


@contextmanager
def agent(directory: Path) -> Generator[Agent]:
    """Runs an SSH agent with a new key. Skips the test if the host lacks a program."""
    if missing := [name for name in ("ssh", "ssh-agent", "ssh-add", "ssh-keygen") if not shutil.which(name)]:
        pytest.skip(f"this host has no {', '.join(missing)}")
    key, socket = directory / "key", directory / "socket"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    with subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL) as process:
        testbed.until("the agent", socket.exists, 10)
        environment = os.environ | {"SSH_AUTH_SOCK": str(socket)}
        subprocess.run(["ssh-add", "-q", key], check=True, env=environment)
        yield Agent(socket, key.with_suffix(".pub").read_text(encoding="utf-8"))
        process.terminate()


@contextmanager
def machines() -> Generator[ServiceTestbed]:
    """A test bed for machines with sshd. Skips the test if the host lacks something."""
    try:
        testbed.check()
        root = debian_root.ensure(Reporter(), debian_root.MACHINE)
    except (testbed.Unavailable, UserError) as reason:
        pytest.skip(str(reason))
    with ServiceTestbed(root) as around:
        yield around


def start(machine: ServiceMachine) -> None:
    """Starts sshd on a machine, with a host key of its own."""
    machine.run(["mkdir", "-p", "/run/sshd"])
    machine.run(["rm", "-f", HOST_KEY])
    machine.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", HOST_KEY])
    machine.start(["/usr/sbin/sshd", "-D", "-e", "-h", HOST_KEY, "-o", "UsePAM=no"], "root")
    testbed.until(f"sshd on {machine.name}", lambda: machine.accepts(22), 20)


def host_key(machine: ServiceMachine) -> str:
    """Returns a machine's public host key."""
    return machine.run(["cat", f"{HOST_KEY}.pub"]).strip()
