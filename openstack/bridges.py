"""The bridges of Neutron's physical networks: a list for all nodes, and one for each node with interfaces of its own.

openvswitch-vswitchd creates them before it starts: Neutron's L2 agent ends if a bridge of its mappings does not exist.
They have the agent's datapath type. Imports no Pulumi.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from blueprint.openstack.projects.process_definition import Backend, ConfigurationFile
from blueprint.stackfile.physical_networks import datapath_type, interfaces
from blueprint.stackfile.settings import PhysicalNetwork, Settings
from openstack import scripts
from openstack.config.layers import TextFile

LIST = ConfigurationFile("physical-networks", "/etc/openvswitch/physical-networks")
"""The list for all nodes; scripts/physical_networks.sh has the same path."""
START = ConfigurationFile("physical-networks.sh", "/usr/local/bin/physical-networks.sh")
"""The script with which the command of openvswitch-vswitchd begins: it creates the bridges, then starts the program."""


_PROGRAM = 'exec "$@"\n'


def files(networks: Mapping[str, PhysicalNetwork], datapath: str, backend: Backend) -> tuple[TextFile, ...]:
    """Returns the start script and the list for all nodes. `datapath`: the datapath type of the L2 agents.

    With OVN there are none of them, and the switch starts without their pause.
    """
    own = {name: network.interface for name, network in networks.items()}
    start = (
        scripts.text("physical_networks.sh")
        + ("" if backend == "ovn" else scripts.text("l2_agent_pause.sh"))
        + _PROGRAM
    )
    return (
        TextFile(START.name, (start,)),
        TextFile(LIST.name, (_lines(networks, own, datapath),)),
    )


def texts(settings: Settings, nodes: Iterable[str]) -> dict[str, str]:
    """Returns the lists, by file name, of nodes for which the stack file has other interfaces or another datapath."""
    networks = settings.networks.physical
    common = _lines(networks, interfaces(settings, None), datapath_type(settings, None))
    own = {node: _lines(networks, interfaces(settings, node), datapath_type(settings, node)) for node in nodes}
    return {f"{node}.networks": lines for node, lines in own.items() if lines != common}


def _lines(networks: Mapping[str, PhysicalNetwork], found: Mapping[str, str | None], datapath: str) -> str:
    lines = (f"{network.bridge} {datapath} {found[name] or ''}".rstrip() for name, network in networks.items())
    return "".join(f"{line}\n" for line in lines)
