# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
"""Uses Neutron on OVN as a client does, with the openstacksdk of the OpenStack release. The account is in the
environment.

The first argument chooses the work:

- wire HOST GATEWAY: creates a network with a subnet, a router to an external network, a port of an instance that is
  bound to the chassis HOST, and a floating IP of the port; prints them. GATEWAY: address in the external network;
- status PORT: prints the status of a port;
- ports HOST NAME COUNT: creates a network and ports that are bound to the chassis HOST; prints them, each with the
  seconds that its request took;
- statuses NAME: prints the ports of that network with their status;
- agents: prints Neutron's agents;
- delete HOST: deletes the agents of a host.

Everything is printed as JSON.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from typing import Any

import openstack


def wire(cloud: Any, host: str, gateway: str) -> dict[str, str]:
    network = cloud.network
    part = gateway.rpartition(".")[0]
    outside = network.create_network(
        name="outside", is_router_external=True, provider_network_type="flat", provider_physical_network="physnet1"
    )
    pool = [{"start": f"{part}.200", "end": f"{part}.220"}]
    network.create_subnet(
        network_id=outside.id, ip_version=4, cidr=f"{part}.0/24", gateway_ip=gateway,
        is_dhcp_enabled=False, allocation_pools=pool,
    )  # fmt: skip
    inside = network.create_network(name="inside")
    subnet = network.create_subnet(network_id=inside.id, ip_version=4, cidr="192.168.50.0/24")
    router = network.create_router(name="router", external_gateway_info={"network_id": outside.id})
    network.add_interface_to_router(router, subnet_id=subnet.id)
    group = network.find_security_group("default", project_id=cloud.current_project_id)
    network.create_security_group_rule(security_group_id=group.id, direction="ingress", protocol="icmp")
    instance = str(uuid.uuid4())
    port = network.create_port(
        network_id=inside.id, device_id=instance, device_owner="compute:nova", binding_host_id=host
    )
    floating = network.create_ip(floating_network_id=outside.id, port_id=port.id)
    return {
        "network": inside.id,
        "router": router.id,
        "port": port.id,
        "mac": port.mac_address,
        "mtu": str(inside.mtu),
        "address": port.fixed_ips[0]["ip_address"],
        "binding": port.binding_vif_type,
        "instance": instance,
        "project": cloud.current_project_id,
        "floating": floating.floating_ip_address,
    }


def status(cloud: Any, port: str) -> str:
    return cloud.network.get_port(port).status


def ports(cloud: Any, host: str, name: str, count: str) -> list[dict[str, Any]]:
    network = cloud.network.create_network(name=name)
    cloud.network.create_subnet(network_id=network.id, ip_version=4, cidr="192.168.60.0/24")
    made: list[dict[str, Any]] = []
    for _ in range(int(count)):
        started = time.monotonic()
        port = cloud.network.create_port(
            network_id=network.id, device_id=str(uuid.uuid4()), device_owner="compute:nova", binding_host_id=host
        )
        made.append({"id": port.id, "seconds": time.monotonic() - started})
    return made


def statuses(cloud: Any, name: str) -> list[dict[str, str]]:
    network = cloud.network.find_network(name, ignore_missing=False)
    return [{"id": each.id, "status": each.status} for each in cloud.network.ports(network_id=network.id)]


def agents(cloud: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": each.id,
            "type": each.agent_type,
            "host": each.host,
            "alive": each.is_alive,
        }
        for each in cloud.network.agents()
    ]


def delete(cloud: Any, host: str) -> list[str]:
    """Deletes agents as openstack/scripts/compute_services.py does when a machine is replaced."""
    found = [each.id for each in cloud.network.agents(host=host)]
    for each in found:
        cloud.network.delete_agent(each, ignore_missing=False)
    return found


def main() -> None:
    """Runs the work that the first argument names."""
    commands = {
        "wire": wire, "status": status, "ports": ports, "statuses": statuses, "agents": agents, "delete": delete,
    }  # fmt: skip
    print(json.dumps(commands[sys.argv[1]](openstack.connect(), *sys.argv[2:])))


main()
