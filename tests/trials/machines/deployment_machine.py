"""Another deployment machine: a system container with files, users, processes, an sshd and an address of its own.

It reaches this host only. A proxy here connects it to the package index, as at many sites.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from blueprint.plan.nodes import Capacity
from tests.trials.machines import virt_network
from tests.trials.machines.https_proxy import https_proxy
from tests.trials.machines.virt_network import Place
from trials.cloud import cgroups, nspawn
from trials.cloud.lab_machines import LabMachine

NAME = "handover-vm1"
USER = "deployer"
HOME = Path("/home", USER)
PLACE = Place(NAME, NAME, address="10.79.0.2", deployer="10.79.0.1")
DIRECTORY = Path("/var/lib/quorate-handover")
"""The machine's files. They are removed at the end, and those of a killed run at the next one's begin."""
MACHINE = LabMachine(
    name=NAME,
    server=NAME,
    address=IPv4Address(PLACE.address),
    pods=IPv4Network("10.79.1.0/24"),
    capacity=Capacity(2, 4),
    cores=2,
    is_node=False,
    is_master=False,
    has_member=False,
    has_disk=False,
    directory=DIRECTORY / NAME,
    tree=Path(),
    secrets=Path(),
)
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
"""Where Debian has the authorities of TLS: the machine gets those of this host."""
_PASSED_ON = ("index-url", "extra-index-url", "trusted-host", "default-timeout")
"""Settings of this host's pip that the machine's gets."""
_SHARES = "512"
"""CPU shares of the machine; every other process of this host has 1024."""


@dataclass(frozen=True)
class DeploymentMachine:
    """The running machine."""

    host_key: str

    def told(self, *command: str, seconds: float = 120) -> str:
        """Returns the output of a command that root runs on the machine, which must succeed."""
        done = nspawn.run_in(MACHINE, command, timeout=seconds)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, path: Path, text: str) -> None:
        """Writes a file that only the machine's user reads, in that user's home."""
        script = 'umask 077; mkdir -p "$(dirname "$1")"; cat >"$1"; chown -R "$2": "$(dirname "$1")"'
        done = nspawn.run_in(MACHINE, ["sh", "-ec", script, "sh", str(path), USER], stdin=text)
        assert done.returncode == 0, done.stderr


@contextmanager
def running(root: Path, programs: Mapping[str, Path], public_key: str) -> Generator[DeploymentMachine]:
    """Runs the machine. Removes it afterwards, and what a killed run left.

    `root`: a Debian root. `programs`: directories that it has read-only below /opt/quorate, by name. `public_key`: of
    who may log in as `USER`.
    """
    _remove()
    with ExitStack() as stack:
        stack.callback(_remove)
        stack.enter_context(virt_network.connected(PLACE))
        proxy = stack.enter_context(https_proxy(PLACE.deployer))
        nspawn.prepare(MACHINE)
        upper = MACHINE.directory / "upper"
        (upper / "etc/ssl/certs").mkdir(parents=True)
        shutil.copy(CERTIFICATES, upper / CERTIFICATES.relative_to("/"))
        (upper / "etc/pip.conf").write_text(_pip_settings(proxy), encoding="utf-8")
        (upper / "etc/hostname").write_text(f"{NAME}\n", encoding="utf-8")
        (upper / "etc/hosts").write_text(f"127.0.0.1 localhost\n{PLACE.address} {NAME}\n", encoding="utf-8")
        (upper / "etc/resolv.conf").write_text("", encoding="utf-8")  # it has no name server
        stack.callback(nspawn.cut_power, MACHINE.directory)
        nspawn.launch(MACHINE, root, programs, PLACE.namespace, _cgroups())
        nspawn.await_init(MACHINE)
        nspawn.await_boot(MACHINE)
        machine = DeploymentMachine(nspawn.run_in(MACHINE, ["cat", "/etc/ssh/ssh_host_ed25519_key.pub"]).stdout.strip())
        machine.told("useradd", "--create-home", "--shell=/bin/bash", USER)
        machine.write(HOME / ".ssh/authorized_keys", public_key)
        yield machine


def _pip_settings(proxy: str) -> str:
    """Returns the pip.conf of a site: its proxy and authorities, and this host's package index."""
    said = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    pairs = (line.partition("=") for line in said.splitlines())
    known = {name.rpartition(".")[2]: value.strip("'") for name, _, value in pairs}
    lines = [f"{name} = {known[name]}" for name in _PASSED_ON if name in known]
    return "\n".join(["[global]", f"proxy = {proxy}", f"cert = {CERTIFICATES}", *lines, ""])


def _cgroups() -> list[Path]:
    """Creates the machine's cgroups beside those of a lab, which removes all of its own."""
    made = cgroups.create(NAME, prefix="")
    for group in made:
        if not cgroups.is_v2() and (shares := group / "cpu.shares").exists():
            shares.write_text(_SHARES, encoding="utf-8")
    return made


def _remove() -> None:
    nspawn.cut_power(MACHINE.directory)
    assert cgroups.remove(NAME, prefix="") == [], f"{NAME} has processes left"
    shutil.rmtree(DIRECTORY, ignore_errors=True)
