# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false, reportUnknownArgumentType=false
"""Uses Ironic, and Nova with it, as an operator and a project do, with the openstacksdk of the OpenStack release.

The account is in the environment. The first argument chooses the work, which prints one line for each step:

- conductors: lists Ironic's drivers and conductors;
- prepare DNS: uploads the images below /images, and creates the network of the machines with its DNS server;
- network: creates the network of the machines alone;
- dhcp: gives the network to Neutron's agent of DHCP;
- enrol NAME BMC IDENTITY BOOT: creates a node with a boot interface, makes it manageable, and inspects it by Redfish
  alone;
- power NAME on|off: sets the power of a node;
- inspect NAME: inspects a node by its agent;
- provide NAME: cleans a node and makes it available;
- offered NAME: waits until Nova and Placement know the node;
- separated: asks for servers whose image and flavor are those of two hypervisors, and of one;
- deploy: creates a server on the node, and waits until it is ACTIVE;
- active: waits until the server is ACTIVE, which another program has created;
- delete NAME: deletes the server, and waits until the node is available again.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openstack

LIMIT = 1200
"""Seconds to wait for a machine, which boots without KVM."""
SHORT = 300
"""Seconds to wait for services."""
CLASS = "trial"
"""Resource class of the nodes, which Placement knows as CUSTOM_TRIAL."""
NETWORK, PHYSICAL = "baremetal", "physnet1"
SERVER = "quorate-machine"
METAL, VIRTUAL = "baremetal", "fake"
"""What the image property hypervisor_type says of Ironic's machines, and of Nova's fake driver."""
KERNEL_PARAMETERS = "console=ttyS0 ipa-debug=1"


def conductors(_cloud: Any) -> None:
    """Lists drivers and conductors, which only an account of the whole system may do."""
    for name in ("OS_PROJECT_NAME", "OS_PROJECT_DOMAIN_NAME"):
        del os.environ[name]
    os.environ["OS_SYSTEM_SCOPE"] = "all"
    system = openstack.connect()
    print("drivers:", *sorted(each.name for each in system.baremetal.drivers()))
    found = [each for each in system.baremetal.conductors() if each.alive]
    print("conductors:", *sorted(each.hostname for each in found))


def prepare(cloud: Any, dns: str) -> None:
    """Uploads images, and creates the machines' network and the flavors of both hypervisors."""
    for path in list(Path("/images").iterdir()):
        kinds = {"kernel": ("aki", "aki"), "ramdisk": ("ari", "ari")}
        disk, container = kinds.get(path.name, ("raw", "bare"))
        step(f"image {path.name}", lambda path=path, disk=disk, container=container: cloud.image.create_image(
            name=path.name, disk_format=disk, container_format=container, filename=str(path), visibility="public"
        ))  # fmt: skip
        path.unlink()  # the machine's files are in memory
    (disk,) = cloud.image.images(name="disk")
    cloud.image.update_image(disk, hypervisor_type=METAL)
    cloud.image.create_image(name=VIRTUAL, disk_format="raw", container_format="bare", data=b"0" * 512,
                             hypervisor_type=VIRTUAL)  # fmt: skip
    network(cloud, dns)
    cloud.compute.create_flavor(name=VIRTUAL, ram=64, vcpus=1, disk=1)
    metal = cloud.compute.create_flavor(name=METAL, ram=1024, vcpus=1, disk=4)
    none = {f"resources:{name}": "0" for name in ("VCPU", "MEMORY_MB", "DISK_GB")}
    cloud.compute.create_flavor_extra_specs(metal, {f"resources:CUSTOM_{CLASS.upper()}": "1", **none})


def network(cloud: Any, *dns: str) -> None:
    """Creates the machines' network. Its machines get addresses that no other machine of the test bed has."""
    made = cloud.network.create_network(
        name=NETWORK, provider_network_type="flat", provider_physical_network=PHYSICAL, is_shared=True
    )
    cloud.network.create_subnet(
        network_id=made.id, ip_version=4, cidr="10.199.0.0/24", gateway_ip=None, dns_nameservers=list(dns),
        allocation_pools=[{"start": "10.199.0.201", "end": "10.199.0.250"}],
    )  # fmt: skip


def dhcp(cloud: Any) -> None:
    """Gives the network to the DHCP agent. Neutron gives it only one on a host whose switch agent has the network."""

    def alive() -> list[Any]:
        return list(cloud.network.agents(agent_type="DHCP agent", is_alive=True))

    step("the DHCP agent is alive", lambda: wait(alive, SHORT))
    (agent,) = alive()
    cloud.network.add_dhcp_agent_to_network(agent, cloud.network.find_network(NETWORK))


def enrol(cloud: Any, name: str, bmc: str, identity: str, boot: str) -> None:
    """Creates a node, and waits until Ironic manages it and has found its card."""
    images = {each.name: each.id for each in cloud.image.images()}
    given = {
        "redfish_address": bmc,
        "redfish_system_id": f"/redfish/v1/Systems/{identity}",
        "deploy_kernel": images["kernel"],
        "deploy_ramdisk": images["ramdisk"],
        "bootloader": images["loader"],
        "kernel_append_params": KERNEL_PARAMETERS,
    }
    node = cloud.baremetal.create_node(
        name=name, driver="redfish", driver_info=given, resource_class=CLASS, inspect_interface="redfish",
        boot_interface=boot,
        properties={"capabilities": "boot_mode:uefi"},
    )  # fmt: skip
    print("interfaces:", node.boot_interface, node.deploy_interface, node.network_interface)
    move(cloud, name, "manage", "manageable")
    move(cloud, name, "inspect", "manageable")
    (port,) = cloud.baremetal.ports(node=node.id)
    # A BMC does not say which card boots, so that Ironic marks none.
    cloud.baremetal.update_port(port, physical_network=PHYSICAL, is_pxe_enabled=True)
    step("Neutron knows the machine", lambda: wait(lambda: is_bindable(cloud, node.id), SHORT))
    found = cloud.baremetal.get_node(name)
    print("found:", port.address, found.properties)


def is_bindable(cloud: Any, identity: str) -> bool:
    """Whether Neutron's agent of machines has told the physical network of a node."""
    agents = cloud.network.agents(host=identity)
    return any(PHYSICAL in each.configuration.get("bridge_mappings", ()) for each in agents)


def power(cloud: Any, name: str, wanted: str) -> None:
    """Sets the power of a node, and waits until Ironic has seen it."""
    target = {"on": "power on", "off": "power off"}[wanted]
    step(target, lambda: cloud.baremetal.set_node_power_state(name, target, wait=True, timeout=SHORT))


def inspect(cloud: Any, name: str) -> None:
    """Inspects a node by the agent of the ramdisk, which it boots."""
    cloud.baremetal.update_node(name, inspect_interface="agent")
    move(cloud, name, "inspect", "manageable")
    found = cloud.baremetal.get_node_inventory(name)["inventory"]
    print("inventory:", found["cpu"]["count"], "cpu", found["memory"]["physical_mb"], "MiB", found["disks"][0]["name"])


def provide(cloud: Any, name: str) -> None:
    """Cleans a node, and makes it available."""
    move(cloud, name, "provide", "available")


def move(cloud: Any, name: str, target: str, expected: str) -> None:
    """Moves a node to another state, and waits until it is there."""
    step(f"{target}: {expected}", lambda: cloud.baremetal.set_node_provision_state(
        name, target, wait=True, timeout=LIMIT
    ))  # fmt: skip
    node = cloud.baremetal.get_node(name)
    if node.provision_state != expected:
        raise RuntimeError(f"{name} is {node.provision_state}, not {expected}: {node.last_error}")


def offered(cloud: Any, name: str) -> None:
    """Waits until Nova lists the node as a hypervisor, and Placement its resource class."""
    node = cloud.baremetal.get_node(name)
    step("hypervisor", lambda: wait(lambda: hypervisor(cloud, node.id), SHORT))
    step("resource class", lambda: wait(lambda: inventory(cloud, node.id), SHORT))
    print("hypervisors:", *sorted(f"{each.hypervisor_type}" for each in cloud.compute.hypervisors(details=True)))
    print("inventory:", inventory(cloud, node.id))


def hypervisor(cloud: Any, identity: str) -> bool:
    """Whether Nova lists a node as a hypervisor."""
    return identity in {each.name for each in cloud.compute.hypervisors()}


def inventory(cloud: Any, identity: str) -> dict[str, int]:
    """Returns what Placement offers of a node, without what is reserved."""
    path = f"/resource_providers/{identity}/inventories"
    answer = cloud.placement.get(path)
    found = answer.json().get("inventories", {}) if answer.status_code == 200 else {}
    return {name: each["total"] - each["reserved"] for name, each in found.items() if each["total"] > each["reserved"]}


def separated(cloud: Any) -> None:
    """Asks for servers: no server with the image of one hypervisor and the flavor of the other may get a host."""
    for image, flavor in ((METAL, VIRTUAL), (VIRTUAL, METAL), (VIRTUAL, VIRTUAL)):
        server = create(cloud, image, flavor)
        wait(lambda server=server: cloud.compute.get_server(server).status != "BUILD", SHORT)
        seen = cloud.compute.get_server(server)
        host = seen.hypervisor_hostname or "no host"
        print(f"image {image}, flavor {flavor}:", seen.status, host, (seen.fault or {}).get("message", "")[:60])
        cloud.compute.delete_server(server)
        cloud.compute.wait_for_delete(server, wait=SHORT)


def create(cloud: Any, image: str, flavor: str) -> Any:
    """Creates a server with the image and the flavor of hypervisors."""
    names = {METAL: "disk", VIRTUAL: VIRTUAL}
    (found,) = cloud.image.images(name=names[image])
    networks = [{"uuid": cloud.network.find_network(NETWORK).id}] if flavor == METAL else "none"
    wanted = cloud.compute.find_flavor(flavor)
    return cloud.compute.create_server(name=SERVER, image_id=found.id, flavor_id=wanted.id, networks=networks)


def deploy(cloud: Any) -> None:
    """Creates a server on a machine, and waits until it is ACTIVE."""
    create(cloud, METAL, METAL)
    active(cloud)


def active(cloud: Any) -> None:
    """Waits until the server is ACTIVE."""
    server = cloud.compute.find_server(SERVER)
    step("server is ACTIVE", lambda: cloud.compute.wait_for_server(server, wait=LIMIT))
    found = cloud.compute.get_server(server)
    print("server:", found.status, found.hypervisor_hostname, [p.binding_vif_type for p in ports(cloud, found)])


def ports(cloud: Any, server: Any) -> list[Any]:
    """Returns the ports of a server."""
    return list(cloud.network.ports(device_id=server.id))


def delete(cloud: Any, name: str) -> None:
    """Deletes the server, and waits until its machine is cleaned."""
    server = cloud.compute.find_server(SERVER)
    cloud.compute.delete_server(server)
    step("server is deleted", lambda: cloud.compute.wait_for_delete(server, wait=LIMIT))
    step("available", lambda: cloud.baremetal.wait_for_nodes_provision_state([name], "available", timeout=LIMIT))


def wait(condition: Callable[[], object], seconds: float) -> None:
    """Waits until a condition is true. Raises TimeoutError after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(2)


def step(name: str, act: Callable[[], Any]) -> Any:
    """Runs `act`, and prints the step's name and duration. Returns the result of `act`."""
    started = time.monotonic()
    result = act()
    print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
    return result


def main() -> None:
    """Runs the work that the arguments name, with the account in the environment."""
    works: tuple[Callable[..., None], ...] = (
        conductors, prepare, network, dhcp, enrol, power, inspect, provide, offered, separated, deploy, active,
        delete,
    )  # fmt: skip
    {work.__name__: work for work in works}[sys.argv[1]](openstack.connect(), *sys.argv[2:])


main()
