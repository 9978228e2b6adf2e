"""Options with the addresses of nodes in networks beside management, and with the MTU of these networks.

The addresses are in the files for single nodes, whose start script removes the environment variable with the address in
the management network.
"""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.stackfile.class_networks import DEFAULT_MTU, ClassName
from openstack.config.layers import Layer, Origin, Section
from openstack.config.wiring import Wiring

_OPTIONS: Mapping[tuple[str, str], tuple[ClassName, str, str]] = {
    ("neutron-l2-agent", "openvswitch_agent.ini"): ("overlay", "ovs", "local_ip"),
    ("nova-compute", "nova.conf"): ("migration", "libvirt", "live_migration_inbound_addr"),
}
"""Class, section and option of a node's address, by service and file."""
_MTU = "https://docs.openstack.org/neutron/2026.1/admin/config-mtu.html"


def node_layers(file: str, wiring: Wiring, service: str, node: str) -> tuple[Layer, ...]:
    """Returns the layer with a node's address for a service; () if the node has none in the network of the service."""
    if (service, file) not in _OPTIONS:
        return ()
    name, section, option = _OPTIONS[service, file]
    address = wiring.addresses.get(node, {}).get(name)
    if address is None:
        return ()
    return (Layer(Origin.ARCHITECTURE, f"quorate:servers.addresses.{name}", {section: {option: address}}),)


def mtu_layers(file: str, wiring: Wiring) -> tuple[Layer, ...]:
    """Returns the options of a file of Neutron's server for the MTU of the overlay network; () for none.

    Neutron makes no network of a project larger than global_physnet_mtu. Physical networks keep the MTU of Ethernet.
    """
    overlay = wiring.networks.get("overlay")
    if overlay is None or overlay.mtu is None:
        return ()
    mtu, found = overlay.mtu, dict[str, dict[str, Section]]()
    found["ml2_conf.ini"] = {"ml2": {"path_mtu": mtu}}
    if mtu > DEFAULT_MTU:
        physical = tuple(f"{name}:{DEFAULT_MTU}" for name in wiring.physical_networks)
        found["neutron.conf"] = {"DEFAULT": {"global_physnet_mtu": mtu}}
        found["ml2_conf.ini"] = {"ml2": {"path_mtu": mtu, "physical_network_mtus": physical}}
    return (Layer(Origin.STACK, f"quorate:networks.overlay.mtu; {_MTU}", found[file]),) if file in found else ()
