"""Physical networks of Neutron: provider networks that virtual machines reach through an interface of their node.

As in Fuel-CCP (`neutron.physnets`; source 004, 1.1): a name, an Open vSwitch bridge, and an interface in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from blueprint.openstack.options import canonical
from blueprint.problems import Problem
from blueprint.stackfile.service_options import node_names, service_options
from blueprint.stackfile.settings import Settings
from text.suggestion import did_you_mean

KEY = "quorate:networks.physical"
_VLAN_IDS = range(1, 4095)
"""IDs of VLANs (IEEE 802.1Q; 0 and 4095 are reserved)."""
_AGENT, _AGENTS_FILE = "neutron-l2-agent", "openvswitch_agent.ini"
_OF_KERNEL = "system"
"""The datapath type of the kernel's Open vSwitch, the default of Neutron's L2 agent."""


def interfaces(settings: Settings, node: str | None) -> Mapping[str, str | None]:
    """Returns the interface of a node on each physical network; None where it has none.

    `node`: None for a node that `quorate:nodes` does not mention. Its patterns apply in lexicographic order (004, 1.3).
    """
    found = {name: network.interface for name, network in settings.networks.physical.items()}
    for pattern, values in sorted(settings.nodes.items()):
        if values.interfaces and node in node_names(pattern):
            found |= values.interfaces
    return found


def datapath_type(settings: Settings, node: str | None) -> str:
    """Returns the datapath type of Open vSwitch's bridges on a node: that of Neutron's L2 agent there.

    `node`: None for a node that `quorate:nodes` does not mention.
    """
    found = _OF_KERNEL
    for files in service_options(settings, "neutron", _AGENT, node):
        options = files.get(_AGENTS_FILE, {}).get("ovs", {})
        found = next((str(value) for name, value in options.items() if canonical(name) == "datapath_type"), found)
    return found


def problems(settings: Settings) -> Iterator[Problem]:
    """Yields a problem for each name, bridge, interface and range of VLANs that Neutron could not use."""
    networks = settings.networks.physical
    for name, network in networks.items():
        if network.vlans and (wrong := _refusal(network.vlans)):
            yield Problem(f"{KEY}.{name}.vlans", wrong)
    for field in ("bridge", "interface"):
        counted = Counter(getattr(network, field) for network in networks.values())
        for value in (value for value, count in counted.items() if value and count > 1):
            yield Problem(KEY, f"several physical networks have the {field} '{value}'; write one of its own for each")
    for pattern, values in settings.nodes.items():
        for name in values.interfaces.keys() - networks.keys():
            advice = f"write one of: {', '.join(networks)}" if networks else f"write it under {KEY} first"
            yield Problem(
                f"quorate:nodes.{pattern}.interfaces.{name}",
                f"is not a physical network{did_you_mean(name, networks)}; {advice}",
            )
    external = settings.bootstrap and settings.bootstrap.networks.external
    if external and external.physical_network not in networks:
        hint = did_you_mean(external.physical_network, networks)
        yield Problem(
            "quorate:bootstrap.networks.external.physicalNetwork",
            f"'{external.physical_network}' is not a physical network{hint}; write one of {KEY}",
        )


def _refusal(vlans: str) -> str | None:
    """Returns why ranges of VLAN IDs cannot be used, and what to write instead; None if they can."""
    allowed: set[int] = set()
    for text in vlans.split(","):
        first, last = map(int, text.split(":"))
        ids = set(range(first, last + 1))
        if not ids or first not in _VLAN_IDS or last not in _VLAN_IDS:
            advice = f"write first:last from {_VLAN_IDS[0]} to {_VLAN_IDS[-1]}, such as 1001:1030"
            return f"{text} is not a range of VLAN IDs; {advice}"
        if ids & allowed:
            return f"{text} has IDs of a range before it; write each ID once"
        allowed |= ids
    return None
