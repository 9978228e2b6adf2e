# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
"""Uses instances as a tenant does: packets, metadata, security groups, volumes, images, and moves to other computes.

Runs where the addresses of the external network are reachable, with the account in the environment. Arguments: the
guest's kernel, initial RAM disk and disk, a static busybox, a directory for the SSH key and the console's picture, and
the physical network that leads outside. Prints a line for each step with its seconds, and deletes everything at the
end. An exception ends the run; the next run deletes what it has left.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

# At the end, because openstacksdk's package has the name of one of Quorate's.
sys.path.append(str(Path(__file__).parents[3]))

from trials.cloud.instances import moves, networks, storage
from trials.cloud.instances.steps import step, until
from trials.cloud.instances.tenant import OUTSIDE, Home, Tenant, tenant_of

_PYTHON = Path(__file__).parents[3] / ".venv/bin/python"
"""The environment with Playwright."""
NO_BROWSER = 3
"""Exit code of console_page.py on a host without Chromium; that module needs another environment than this one."""


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
    if tenant.has_ovn():
        print("the name of the other instance was not tried: OVN names no name server to instances", flush=True)
    else:
        name = f"host-{own[4].replace('.', '-')}"
        step("name of the other instance", tenant.answers, address, f"nslookup -type=a {name}", own[4])
    step("HTTP of the other instance", tenant.answers, address, f"wget -q -O - http://{own[4]}/", second.name)
    return address


def console(tenant: Tenant, server: Any) -> None:
    """Opens the page of an instance's console, and saves a picture of it beside the SSH key, if there is a browser."""
    picture = tenant.key.with_name("console.png")
    program = [_PYTHON, Path(__file__).with_name("console_page.py"), picture]
    address = tenant.cloud.compute.create_console(server, "novnc")["url"]
    done = subprocess.run(program, input=f"{address}\n", capture_output=True, text=True, check=False)
    if done.returncode == NO_BROWSER:
        print("the console's picture was not tried: this host has no Chromium", flush=True)
    elif done.returncode:
        raise RuntimeError(
            f"the page of the console shows no screen of {server.name} ({picture}): {done.stderr[-500:]}"
        )


def main() -> None:
    """Runs all steps, with the account in the environment, as the command `openstack` does."""
    *files, physical = sys.argv[1:]
    tenant = tenant_of(files)
    tenant.remove()
    home = tenant.settle(physical)
    hosts = tenant.computes()
    servers: list[Any] = [
        step(f"instance on {host} is ACTIVE", tenant.boot, home, number, host)
        for number, host in enumerate(hosts, start=1)
    ]
    first, second = servers
    for server in servers:
        told = ("lease", "SSH key ssh-ed25519", f"name {server.name}", f"user data {OUTSIDE} answers")
        step(f"{server.name} has address, metadata, key and user data", tenant.told, server, *told)
    step("the console's page shows the guest's screen", console, tenant, first)
    address = connect(tenant, first, second, home)
    other = step("floating address of the other", tenant.floating_ip, second, home.external)
    networks.further_address(tenant, (first, second), (address, other))
    networks.of_the_site(tenant, home, (first, second), (address, other), hosts[0])
    storage.volume(tenant, (first, second), (address, other), hosts[0])
    moves.stopped(tenant, first, address)
    storage.root_disk(tenant, (first, second), (address, other))
    step("both instances are deleted", lambda: [tenant.delete(each) for each in servers])
    storage.bootable_volume(tenant, home, hosts[-1])
    step("everything is deleted", tenant.remove)


if __name__ == "__main__":
    main()
