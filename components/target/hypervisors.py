"""Makes the machines of virt hosts: virtual machines with libvirt, and system containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pulumi

from blueprint.plan.nodes import Node
from blueprint.stackfile.inventory import Machine, is_made
from blueprint.stackfile.settings import Settings
from components.target import GuestMachine, directory, ssh_client
from components.target.libvirt_machines import LibvirtMachines
from components.target.system_containers import SystemContainers
from components.target.virt_access import VirtAccess
from components.tree import write_whole
from components.virt_host.host_keys import HostKeys


class Hypervisors:
    """Makes the machines of a stack's virt hosts. `keys`: derives their SSH host keys.

    Raises ValueError if the settings have no `virt` or no management network.
    """

    def __init__(self, stack: str, settings: Settings, hosts: Sequence[Machine], keys: HostKeys) -> None:
        if settings.virt is None or settings.networks.management is None:
            raise ValueError("the settings of virtual machines are incomplete")
        known_hosts = directory(stack) / "known_hosts"
        keys_by_address = {host.address: host.host_key or "" for host in hosts}
        write_whole(Path(known_hosts), ssh_client.known_hosts(keys_by_address, settings.ssh), 0o644)
        access = VirtAccess(settings.ssh, settings.virt, settings.networks.management, keys)
        self._settings = settings
        self._hosts: Mapping[str, Machine] = {host.name: host for host in hosts}
        self._access = access
        image, root_filesystem = settings.virt.image, settings.virt.root_filesystem
        self._libvirt = LibvirtMachines(access, image, str(known_hosts)) if image else None
        self._containers = SystemContainers(access, root_filesystem) if root_filesystem else None

    def machine(
        self, name: str, vm: GuestMachine, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
    ) -> Sequence[pulumi.Resource]:
        """Makes a machine. Returns the resources that stand for it and for later changes of its definition.

        `after`: resources that a restart of the machine waits for. Raises ValueError if the settings have no image for
        its hypervisor.
        """
        host = self._hosts[vm.node.server]
        maker = self._libvirt if host.hypervisor_type.has_own_kernel else self._containers
        if maker is None:
            raise ValueError(f"no image for hypervisor {host.hypervisor}")
        return maker.machine(name, host, vm, after, opts)

    def makes(self, node: Node) -> bool:
        """Whether the node is a machine that is made here."""
        return is_made(node.machine, self._settings)

    def host_key(self, node: Node) -> pulumi.Input[str]:
        """Returns the public SSH host key of a machine: that of the stack file, or the one that is derived."""
        return self._access.host_key(node)
