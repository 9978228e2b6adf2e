"""What every virt host's machines need: how to log in there, and the data of their first boot.

Also has the resource that applies later changes of a libvirt domain.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
from pulumi import dynamic

from blueprint.plan.nodes import Node
from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.settings import Ssh
from blueprint.stackfile.virt import Virt
from components.target import GuestMachine, ssh_client
from components.target.ssh_connection import as_root
from components.virt_host import DOMAIN
from components.virt_host.cloud_init import Guest, Interface, meta_data, network_config, user_data
from components.virt_host.host_keys import HostKeys
from components.virt_host.redefinition import KNOWN_HOSTS, DefinitionProvider


class DomainDefinition(dynamic.Resource, module="quorate", name="DomainDefinition"):
    """Resource that applies changes of a domain's definition (components/virt_host/redefinition.py)."""

    def __init__(self, name: str, props: Mapping[str, pulumi.Input[object]], opts: pulumi.ResourceOptions) -> None:
        super().__init__(DefinitionProvider(), name, dict(props), opts)


@dataclass(frozen=True)
class VirtAccess:
    """The settings by which virt hosts are reached and their machines configured. `keys`: derives host keys."""

    ssh: Ssh
    virt: Virt
    management: IPv4Network
    keys: HostKeys

    def host_key(self, node: Node) -> pulumi.Input[str]:
        """Returns the public SSH host key of a machine: that of the stack file, or the one that is derived."""
        return node.machine.host_key or self.keys.public(node.name)

    def cloud_init(self, vm: GuestMachine) -> dict[str, str | pulumi.Output[str]]:
        """Returns the files that cloud-init reads at a machine's first boot, by name. `user-data` is a secret."""
        node = vm.node
        interface = Interface.of(node.machine.hypervisor_type, vm.definition.get(DOMAIN, ""))
        guest = Guest(node.name, node.address, interface, self.ssh.user)
        pair = pulumi.Output.all(self.keys.private(guest.name), self.keys.public(guest.name))
        return {
            "user-data": pulumi.Output.secret(pair.apply(lambda both: user_data(guest, self.virt, both[0], both[1]))),
            "meta-data": meta_data(guest),
            "network-config": network_config(guest, self.virt, self.management),
        }

    def definition(self, name: str, host: Machine, vm: GuestMachine, opts: pulumi.ResourceOptions) -> DomainDefinition:
        """Creates the resource that applies later changes of a domain."""
        libvirt = host.hypervisor_type.connection or ""
        return DomainDefinition(
            f"{name}-definition",
            {
                "name": vm.node.name,
                "definition": vm.definition[DOMAIN],
                "virsh": [*self._login(host.address), *as_root(self.ssh, "virsh", "-c", libvirt)],
                "asked": self._login(vm.restart.asks.address),
                "may_stop": self._shell(vm.restart.may_stop),
                "is_back": self._shell(vm.restart.is_back),
                "known_hosts": self._known_hosts(host, vm),
            },
            opts,
        )

    def _login(self, address: str) -> list[str]:
        return ssh_client.words(address, self.ssh, KNOWN_HOSTS)

    def _shell(self, text: str) -> str:
        return text if self.ssh.user == "root" or not text else shlex.join(as_root(self.ssh, "sh", "-c", text))

    def _known_hosts(self, host: Machine, vm: GuestMachine) -> pulumi.Output[str]:
        """Returns the file of known hosts of a restart: the virt host, and the machine that is asked."""
        asked = vm.restart.asks
        return pulumi.Output.from_input(self.host_key(asked)).apply(
            lambda found: ssh_client.known_hosts({host.address: host.host_key or "", asked.address: found}, self.ssh)
        )


def merged(opts: pulumi.ResourceOptions, **more: object) -> pulumi.ResourceOptions:
    """Returns the options with further ones, as `pulumi.ResourceOptions.merge` has it."""
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(**more))  # type: ignore[arg-type]
