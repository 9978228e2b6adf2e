# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
"""What a tenant has in a cloud, by openstacksdk: images, networks, instances and volumes, and how its guests answer."""

from __future__ import annotations

import base64
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openstack
from trials.cloud.instances.steps import CONNECTING, step, until
from trials.guest.guest_image import GuestImage

TRIAL = "quorate-instances"
"""Name, or beginning of the name, of everything that the tenant creates."""
OUTSIDE = "203.0.113.1"
"""A host outside of the cloud, the gateway of the external network (trials/cloud/network.py)."""
EXTERNAL = "203.0.113.0/24"
POOL = {"start": "203.0.113.100", "end": "203.0.113.199"}
PRIVATE, PRIVATE_6 = "192.0.2.0/24", "2001:db8::/64"
USER_DATA = f"#!/bin/sh\nuntil ping -q -c 1 -W 2 {OUTSIDE}; do sleep 1; done >/dev/null\necho {OUTSIDE} answers\n"
AWAIT_VOLUME = "until [ -b /dev/vdb ]; do sleep 1; done"
"""Command of a guest that ends when it sees the volume that is attached to it."""
INTERFACES = ("network:ha_router_replicated_interface", "network:router_interface")
"""Owners of the ports by which a router is in the networks of a tenant."""
LIMIT = 600
"""Seconds until an instance must be ACTIVE, and until its guest must be ready. Without KVM, on a host that its control
plane keeps busy, both take up to two minutes."""


@dataclass(frozen=True)
class Home:
    """What a tenant's instances need."""

    image: Any
    flavor: Any
    external: Any
    """The external network."""
    private: Any
    """A network with IPv4 and IPv6 behind a router."""
    group: Any
    """A security group that admits nothing."""


class Tenant:
    """A tenant's objects, and how its guests are reached."""

    def __init__(self, cloud: Any, guest: GuestImage, directory: Path) -> None:
        self.cloud = cloud
        self.guest = guest
        self.key = directory / "guest_key"

    def settle(self, physical: str) -> Home:
        """Creates what instances need. `physical`: the physical network that leads outside."""
        image = step("images of the guest", self.upload)
        flavor = self.cloud.compute.create_flavor(name=TRIAL, ram=160, vcpus=1, disk=1)
        self._keypair()
        external, private = step("networks and a router", self._networks, physical)
        return Home(image, flavor, external, private, self.cloud.network.create_security_group(name=TRIAL))

    def upload(self, **properties: str) -> Any:
        """Uploads the guest and returns its image: a disk, with kernel and RAM disk as images of their own.

        `properties`: of all three.
        """
        guest = self.guest
        parts = {
            key: self._image(f"{TRIAL}-{key}", disk_format, path, **properties).id
            for key, disk_format, path in (("kernel_id", "aki", guest.kernel), ("ramdisk_id", "ari", guest.ramdisk))
        }
        # The guest does not react to a power button: Nova need not wait 60 s for it.
        own = {"os_command_line": "console=tty0 console=ttyS0 quiet", "os_shutdown_timeout": "5"}
        return self._image(TRIAL, "raw", guest.disk, **properties, **own, **parts)

    def _image(self, name: str, disk_format: str, path: Path, **properties: str) -> Any:
        container = "bare" if disk_format == "raw" else disk_format
        return self.cloud.image.create_image(
            name=name, disk_format=disk_format, container_format=container, data=path.read_bytes(), **properties
        )

    def _keypair(self) -> None:
        """Makes an SSH key and gives its public part to Nova."""
        for path in (self.key, self.key.with_suffix(".pub")):
            path.unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", TRIAL, "-f", self.key], check=True)
        public = self.key.with_suffix(".pub").read_text(encoding="utf-8")
        self.cloud.compute.create_keypair(name=TRIAL, public_key=public)

    def external_network(self, physical: str) -> Any:
        """Creates the external network."""
        network = self.cloud.network
        external = network.create_network(
            name=f"{TRIAL}-external", is_router_external=True, provider_network_type="flat",
            provider_physical_network=physical,
        )  # fmt: skip
        network.create_subnet(
            network_id=external.id, ip_version=4, cidr=EXTERNAL, gateway_ip=OUTSIDE, allocation_pools=[POOL],
            is_dhcp_enabled=False,
        )  # fmt: skip
        return external

    def _networks(self, physical: str) -> tuple[Any, Any]:
        """Creates the external network, and a private one with IPv4 and IPv6 behind a router. Returns both."""
        network, external = self.cloud.network, self.external_network(physical)
        private = network.create_network(name=TRIAL)
        # IPv6 first: one of IPv6 that follows soon may end the DHCP agent's work on the network (docs/openstack.md).
        subnets = (
            network.create_subnet(
                network_id=private.id, ip_version=6, cidr=PRIVATE_6, ipv6_address_mode="slaac", ipv6_ra_mode="slaac"
            ),
            network.create_subnet(network_id=private.id, ip_version=4, cidr=PRIVATE),
        )
        router = network.create_router(name=TRIAL, external_gateway_info={"network_id": external.id})
        for subnet in subnets:
            network.add_interface_to_router(router, subnet_id=subnet.id)
        return external, private

    def open(self, group: Any) -> None:
        """Admits ping, SSH and HTTP from everywhere."""
        tcp = {"protocol": "tcp", "port_range_min": 22, "port_range_max": 80}
        for ethertype, ping in (("IPv4", "icmp"), ("IPv6", "ipv6-icmp")):
            for rule in ({"protocol": ping}, tcp):
                self.cloud.network.create_security_group_rule(
                    security_group_id=group.id, direction="ingress", ethertype=ethertype, **rule
                )

    def has_ovn(self) -> bool:
        """Whether OVN connects the instances, in place of Neutron's agents."""
        return any(each.agent_type.startswith("OVN") for each in self.cloud.network.agents())

    def computes(self) -> tuple[str, str]:
        """Returns the hosts of the first and the last compute."""
        found = [each for each in self.cloud.compute.services() if each.binary == "nova-compute"]
        hosts = sorted(each.host for each in found)
        return hosts[0], hosts[-1]

    def boot(self, home: Home, number: int, host: str, volume: Any = None, port: Any = None) -> Any:
        """Boots an instance on a compute, of the image or of a volume. Returns it when ACTIVE.

        `port`: its port, in place of a new one in the private network. Retries until the scheduler knows a new compute.
        """
        disk = _bootable(volume) if volume else {"image_id": home.image.id}
        card = {"port": port.id} if port else {"uuid": home.private.id}
        end = time.monotonic() + LIMIT
        while True:
            server = self.cloud.compute.create_server(
                name=f"{TRIAL}-{number}", flavor_id=home.flavor.id, networks=[card],
                key_name=TRIAL, security_groups=[{"name": TRIAL}], availability_zone=f"nova:{host}",
                user_data=base64.b64encode(USER_DATA.encode()).decode(), **disk,
            )  # fmt: skip
            try:
                return self.cloud.compute.wait_for_server(server, wait=LIMIT)
            except openstack.exceptions.ResourceFailure:
                fault = self.cloud.compute.get_server(server).fault
                if "not mapped" not in str(fault) or time.monotonic() > end:
                    raise RuntimeError(f"{server.name}: {fault}") from None
                self.delete(server)
                time.sleep(10)

    def delete(self, server: Any) -> None:
        self.cloud.compute.delete_server(server)
        self.cloud.compute.wait_for_delete(server, wait=LIMIT)

    def told(self, server: Any, *lines: str) -> str:
        """Waits until the guest has written these lines to its console; returns the console."""
        end = time.monotonic() + LIMIT
        while True:
            console = self.cloud.compute.get_server_console_output(server)["output"]
            if all(f"guest: {line}" in console for line in lines):
                return console
            if time.monotonic() > end:
                raise RuntimeError(f"{server.name} has not told {lines} within {LIMIT} s:\n{console[-1500:]}")
            time.sleep(3)

    def addresses(self, server: Any) -> dict[int, str]:
        """Returns an instance's own addresses, by version of IP."""
        found = (each["ip_address"] for each in self.port(server).fixed_ips)
        return {6 if ":" in address else 4: address for address in found}

    def floating_ip(self, server: Any, external: Any) -> str:
        """Gives an instance an address of the external network."""
        made = self.cloud.network.create_ip(floating_network_id=external.id, port_id=self.port(server).id)
        return made.floating_ip_address

    def port(self, server: Any) -> Any:
        """Returns the port of an instance that has one."""
        (port,) = self.cloud.network.ports(device_id=server.id)
        return port

    def pings(self, address: str) -> bool:
        """Returns whether one of three packets comes back."""
        command = [self.guest.busybox, "ping", "-q", "-c", "3", "-W", "2", address]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def answers(self, address: str, command: str, expected: str = "", limit: int = CONNECTING) -> str:
        """Repeats a command in a guest, by SSH, until it succeeds with this text in its output; returns the output.

        Raises RuntimeError after `limit` seconds.
        """
        end = time.monotonic() + limit
        while True:
            done = self._ssh(address, command)
            if done.returncode == 0 and expected in done.stdout:
                return done.stdout
            if time.monotonic() > end:
                raise RuntimeError(f"{command!r} on {address}: {done.stdout[-500:]}{done.stderr[-500:]}")
            time.sleep(1)

    def fails(self, address: str, command: str) -> None:
        """Runs a command in a guest, by SSH. Raises RuntimeError if it succeeds, or if the guest cannot run it."""
        done = self._ssh(address, command)
        if done.returncode in (0, 255):
            raise RuntimeError(f"{command!r} on {address} did not fail: {done.stdout[-500:]}{done.stderr[-500:]}")

    def echo(self, address: str) -> subprocess.Popen[str]:
        """Opens a connection to a guest that returns each line; it is closed at the end of the `with` block."""
        return self.started(address, "cat")

    def started(self, address: str, command: str) -> subprocess.Popen[str]:
        """Starts a command in a guest, whose output is read line by line."""
        words = self._command(address, command)
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def _ssh(self, address: str, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self._command(address, command), capture_output=True, text=True, check=False, timeout=120)

    def _command(self, address: str, command: str) -> list[str | Path]:
        options = ("BatchMode=yes", "ConnectTimeout=10", "IdentitiesOnly=yes", "LogLevel=ERROR",
                   "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null")  # fmt: skip
        words = [word for option in options for word in ("-o", option)]
        return ["ssh", "-F", "none", "-i", self.key, *words, f"root@{address}", command]

    def volume(self, name: str, **source: str) -> Any:
        """Creates a volume of 1 GiB: empty, or of an image or a snapshot. Returns it when it is available."""
        made = self.cloud.block_storage.create_volume(name=name, size=1, **source)
        return self.cloud.block_storage.wait_for_status(made, "available", ["error"], 2, LIMIT)

    def attach(self, server: Any, volume: Any) -> Any:
        until(f"{server.name} may have the volume", lambda: self._attaches(server, volume))
        return self.cloud.block_storage.wait_for_status(volume, "in-use", ["error"], wait=LIMIT)

    def _attaches(self, server: Any, volume: Any) -> bool:
        """Cinder may refuse a free volume for a moment, while it deletes the record of the instance that had it."""
        try:
            self.cloud.compute.create_volume_attachment(server, volume_id=volume.id)
        except openstack.exceptions.BadRequestException as refused:
            if "already attached" not in f"{refused}":
                raise
            return False
        return True

    def detach(self, server: Any, volume: Any) -> None:
        """Detaches a volume, and waits until another instance may have it: it is available a moment before that."""
        self.cloud.compute.delete_volume_attachment(server, volume.id)
        until("the volume is free", lambda: self._is_free(volume))

    def _is_free(self, volume: Any) -> bool:
        found = self.cloud.block_storage.get_volume(volume)
        return found.status == "available" and not found.attachments

    def remove(self) -> None:
        """Deletes everything with the trial's name, also what an interrupted run has left."""
        compute, network, volumes, image = (
            self.cloud.compute, self.cloud.network, self.cloud.block_storage, self.cloud.image,
        )  # fmt: skip
        for server in list(compute.servers(name=f"^{TRIAL}")):
            self.delete(server)
        # Copies first, and the snapshots that they are made from before the volume of these.
        found = _named(volumes.volumes())
        for each, delete in (
            *((backup, volumes.delete_backup) for backup in _named(volumes.backups())),
            *((volume, volumes.delete_volume) for volume in found if volume.snapshot_id),
            *((snapshot, volumes.delete_snapshot) for snapshot in _named(volumes.snapshots())),
            *((volume, volumes.delete_volume) for volume in found if not volume.snapshot_id),
        ):
            delete(each)
            volumes.wait_for_delete(each, wait=LIMIT)
        for each in _named(network.networks()):
            for address in network.ips(floating_network_id=each.id):
                network.delete_ip(address)
        for trunk in _named(network.trunks()):
            network.delete_trunk(trunk)
        for port in _named(network.ports()):
            network.delete_port(port)
        for router in _named(network.routers()):
            for port in network.ports(device_id=router.id):
                if port.device_owner in INTERFACES:
                    network.remove_interface_from_router(router, port_id=port.id)
            network.delete_router(router)
        for found, delete in (
            (network.networks, network.delete_network),
            (network.security_groups, network.delete_security_group),
            (compute.keypairs, compute.delete_keypair),
            (compute.flavors, compute.delete_flavor),
            (image.images, image.delete_image),
        ):
            for each in _named(found()):
                delete(each)


def tenant_of(arguments: Sequence[str]) -> Tenant:
    """Returns the tenant with the account in the environment. `arguments`: those of trial.py but the last."""
    *guest, directory = map(Path, arguments)
    return Tenant(openstack.connect(), GuestImage(*guest), directory)


def _bootable(volume: Any) -> dict[str, Any]:
    disk = {"boot_index": 0, "uuid": volume.id, "source_type": "volume", "destination_type": "volume"}
    return {"block_device_mapping": [{**disk, "delete_on_termination": False}]}


def _named(objects: Any) -> list[Any]:
    return [each for each in objects if str(each.name).startswith(TRIAL)]
