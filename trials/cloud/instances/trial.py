# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
"""Uses instances as a tenant does: packets, metadata, security groups, volumes, images, and moves to other computes.

Runs where the addresses of the external network are reachable, with the account in the environment. Arguments: the
guest's kernel and initial RAM disk, a static busybox, a directory for the SSH key, and the physical network that leads
outside. Prints a line for each step with its seconds, and deletes everything at the end. An exception ends the run; the
next run deletes what it has left.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import openstack

# At the end, because openstacksdk's package has the name of one of Quorate's.
sys.path.append(str(Path(__file__).parents[3]))

from trials.cloud.instances import moves, storage
from trials.cloud.instances.steps import step, until
from trials.cloud.instances.tenant import OUTSIDE, Home, Tenant


def connect(tenant: Tenant, first: Any, second: Any, home: Home) -> str:
    """Tries the packets of two instances. Returns the floating address of the first one."""
    own = tenant.addresses(second)
    address = step("floating address", tenant.floating_ip, first, home.external)
    if tenant.pings(address):
        raise RuntimeError(f"{address} answers, although its security group admits nothing")
    step("security group is opened", tenant.open, home.group)
    step("floating address answers a ping", until, "a ping", lambda: tenant.pings(address))
    step("SSH with the user's key", tenant.answers, address, "hostname", first.name)
    for version, where in own.items():
        step(f"ping of the other instance, IPv{version}", tenant.answers, address, f"ping -c 3 {where}")
    name = f"host-{own[4].replace('.', '-')}"
    step("name of the other instance", tenant.answers, address, f"nslookup -type=a {name}", own[4])
    step("HTTP of the other instance", tenant.answers, address, f"wget -q -O - http://{own[4]}/", second.name)
    return address


def main() -> None:
    """Runs all steps, with the account in the environment, as the command `openstack` does."""
    kernel, ramdisk, busybox, directory = map(Path, sys.argv[1:5])
    tenant = Tenant(openstack.connect(), busybox, directory)
    tenant.remove()
    home = tenant.settle(kernel, ramdisk, sys.argv[5])
    hosts = tenant.computes()
    servers: list[Any] = [
        step(f"instance on {host} is ACTIVE", tenant.boot, home, number, host)
        for number, host in enumerate(hosts, start=1)
    ]
    first, second = servers
    for server in servers:
        told = ("lease", "SSH key ssh-ed25519", f"name {server.name}", f"user data {OUTSIDE} answers")
        step(f"{server.name} has address, metadata, key and user data", tenant.told, server, *told)
    address = connect(tenant, first, second, home)
    other = step("floating address of the other", tenant.floating_ip, second, home.external)
    storage.volume(tenant, (first, second), (address, other), hosts[0])
    moves.stopped(tenant, first, address)
    storage.root_disk(tenant, (first, second), (address, other))
    step("both instances are deleted", lambda: [tenant.delete(each) for each in servers])
    storage.bootable_volume(tenant, home, hosts[-1])
    step("everything is deleted", tenant.remove)


if __name__ == "__main__":
    main()
