# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
"""Uses OpenStack as a client does. Runs inside of the lab with the release's own openstacksdk.

Argument `everything`: makes an image, a flavor, a network, a server, a volume and a stack, and deletes them; prints
one line for each step with its seconds. `write`: makes networks until it is asked to end; prints one line for each, its
number and whether it was acknowledged (`ok`) or not (`no`). `list`: prints the numbers of these networks. `clean`:
deletes them. `prepare`: makes what tempest needs.
"""

from __future__ import annotations

import itertools
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import openstack
import requests

PREFIX = "written-"
LIMIT = 300
"""Seconds to wait for a server or a volume."""
stop = threading.Event()


def everything(cloud: Any) -> None:
    """Makes one of each and deletes it; an exception ends the run."""
    image = step("image", lambda: upload(cloud))
    flavor = step("flavor", lambda: cloud.compute.create_flavor(name="m1.test", ram=64, vcpus=1, disk=1))
    network = step("network", lambda: cloud.network.create_network(name="internal"))
    subnet = {"network_id": network.id, "ip_version": 4, "cidr": "192.0.2.0/24"}
    step("subnet", lambda: cloud.network.create_subnet(**subnet))
    server = step("server is ACTIVE", lambda: boot(cloud, image, flavor))
    volume = step("volume is available", lambda: create_volume(cloud))
    step("services of Cinder are up", lambda: require_cinder(cloud))
    step("console's page answers", lambda: open_console(cloud, server))
    stack = step("stack is complete", lambda: create_stack(cloud))
    step("stack is deleted", lambda: delete_stack(cloud, stack))
    step("server is deleted", lambda: delete_server(cloud, server))
    cloud.block_storage.delete_volume(volume)
    step("volume is deleted", lambda: cloud.block_storage.wait_for_delete(volume, wait=LIMIT))
    cloud.network.delete_network(network)
    cloud.image.delete_image(image)
    step("all is gone", lambda: nothing_left(cloud))


def prepare(cloud: Any) -> None:
    """Makes what tempest needs; prints ids of an image, a flavor and an external network, and Neutron's extensions."""
    image = cloud.image.update_image(upload(cloud), visibility="public")  # tempest's tests have projects of their own
    flavor = cloud.compute.create_flavor(name="m1.tempest", ram=64, vcpus=1, disk=1)
    network = cloud.network.create_network(
        name="external", is_router_external=True, provider_network_type="flat", provider_physical_network="physnet1"
    )
    cloud.network.create_subnet(network_id=network.id, ip_version=4, cidr="198.51.100.0/24", is_dhcp_enabled=False)
    print(image.id, flavor.id, network.id, ",".join(each.alias for each in cloud.network.extensions()))


def step(name: str, act: Callable[[], Any]) -> Any:
    """Does one step and prints how long it took."""
    started = time.monotonic()
    result = act()
    print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)
    return result


def upload(cloud: Any) -> Any:
    """Uploads an image and reads it back."""
    data = bytes(range(256)) * 64
    image = cloud.image.create_image(name="bytes", disk_format="raw", container_format="bare", data=data)
    read = cloud.image.download_image(image).content
    if read != data:
        raise RuntimeError(f"the image has {len(read)} bytes, not the {len(data)} that were uploaded")
    return image


def boot(cloud: Any, image: Any, flavor: Any) -> Any:
    """Boots a server, as soon as the scheduler knows the compute."""
    end = time.monotonic() + LIMIT
    while True:
        server = cloud.compute.create_server(name="first", image_id=image.id, flavor_id=flavor.id, networks="none")
        try:
            return cloud.compute.wait_for_server(server, wait=LIMIT)
        except openstack.exceptions.ResourceFailure:
            if time.monotonic() > end:
                raise
            cloud.compute.delete_server(server, force=True)
            time.sleep(5)


def delete_server(cloud: Any, server: Any) -> None:
    """Deletes a server and waits until it is gone."""
    cloud.compute.delete_server(server)
    cloud.compute.wait_for_delete(server, wait=LIMIT)


def create_volume(cloud: Any) -> Any:
    """Makes a volume."""
    volume = cloud.block_storage.create_volume(name="first", size=1)
    return cloud.block_storage.wait_for_status(volume, "available", ["error"], wait=LIMIT)


def require_cinder(cloud: Any) -> None:
    """Raises RuntimeError if a service of Cinder has not reported lately."""
    states = {each.binary: each.state for each in cloud.block_storage.services()}
    expected = dict.fromkeys(("cinder-backup", "cinder-scheduler", "cinder-volume"), "up")
    if states != expected:
        raise RuntimeError(f"Cinder's services: {states}")


def open_console(cloud: Any, server: Any) -> None:
    """Opens the page that shows a server's console. Raises requests.HTTPError if it does not answer."""
    console = cloud.compute.create_console(server, "novnc")
    requests.get(console["url"], timeout=30).raise_for_status()


def create_stack(cloud: Any) -> Any:
    """Makes a stack: a network, which Heat makes as the user, and a handle, for which it makes a user in its domain."""
    resources = {"network": {"type": "OS::Neutron::Net"}, "handle": {"type": "OS::Heat::WaitConditionHandle"}}
    template = {"heat_template_version": "2021-04-16", "resources": resources}
    stack = cloud.orchestration.create_stack(name="first", template=template, timeout=LIMIT // 60)
    return cloud.orchestration.wait_for_status(stack, "CREATE_COMPLETE", ["CREATE_FAILED"], wait=LIMIT)


def delete_stack(cloud: Any, stack: Any) -> None:
    """Deletes a stack and waits until its network is gone too."""
    cloud.orchestration.delete_stack(stack)
    cloud.orchestration.wait_for_delete(stack, wait=LIMIT)


def nothing_left(cloud: Any) -> None:
    """Raises RuntimeError if the services still list what was deleted."""
    left = [*cloud.compute.servers(), *cloud.block_storage.volumes(), *cloud.network.networks(), *cloud.image.images()]
    if left:
        raise RuntimeError(f"still there: {[each.name for each in left]}")


def write(cloud: Any) -> None:
    """Makes networks, one after the other."""
    first = 1 + max(numbers(cloud), default=-1)
    for number in itertools.count(first):
        if stop.is_set():
            return
        try:
            cloud.network.create_network(name=f"{PREFIX}{number}")
        except Exception as error:
            print(number, "no", type(error).__name__, flush=True)
            time.sleep(0.5)
        else:
            print(number, "ok", flush=True)


def numbers(cloud: Any) -> list[int]:
    """Numbers of the networks that are there."""
    names = [each.name for each in cloud.network.networks()]
    return [int(name.removeprefix(PREFIX)) for name in names if name.startswith(PREFIX)]


def print_numbers(cloud: Any) -> None:
    """Prints what `numbers` returns, one a line."""
    print(*numbers(cloud), sep="\n")


def clean(cloud: Any) -> None:
    """Deletes the networks that `write` has made."""
    for network in cloud.network.networks():
        if network.name.startswith(PREFIX):
            cloud.network.delete_network(network)


def end(_number: int, _frame: object) -> None:
    """Ends the writing after the current write."""
    stop.set()


def main() -> None:
    """Reads the account from the environment, as the command line `openstack` does."""
    signal.signal(signal.SIGTERM, end)
    cloud = openstack.connect()
    commands = {"everything": everything, "prepare": prepare, "write": write, "list": print_numbers, "clean": clean}
    commands[sys.argv[1]](cloud)


main()
