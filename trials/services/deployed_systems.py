"""What Ironic's trial deploys on its machine: a small system, or a server of the stack."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Protocol

from formats.ssh_options import options
from trials.bare_metal.server_image import NewServer
from trials.services.openstack_services import ServiceCloud
from trials.services.testbed import NETWORK, ServiceMachine, require, until
from trials.services.virtual_bmcs import BmcMachine

_SERVER = "quorate-machine"
"""The server's name, as bare_metal_client.py has it."""
_RUNS = "guest: it runs from the disk that Ironic wrote"
_BOOT = 300
"""Seconds until the small system must run: a machine's firmware is slow without KVM. Project figure."""
_LOGIN = 900
"""Seconds until a server must answer by SSH, and then have its address: its first boot without KVM. Project figure."""
_ADDRESS = IPv4Interface(f"{NETWORK}.200/24")
"""Outside of the subnet's pools, and of no machine of the test bed."""
_KEY, _KNOWN = "/login", "/known_hosts"
"""Files of the client's machine."""
_ROOT_GIB = 3
"""The root of a server has grown beyond this: that of its image is smaller, and the machine's disk larger."""
_DISK = "lsblk --raw --noheadings --output NAME,SIZE,LABEL /dev/vda"


class DeployedSystem(Protocol):
    """A system, its image, and its deployment."""

    @property
    def image(self) -> Path:
        """A whole disk in raw format."""
        ...

    def deploy(self, cloud: ServiceCloud, machine: BmcMachine) -> list[str]:
        """Creates the server, and waits until it runs from the machine's disk. Returns notes. Raises Broken."""
        ...


@dataclass(frozen=True)
class SmallSystem:
    """A kernel with busybox, which says on the serial console that it runs (trials/bare_metal/deployed.sh)."""

    image: Path

    def deploy(self, cloud: ServiceCloud, machine: BmcMachine) -> list[str]:
        notes = cloud.use("deploy").splitlines()
        runs = until("the deployed system runs", lambda: _RUNS in machine.told(), _BOOT, 1)
        return [*notes, f"the system ran from its disk {runs:.0f} s after the server was ACTIVE"]


@dataclass(frozen=True)
class StackServer:
    """Debian with sshd and cloud-init (server_image), deployed as docs/openstack.md says: it is logged in to by SSH."""

    image: Path
    directory: Path
    """For the keys and the user data."""

    def deploy(self, cloud: ServiceCloud, machine: BmcMachine) -> list[str]:
        new = NewServer(_SERVER, machine.mac, _ADDRESS, machine.host.address)
        login = self._make_login(cloud.client)
        user_data, host_key = new.make_user_data(self.directory, login)
        cloud.client.place_file(user_data, f"/{user_data.name}")
        self._create(cloud, user_data.name)
        notes = cloud.use("active").splitlines()
        told = _by_ssh(cloud.client, host_key)
        answered = until("the server answers by SSH", lambda: told("hostname") == _SERVER, _LOGIN, 3)
        notes.append(f"it answered by SSH {answered:.0f} s after the server was ACTIVE")
        until("its address is its own", lambda: new.has_own_address(told), _LOGIN, 3)
        faults = new.faults(told, _ROOT_GIB)
        require(not faults, f"the server is not as its user data says: {faults}")
        drive = told("blkid --label config-2")
        require(drive.startswith("/dev/vda"), f"the config drive is not a partition of the machine's disk: {drive!r}")
        require(not _by_ssh(cloud.client, login)("hostname"), "a server with another host key was logged in to")
        require(told("hostname") == _SERVER, "the server no longer answers")
        return [*notes, *told(_DISK).splitlines()]

    def _make_login(self, client: ServiceMachine) -> str:
        """Makes the key of who may log in from the client's machine, and returns the public key."""
        key = self.directory / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        client.place_file(key, _KEY)
        return key.with_suffix(".pub").read_text(encoding="utf-8")

    def _create(self, cloud: ServiceCloud, user_data: str) -> None:
        """Creates port and server with the commands of docs/openstack.md."""
        command = f"{cloud.release}/bin/openstack"
        cloud.use(f"port create --network baremetal --fixed-ip ip-address={_ADDRESS.ip} {_SERVER}", command)
        given = f"--port {_SERVER} --config-drive true --user-data /{user_data} {_SERVER}"
        cloud.use(f"server create --flavor baremetal --image disk {given}", command)


def _by_ssh(client: ServiceMachine, host_key: str) -> Callable[[str], str]:
    """Returns what runs a script on the server, and returns its output; "" if it fails or the host key is another."""

    def told(script: str) -> str:
        client.write(_KNOWN, f"{_ADDRESS.ip} {host_key}\n")
        try:
            return client.run(["ssh", *options(_KNOWN), "-i", _KEY, "-l", "root", str(_ADDRESS.ip), script]).strip()
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return ""

    return told
