"""Options with the network cards of a node whose virtual functions virtual machines get (SR-IOV; source 004, 2.5.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from blueprint.stackfile import sriov
from blueprint.stackfile.settings import SriovDevice
from openstack.config.layers import Layer, Origin, Repeated, Section
from openstack.config.wiring import Wiring

_MANUAL = "https://docs.openstack.org/neutron/2026.1/admin/config-sriov.html"
_SOURCE = f"quorate:nodes.<nodes>.sriov; {_MANUAL}"
_FILTERS = (
    "ComputeFilter",
    "ComputeCapabilitiesFilter",
    "ImagePropertiesFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
)
"""Filters of Nova's scheduler by default, from 2025.1 to 2026.2 (nova/conf/scheduler.py)."""


def node_layers(file: str, wiring: Wiring, service: str, node: str) -> tuple[Layer, ...]:
    """Returns the layer with a node's devices for Neutron's agent or nova-compute; () if the node has none."""
    devices = wiring.sriov_devices.get(node)
    if devices is None:
        return ()
    found: dict[tuple[str, str], dict[str, Section]] = {
        (sriov.AGENT, "sriov_agent.ini"): {"sriov_nic": _of_agent(devices)},
        ("nova-compute", "nova.conf"): {"pci": {"device_spec": _of_nova(devices)}},
    }
    return (Layer(Origin.ARCHITECTURE, _SOURCE, found[service, file]),) if (service, file) in found else ()


def _of_agent(devices: Mapping[str, SriovDevice]) -> Section:
    excluded = tuple(f"{name}:{';'.join(device.exclude)}" for name, device in devices.items() if device.exclude)
    mapped = tuple(f"{device.network}:{name}" for name, device in devices.items())
    return {"physical_device_mappings": mapped, **({"exclude_devices": excluded} if excluded else {})}


def _of_nova(devices: Mapping[str, SriovDevice]) -> Repeated:
    """Returns the devices whose functions Nova gives to virtual machines, as the text of 004, 2.5.2 has them."""
    return Repeated(
        tuple(json.dumps({"devname": name, "physical_network": device.network}) for name, device in devices.items())
    )


def scheduler_layers(wiring: Wiring) -> tuple[Layer, ...]:
    """Returns the layer with the filters of Nova's scheduler; () in a stack without such devices."""
    if not wiring.sriov_devices:
        return ()
    return (Layer(Origin.STACK, _SOURCE, {"filter_scheduler": {"enabled_filters": (*_FILTERS, sriov.FILTER)}}),)
