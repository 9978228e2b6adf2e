"""Network cards whose virtual functions virtual machines get (SR-IOV; source 004, 2.5): devices of single nodes.

A virtual machine gets a function of a card in place of a port of the switch. Open vSwitch does not see its packets, so
a project's network of it cannot be a tunnel: it is a VLAN or flat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blueprint.openstack import options
from blueprint.problems import Problem
from blueprint.stackfile.service_options import MECHANISM_DRIVERS, SCHEDULER_FILTERS, lacking, listed, node_names
from blueprint.stackfile.settings import Settings, SriovDevice
from text.suggestion import did_you_mean

KEY = "quorate:nodes"
AGENT = "neutron-sriov-nic-agent"
DRIVER = "sriovnicswitch"
"""Mechanism driver of Neutron's server for ports that are virtual functions."""
FILTER = "PciPassthroughFilter"
"""Filter of Nova's scheduler that knows which computes have a free function (source 004, 2.5.2)."""


_TYPES = tuple(MECHANISM_DRIVERS._replace(name=name) for name in ("project_network_types", "tenant_network_types"))
_TYPES_KEY = "quorate:projects.neutron.options.ml2_conf.ini.ml2"


def devices(settings: Settings, node: str) -> Mapping[str, SriovDevice]:
    """Returns the devices of a node by their interface. Patterns of nodes apply in lexicographic order (004, 1.3)."""
    found: dict[str, SriovDevice] = {}
    for pattern, values in sorted(settings.nodes.items()):
        if values.sriov and node in node_names(pattern):
            found |= values.sriov
    return dict(sorted(found.items()))


def problems(settings: Settings) -> Iterator[Problem]:
    """Yields the problems of devices, and of options with which no virtual machine could use them."""
    if "sr-iov" not in settings.asked_features:
        return
    if settings.has_ovn:
        yield Problem(
            KEY,
            "has devices of SR-IOV, which are built for Open vSwitch's agents only: with OVN, gateways would have to "
            "answer such ports' DHCP and metadata; remove sriov, or write quorate:networks.backend: ovs",
        )
        return
    networks = settings.networks.physical
    for pattern, values in settings.nodes.items():
        for name, device in values.sriov.items():
            if device.network not in networks:
                hint, known = did_you_mean(device.network, networks), ", ".join(networks) or "none"
                key = f"{KEY}.{pattern}.sriov.{name}.network"
                yield Problem(key, f"'{device.network}' is not a physical network{hint}; write one of: {known}")
    yield from _tunnels_only(settings)
    for needed in lacking(settings, {MECHANISM_DRIVERS: DRIVER, SCHEDULER_FILTERS: FILTER}):
        yield Problem(KEY, f"has devices of SR-IOV, which need {needed}")


def _tunnels_only(settings: Settings) -> Iterator[Problem]:
    """Yields a problem if projects can make no network of whose packets a device could carry (source 004, 2.5.2)."""
    types = next(
        (found for option in _TYPES if (found := listed(settings, option)) is not None),
        ("vxlan",),
    )
    carried = {device.network for values in settings.nodes.values() for device in values.sriov.values()}
    if not {"vlan", "flat"} & set(types):
        named = options.listed(settings.release, "ml2_conf.ini")["ml2"]
        name = next(each.name for each in _TYPES if each.name in named)
        yield Problem(
            KEY,
            f"has devices of SR-IOV, which carry no tunnels, and networks of projects are {', '.join(types)} only; "
            f"write {_TYPES_KEY}.{name}: [vlan, vxlan], and vlans of the network (004, 2.5.2)",
        )
    elif "flat" not in types:
        known = settings.networks.physical
        for network in sorted(carried):
            if network in known and known[network].vlans is None:
                advice = "write the IDs that Neutron may choose, such as 1001:1030"
                yield Problem(f"quorate:networks.physical.{network}.vlans", f"is missing, for SR-IOV; {advice}")
