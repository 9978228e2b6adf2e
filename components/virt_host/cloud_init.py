"""The data of cloud-init for a new machine (data source NoCloud): who may log in, its host key and its address.

cloud-init reads it at the first boot of a machine. A later change has no effect on a machine that has booted.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from ipaddress import IPv4Network

from blueprint.hypervisor_types import HypervisorType
from blueprint.stackfile.virt import Virt

_MAC = re.compile(r"<mac address=['\"]([0-9a-fA-F:]{17})['\"]")


@dataclass(frozen=True)
class Interface:
    """How cloud-init finds the interface in the management network: by its name or MAC address; None if unknown."""

    mac: str | None = None
    name: str | None = None

    @classmethod
    def of(cls, hypervisor: HypervisorType, domain: str) -> Interface:
        """Returns the interface of a machine. `domain`: its libvirt domain, whose first MAC address counts, or ""."""
        if hypervisor.interface:
            return cls(name=hypervisor.interface)
        found = _MAC.search(domain)
        return cls(mac=found[1]) if found else cls()


@dataclass(frozen=True)
class Guest:
    """A virtual machine as cloud-init configures it."""

    name: str
    address: str
    interface: Interface
    user: str
    """The user that logs in by SSH: root, or a user with sudo."""


def user_data(guest: Guest, virt: Virt, private_key: str, public_key: str) -> str:
    """Returns the file user-data. `private_key`, `public_key`: the machine's SSH host key."""
    user: dict[str, object] = {"name": guest.user, "ssh_authorized_keys": [key.strip() for key in virt.authorized_keys]}
    if guest.user != "root":
        user |= {"sudo": "ALL=(ALL) NOPASSWD:ALL", "shell": "/bin/bash", "lock_passwd": True}
    data = {
        "hostname": guest.name,
        # Otherwise cloud-init sets the part before the first dot.
        **({"prefer_fqdn_over_hostname": True} if "." in guest.name else {}),
        "disable_root": guest.user != "root",
        "ssh_pwauth": False,
        "ssh_deletekeys": True,
        "ssh_keys": {"ed25519_private": private_key, "ed25519_public": public_key},
        "users": [user],
        **({"ntp": {"servers": list(virt.time_servers)}} if virt.time_servers else {}),
    }
    # JSON is YAML: no value needs quoting.
    return f"#cloud-config\n{json.dumps(data, indent=2)}\n"


def meta_data(guest: Guest) -> str:
    """Returns the file meta-data. With another instance-id, cloud-init would configure the machine again."""
    return json.dumps({"instance-id": f"{guest.name}-{guest.address}", "local-hostname": guest.name}) + "\n"


def network_config(guest: Guest, virt: Virt, management: IPv4Network) -> str:
    """Returns the file network-config: a fixed address in the management network."""
    interface: dict[str, object] = {"addresses": [f"{guest.address}/{management.prefixlen}"]}
    if guest.interface.mac:
        interface["match"] = {"macaddress": guest.interface.mac}
    elif not guest.interface.name:
        interface["match"] = {"name": "en*"}
    if virt.gateway:
        interface["routes"] = [{"to": "0.0.0.0/0", "via": str(virt.gateway)}]
    if virt.nameservers:
        interface["nameservers"] = {"addresses": [str(each) for each in virt.nameservers]}
    return json.dumps({"version": 2, "ethernets": {guest.interface.name or "management": interface}}) + "\n"
