# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
"""Uses instances as a tenant does: packets, metadata, security groups, a volume, and a migration while they are used.

Runs where the addresses of the external network are reachable, with the account in the environment. Arguments: the
guest's kernel and initial RAM disk, a static busybox, a directory for the SSH key, and the physical network that leads
outside. Prints a line for each step with its seconds, and deletes everything at the end. An exception ends the run; the
next run deletes what it has left.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openstack

# At the end, because openstacksdk's package has the name of one of Quorate's.
sys.path.append(str(Path(__file__).parents[3]))

from trials.cloud.instances.pings import Pinging
from trials.cloud.instances.tenant import LIMIT, OUTSIDE, TRIAL, Tenant, until

WRITTEN = "written with fsync"


def step(name: str, act: Callable[..., Any], *arguments: Any) -> Any:
    """Calls `act` with the arguments, and prints the step's name and duration. Returns its result."""
    started = time.monotonic()
    result = act(*arguments)
    print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)
    return result


def connect(tenant: Tenant, first: Any, second: Any, external: Any, group: Any) -> str:
    """Tries the packets of two instances. Returns the floating address of the first one."""
    own = tenant.addresses(second)
    address = step("floating address", tenant.floating_ip, first, external)
    if tenant.pings(address):
        raise RuntimeError(f"{address} answers, although its security group admits nothing")
    step("security group is opened", tenant.open, group)
    step("floating address answers a ping", until, "a ping", lambda: tenant.pings(address))
    step("SSH with the user's key", tenant.answers, address, "hostname", first.name)
    for version, where in own.items():
        step(f"ping of the other instance, IPv{version}", tenant.answers, address, f"ping -c 3 {where}")
    name = f"host-{own[4].replace('.', '-')}"
    step("name of the other instance", tenant.answers, address, f"nslookup -type=a {name}", own[4])
    step("HTTP of the other instance", tenant.answers, address, f"wget -q -O - http://{own[4]}/", second.name)
    return address


def move(tenant: Tenant, server: Any, host: str, address: str) -> None:
    """Migrates an instance while it is pinged, and with a TCP connection that has to outlive the migration."""
    with tenant.echo(address) as connection, Pinging(address) as pings:
        _answers(connection, "before")
        step(f"{server.name} is migrated to {host}", tenant.migrate, server, host)
        step("a TCP connection from before the migration works", _answers, connection, "after")
        connection.terminate()
    print(f"pings during the migration: {pings.result()}", flush=True)


def _answers(connection: subprocess.Popen[str], line: str) -> None:
    """Raises RuntimeError if a guest does not return a line."""
    if connection.stdin is None or connection.stdout is None:
        raise ValueError("the connection has no pipes")
    connection.stdin.write(f"{line}\n")
    if (found := connection.stdout.readline().strip()) != line:
        raise RuntimeError(f"the guest returned {found!r} for {line!r}")


def store(tenant: Tenant, servers: tuple[Any, Any], addresses: tuple[str, str], host: str) -> None:
    """Writes to a volume in one instance and reads it in the other, which then migrates to `host` with the volume."""
    volumes = tenant.cloud.block_storage
    first, second = servers
    volume = volumes.create_volume(name=TRIAL, size=1)
    volume = step("volume", volumes.wait_for_status, volume, "available", ["error"], 2, LIMIT)
    step("volume is attached", tenant.attach, first, volume)
    write = f"until [ -b /dev/vdb ]; do sleep 1; done; echo {WRITTEN} | dd of=/dev/vdb conv=fsync"
    step("volume is written, with fsync", tenant.answers, addresses[0], write)
    step("volume is detached", tenant.detach, first, volume)
    step("volume is attached to the other instance", tenant.attach, second, volume)
    read = f"until [ -b /dev/vdb ]; do sleep 1; done; head -c {len(WRITTEN)} /dev/vdb"
    step("what was written is read there", tenant.answers, addresses[1], read, WRITTEN)
    move(tenant, second, host, addresses[1])
    again = f"echo again | dd of=/dev/vdb conv=fsync,notrunc; {read}"
    step("the volume is written and read after the migration", tenant.answers, addresses[1], again, "again")
    step("volume is detached again", tenant.detach, second, volume)


def main() -> None:
    """Runs all steps, with the account in the environment, as the command `openstack` does."""
    kernel, ramdisk, busybox, directory = map(Path, sys.argv[1:5])
    cloud = openstack.connect()
    tenant = Tenant(cloud, busybox, directory)
    tenant.remove()
    computes: list[Any] = [each for each in cloud.compute.services() if each.binary == "nova-compute"]
    hosts: list[str] = sorted(each.host for each in computes)
    image = step("images of the guest", tenant.upload, kernel, ramdisk)
    flavor = tenant.flavor()
    tenant.keypair()
    external, private = step("networks and a router", tenant.networks, sys.argv[5])
    group = cloud.network.create_security_group(name=TRIAL)
    names = enumerate((hosts[0], hosts[-1]), start=1)
    servers: list[Any] = [
        step(f"instance on {host} is ACTIVE", tenant.boot, number, host, image, flavor, private)
        for number, host in names
    ]
    first, second = servers
    for server in servers:
        told = ("lease", "SSH key ssh-ed25519", f"name {server.name}", f"user data {OUTSIDE} answers")
        step(f"{server.name} has address, metadata, key and user data", tenant.told, server, *told)
    address = connect(tenant, first, second, external, group)
    other = step("floating address of the other", tenant.floating_ip, second, external)
    store(tenant, (first, second), (address, other), hosts[0])
    step("everything is deleted", tenant.remove)


if __name__ == "__main__":
    main()
