# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
"""Uses OpenStack as a client does, with the openstacksdk of the OpenStack release. The account is in the environment.

The argument chooses the work:

- everything: creates an image, a flavor, a network, a server, a volume and a stack, deletes them, and prints one line
  for each step with its seconds;
- write: creates networks until SIGTERM, one a second at most, and prints for each its number and whether it was
  acknowledged (`ok`) or not (`no`, with the reason); removes the project's quota of networks first;
- list: prints the numbers of these networks;
- clean: deletes these networks; a second argument of these three names another kind: `project`, `upload` for
  objects in the object storage, or `zone` for DNS zones with an address of `www`;
- port: creates a zone and a port with a name in it, and prints the name and the port's address;
- prepare: creates the image, flavor and network that tempest needs.
"""

from __future__ import annotations

import itertools
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import requests

import openstack

TRIAL = "quorate-trial"
"""Name of everything that `everything` creates."""
PREFIX = "written-"
LIMIT = 300
"""Seconds to wait for a server, a volume or all services of Cinder."""
DELETIONS = 4
"""How many objects `clean` deletes at a time."""
PERIOD = 1.0
"""Seconds between two objects of `write`: an hour's objects are deleted in minutes."""
PATIENCE = 20
"""Seconds until a request of `write` fails. A server without power resets no connection: without a limit, a request
on an open connection to it waits until the power is back. Project figure: a busy host of two cores needed 4."""
DOMAIN, ADDRESS = "example.org", "192.0.2.1"
"""The domain of the zones of `write`, and the address of each zone's `www` (trials/services/designate_trials.py)."""
MOST_ZONES = 10_000
"""The project's quota of zones."""
UPLOADED = bytes(65536)
"""Content of an object in the object storage."""
stop = threading.Event()


class Uploads:
    """The objects in a container of the object storage."""

    def __init__(self, cloud: Any) -> None:
        self._store = cloud.object_store
        self._store.create_container(name=TRIAL)

    def create_upload(self, name: str) -> None:
        self._store.create_object(TRIAL, name, data=UPLOADED, generate_checksums=False)

    def uploads(self) -> Any:
        return self._store.objects(TRIAL)

    def delete_upload(self, upload: Any) -> None:
        self._store.delete_object(upload, container=TRIAL)


class Zones:
    """The DNS zones with an address each."""

    def __init__(self, cloud: Any) -> None:
        self._dns = cloud.dns
        quota = self._dns.patch(f"/quotas/{cloud.current_project_id}", json={"zones": MOST_ZONES})
        quota.raise_for_status()

    def create_zone(self, name: str) -> None:
        zone = self._dns.create_zone(name=f"{name}.{DOMAIN}.", email=f"admin@{DOMAIN}", ttl=60)
        self._dns.create_recordset(zone, name=f"www.{zone.name}", type="A", records=[ADDRESS], ttl=60)

    def zones(self) -> Any:
        return [SimpleNamespace(name=each.name.removesuffix(f".{DOMAIN}."), id=each.id) for each in self._dns.zones()]

    def delete_zone(self, zone: Any) -> None:
        self._dns.delete_zone(zone.id)


SERVICES: dict[str, Callable[[Any], Any]] = {
    "network": lambda cloud: cloud.network,
    "project": lambda cloud: cloud.identity,
    "upload": Uploads,
    "zone": Zones,
}
"""The service of each kind of object that `write` can create."""


def everything(cloud: Any) -> None:
    """Creates one object of each kind and deletes it. An exception ends the run."""
    remove_leftovers(cloud)
    image = step("image", lambda: upload(cloud))
    flavor = step("flavor", lambda: cloud.compute.create_flavor(name=TRIAL, ram=64, vcpus=1, disk=1))
    network = step("network", lambda: cloud.network.create_network(name=TRIAL))
    subnet = {"network_id": network.id, "ip_version": 4, "cidr": "192.0.2.0/24"}
    step("subnet", lambda: cloud.network.create_subnet(**subnet))
    server = step("server is ACTIVE", lambda: boot(cloud, image, flavor))
    volume = step("volume is available", lambda: create_volume(cloud))
    step("services of Cinder are up", lambda: await_cinder(cloud))
    step("console's page answers", lambda: open_console(cloud, server))
    stack = step("stack is complete", lambda: create_stack(cloud))
    step("stack is deleted", lambda: delete_stack(cloud, stack))
    step("server is deleted", lambda: delete_server(cloud, server))
    cloud.block_storage.delete_volume(volume)
    step("volume is deleted", lambda: cloud.block_storage.wait_for_delete(volume, wait=LIMIT))
    cloud.network.delete_network(network)
    cloud.image.delete_image(image)
    cloud.compute.delete_flavor(flavor)
    step("all is gone", lambda: require_nothing_left(cloud))


def prepare(cloud: Any) -> None:
    """Creates an image, a flavor and an external network for tempest. Prints their ids, and Neutron's extensions."""
    image = cloud.image.update_image(upload(cloud), visibility="public")  # tempest's tests create their own projects
    flavor = cloud.compute.create_flavor(name="m1.tempest", ram=64, vcpus=1, disk=1)
    network = cloud.network.create_network(
        name="external", is_router_external=True, provider_network_type="flat", provider_physical_network="physnet1"
    )
    cloud.network.create_subnet(network_id=network.id, ip_version=4, cidr="198.51.100.0/24", is_dhcp_enabled=False)
    print(image.id, flavor.id, network.id, ",".join(each.alias for each in cloud.network.extensions()))


def name_port(cloud: Any) -> None:
    """Creates a zone, and a port whose name is published in it. Prints the port's full name and its address."""
    zone = cloud.dns.create_zone(name=f"ports.{DOMAIN}.", email=f"admin@{DOMAIN}", ttl=60)
    network = cloud.network.create_network(name=TRIAL, dns_domain=zone.name)
    subnet = {"network_id": network.id, "ip_version": 4, "cidr": "192.0.2.0/24", "dns_publish_fixed_ip": True}
    cloud.network.create_subnet(**subnet)
    port = cloud.network.create_port(network_id=network.id, dns_name="first")
    print(f"first.{zone.name}", port.fixed_ips[0]["ip_address"])


def step(name: str, act: Callable[[], Any]) -> Any:
    """Runs `act`, and prints the step's name and duration. Returns the result of `act`."""
    started = time.monotonic()
    result = act()
    print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)
    return result


def upload(cloud: Any) -> Any:
    """Uploads an image, downloads it, and compares both. Returns the image."""
    data = bytes(range(256)) * 64
    image = cloud.image.create_image(name=TRIAL, disk_format="raw", container_format="bare", data=data)
    read = cloud.image.download_image(image).content
    if read != data:
        raise RuntimeError(f"the image has {len(read)} bytes, not the {len(data)} that were uploaded")
    return image


def boot(cloud: Any, image: Any, flavor: Any) -> Any:
    """Boots a server. Retries until the scheduler finds the new compute. Returns the active server."""
    end = time.monotonic() + LIMIT
    while True:
        server = cloud.compute.create_server(name=TRIAL, image_id=image.id, flavor_id=flavor.id, networks="none")
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
    """Creates a volume, and returns it when it is available."""
    volume = cloud.block_storage.create_volume(name=TRIAL, size=1)
    return cloud.block_storage.wait_for_status(volume, "available", ["error"], wait=LIMIT)


def await_cinder(cloud: Any) -> None:
    """Waits until all services of Cinder are up; those that have just been replaced report late on a busy host.

    Instances of cinder-volume that start at the same time may register their common host twice. Raises RuntimeError
    after `LIMIT` seconds.
    """
    end = time.monotonic() + LIMIT
    while True:
        services = list(cloud.block_storage.services())
        up = {(each.binary, each.host) for each in services if each.state == "up"}
        down = {(each.binary, each.host) for each in services} - up
        missing = {"cinder-backup", "cinder-scheduler", "cinder-volume"} - {binary for binary, _ in up}
        if not down and not missing:
            return
        if time.monotonic() > end:
            raise RuntimeError(f"Cinder's services: {sorted(down)} are down, none of {sorted(missing)} is up")
        time.sleep(5)


def open_console(cloud: Any, server: Any) -> None:
    """Opens the page that shows a server's console. Raises requests.HTTPError if it does not answer."""
    console = cloud.compute.create_console(server, "novnc")
    requests.get(console["url"], timeout=30).raise_for_status()


def create_stack(cloud: Any) -> Any:
    """Creates a Heat stack with a network and a wait condition handle. Returns the complete stack.

    Heat creates the network with the rights of the user, and for the handle a user in Heat's own domain.
    """
    resources = {"network": {"type": "OS::Neutron::Net"}, "handle": {"type": "OS::Heat::WaitConditionHandle"}}
    template = {"heat_template_version": "2021-04-16", "resources": resources}
    stack = cloud.orchestration.create_stack(name=TRIAL, template=template, timeout=LIMIT // 60)
    return cloud.orchestration.wait_for_status(stack, "CREATE_COMPLETE", ["CREATE_FAILED"], wait=LIMIT)


def delete_stack(cloud: Any, stack: Any) -> None:
    """Deletes a stack and waits until its network is gone too."""
    cloud.orchestration.delete_stack(stack)
    cloud.orchestration.wait_for_delete(stack, wait=LIMIT)


def left(cloud: Any) -> list[Any]:
    """Returns the objects of `everything` that the services still list, in the order in which they can be deleted."""
    services = (
        (cloud.orchestration, "stack"),
        (cloud.compute, "server"),
        (cloud.block_storage, "volume"),
        (cloud.network, "network"),
        (cloud.image, "image"),
        (cloud.compute, "flavor"),
    )
    return [
        (service, kind, each)
        for service, kind in services
        for each in getattr(service, f"{kind}s")()
        if each.name == TRIAL
    ]


def remove_leftovers(cloud: Any) -> None:
    """Deletes what an interrupted run of `everything` has left."""
    for service, kind, each in left(cloud):
        getattr(service, f"delete_{kind}")(each)
        if kind in ("stack", "server", "volume"):
            service.wait_for_delete(each, wait=LIMIT)


def require_nothing_left(cloud: Any) -> None:
    """Raises RuntimeError if the services still list objects of `everything`."""
    if found := left(cloud):
        raise RuntimeError(f"still there: {[kind for _, kind, _ in found]}")


def write(cloud: Any, kind: str = "network") -> None:
    """Creates objects one after the other until SIGTERM, and prints the outcome of each."""
    if kind == "network":
        cloud.network.update_quota(cloud.current_project_id, networks=-1)
    create = getattr(SERVICES[kind](cloud), f"create_{kind}")
    first = 1 + max(numbers(cloud, kind), default=-1)
    for number in itertools.count(first):
        if stop.is_set():
            return
        try:
            create(name=f"{PREFIX}{number}")
        except Exception as error:
            print(number, "no", " ".join(f"{type(error).__name__}: {error}".split())[:120], flush=True)
        else:
            print(number, "ok", flush=True)
        stop.wait(PERIOD)


def numbers(cloud: Any, kind: str) -> list[int]:
    """Returns the numbers of the existing objects that `write` created."""
    return [int(each.name.removeprefix(PREFIX)) for each in written(cloud, kind)]


def written(cloud: Any, kind: str) -> list[Any]:
    """Returns the existing objects that `write` created."""
    return [each for each in getattr(SERVICES[kind](cloud), f"{kind}s")() if each.name.startswith(PREFIX)]


def print_numbers(cloud: Any, kind: str = "network") -> None:
    """Prints the numbers of the existing objects that `write` created, one a line."""
    print(*numbers(cloud, kind), sep="\n")


def clean(cloud: Any, kind: str = "network") -> None:
    """Deletes the objects that `write` has made, several at a time."""
    with ThreadPoolExecutor(DELETIONS) as pool:
        list(pool.map(getattr(SERVICES[kind](cloud), f"delete_{kind}"), written(cloud, kind)))


def end(_number: int, _frame: object) -> None:
    """Handles SIGTERM: `write` ends after its current network."""
    stop.set()


def main() -> None:
    """Runs the work that the argument names, with the account in the environment, as the command `openstack` does."""
    signal.signal(signal.SIGTERM, end)
    cloud = openstack.connect(**({"api_timeout": PATIENCE} if sys.argv[1] == "write" else {}))
    commands = {
        "everything": everything,
        "prepare": prepare,
        "port": name_port,
        "write": write,
        "list": print_numbers,
        "clean": clean,
    }
    commands[sys.argv[1]](cloud, *sys.argv[2:])


main()
