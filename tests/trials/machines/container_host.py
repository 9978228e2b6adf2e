"""A virt host with an init of its own: a machine of the lab that runs systemd-nspawn itself, beside a bridge."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from blueprint.plan.nodes import Capacity
from tests.trials.machines import virt_network
from tests.trials.machines.virt_network import Place
from trials.cloud import bring_up, host, network, nspawn, ssh_access
from trials.cloud.lab_machines import DIRECTORY, LabMachine

NAME = "virt1"
ADDRESS = "10.77.1.1"
MACHINE = LabMachine(
    name=NAME,
    server=NAME,
    address=IPv4Address(ADDRESS),
    pods=IPv4Network("10.78.0.0/24"),
    capacity=Capacity(8, 32),
    cores=2,
    is_node=False,
    is_master=False,
    has_member=False,
    has_disk=False,
    directory=DIRECTORY / "machines" / NAME,
    tree=Path(),
    secrets=Path(),
)
PLACE = Place(network.namespace(MACHINE), "quorate-virt1", ADDRESS, "10.77.1.254")


@dataclass(frozen=True)
class ContainerHost:
    """The running virt host."""

    host_key: str
    root: Path
    """The Debian root of the machine."""

    def start(self) -> None:
        """Starts the host and waits until it has booted."""
        nspawn.start(MACHINE, self.root, {})
        nspawn.await_init(MACHINE)
        nspawn.await_boot(MACHINE)

    def restart(self) -> None:
        """Cuts the host's power, and starts it again."""
        nspawn.cut_power(MACHINE.directory)
        self.start()

    def told(self, *command: str) -> str:
        """Returns the output of a command on the host, which must succeed."""
        done = nspawn.run_in(MACHINE, command)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def containers(self) -> set[str]:
        """Returns the names of the running containers."""
        return {line.split()[0] for line in self.told("machinectl", "list", "--no-legend").splitlines()}

    def leader(self, name: str) -> str:
        """Returns the process ID of a container's init on the host. It changes when the container restarts."""
        return self.told("machinectl", "show", name, "--property=Leader", "--value")


@contextmanager
def running(root: Path, public_key: str) -> Generator[ContainerHost]:
    """Runs the virt host, which admits `public_key`. `root`: the Debian root of a machine."""
    with ExitStack() as stack:
        stack.enter_context(host.alone())
        bring_up.take_down()
        stack.callback(bring_up.take_down)
        stack.enter_context(virt_network.connected(PLACE))
        nspawn.prepare(MACHINE)
        ssh_access.authorize(MACHINE)
        with (MACHINE.directory / "upper/root/.ssh/authorized_keys").open("a", encoding="utf-8") as keys:
            keys.write(public_key)
        stack.callback(nspawn.cut_power, MACHINE.directory)
        found = ContainerHost(ssh_access.host_key(MACHINE), root)
        found.start()
        yield found


def root_filesystem(root: Path, archive: Path) -> str:
    """Writes the archive that system containers start from. They need no kernel. Returns its SHA-256 digest."""
    words = ["tar", "--directory", root, "--exclude=./boot/*", "--use-compress-program=gzip -1", "--create", "--file"]
    subprocess.run([*words, archive, "."], check=True)
    with archive.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
