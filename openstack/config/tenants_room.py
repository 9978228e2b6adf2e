"""Options with which nova-compute keeps memory and CPU of its node from tenants (blueprint/plan/host_reserves.py).

nova.conf has the reserve that most computes have. The files for single nodes have the reserve of the others, such as
virt hosts, unless the stack file sets the option for all computes, and the CPUs of tenants on hosts of pinned virtual
machines.
"""

from __future__ import annotations

from blueprint.openstack import options
from blueprint.plan.host_reserves import HostReserve
from blueprint.stackfile.service_options import service_options
from blueprint.stackfile.settings import Settings
from openstack.config.layers import Layer, Origin, Section
from openstack.config.wiring import Wiring

_FILE, _PROJECT, _SERVICE = "nova.conf", "nova", "nova-compute"
_SOURCE = "virtual machines, requests of pods, and system (blueprint/plan/host_reserves.py)"


def common_layer(wiring: Wiring) -> Layer:
    """Returns the options of nova.conf with the reserve that most computes have."""
    return Layer(Origin.ARCHITECTURE, _SOURCE, {"DEFAULT": _reserved(wiring.common_reserve, frozenset())})


def node_layers(file: str, wiring: Wiring, settings: Settings, service: str, node: str) -> tuple[Layer, ...]:
    """Returns the layer with a node's own reserve; () for other services, and if the node has the common reserve."""
    reserve = wiring.host_reserves.get(node)
    if (service, file) != (_SERVICE, _FILE) or reserve is None:
        return ()
    sections: dict[str, Section] = {}
    if reserve != wiring.common_reserve and (own := _reserved(reserve, _written(settings))):
        sections["DEFAULT"] = own
    if reserve.shared:
        sections["compute"] = {"cpu_shared_set": reserve.shared}
    return (Layer(Origin.ARCHITECTURE, _SOURCE, sections),) if sections else ()


def _reserved(reserve: HostReserve, without: frozenset[str]) -> Section:
    values = {"reserved_host_memory_mb": reserve.memory, "reserved_host_cpus": reserve.cpu}
    return {name: value for name, value in values.items() if name not in without}


def _written(settings: Settings) -> frozenset[str]:
    """Returns the names of the options in nova.conf that the stack file sets for all computes."""
    given = (each.get(_FILE, {}).get("DEFAULT", {}) for each in service_options(settings, _PROJECT, _SERVICE))
    return frozenset(options.canonical(name) for names in given for name in names)
