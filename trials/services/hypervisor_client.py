# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false, reportUnknownArgumentType=false
"""Asks Nova for servers with images of several hypervisors, with the openstacksdk of the OpenStack release.

The account is in the environment. The first argument chooses the work:

- prepare: uploads an image of each hypervisor, creates a flavor, and waits until Nova offers all hypervisors;
- servers TYPE NUMBER: creates servers with the image of a hypervisor, some at a time, and deletes them. Prints for each
  its status, and its host or what Nova says of it;
- without TYPE HOST NUMBER: does the same while the compute on a host is disabled.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import openstack

LIMIT = 300
"""Seconds to wait for servers and computes."""
TYPES = ("fake", "lxc", "qemu")
"""Hypervisors by their name in Nova: that of its fake driver, and two of libvirt."""
SMALL = "small"
TOGETHER = 5
"""Servers at a time. Project figure: QEMU without KVM has two cores."""


def prepare(cloud: Any) -> None:
    """Uploads images, creates a flavor, and waits for a hypervisor of each type."""
    for name in TYPES:
        cloud.image.create_image(
            name=name, disk_format="raw", container_format="bare", filename=f"/images/{name}", hypervisor_type=name
        )
    cloud.compute.create_flavor(name=SMALL, ram=64, vcpus=1, disk=0)
    wait("hypervisors", lambda: len(list(cloud.compute.hypervisors())) == len(TYPES))
    for each in cloud.compute.hypervisors(details=True):
        print(f"hypervisor: {each.hypervisor_type} of {each.service_details['host']}")


def servers(cloud: Any, hypervisor: str, number: str) -> None:
    """Creates servers with the image of a hypervisor, prints where they are, and deletes them."""
    (image,) = cloud.image.images(name=hypervisor)
    flavor = cloud.compute.find_flavor(SMALL)
    for first in range(0, int(number), TOGETHER):
        made = [
            cloud.compute.create_server(
                name=f"{hypervisor}-{each}", image_id=image.id, flavor_id=flavor.id, networks="none"
            )
            for each in range(first, min(first + TOGETHER, int(number)))
        ]
        for server in made:
            wait("a server", lambda server=server: cloud.compute.get_server(server).status != "BUILD")
            found = cloud.compute.get_server(server)
            print(found.status, found.compute_host or (found.fault or {}).get("message", ""), flush=True)
            cloud.compute.delete_server(server)
        for server in made:
            cloud.compute.wait_for_delete(server, wait=LIMIT)


def without(cloud: Any, hypervisor: str, host: str, number: str) -> None:
    """Creates servers while the compute on a host is disabled."""
    (service,) = cloud.compute.services(binary="nova-compute", host=host)
    cloud.compute.disable_service(service)
    servers(cloud, hypervisor, number)
    cloud.compute.enable_service(service)


def wait(what: str, condition: Callable[[], object]) -> None:
    """Waits until a condition is true. Raises TimeoutError after `LIMIT` seconds."""
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(1)


def main() -> None:
    """Runs the work that the arguments name, with the account in the environment."""
    works: tuple[Callable[..., None], ...] = (prepare, servers, without)
    {work.__name__: work for work in works}[sys.argv[1]](openstack.connect(), *sys.argv[2:])


main()
