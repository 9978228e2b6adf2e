"""Checks what distributed routers need (DVR; source 004, 2.6): computes of their own with an external network.

Each node has one L3 agent at most: Neutron knows an agent by its type and its host. So no node may run both the agent
of the network nodes, which has the addresses that virtual machines share, and that of the computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blueprint.openstack.options import canonical
from blueprint.plan.layout import ServicePlan
from blueprint.plan.nodes import Node
from blueprint.problems import Problem
from blueprint.stackfile.inventory import NAMED
from blueprint.stackfile.physical_networks import interfaces
from blueprint.stackfile.service_options import service_options
from blueprint.stackfile.settings import Settings
from text.quoting import first_of

KEY = "quorate:networks.distributedRouters"
METADATA_AGENT = "neutron-metadata-agent"
_COMPUTE = "nova-compute"
_ON_COMPUTES = "neutron-l3-agent-compute"
_OF_NETWORK_NODES = ("neutron-l3-agent", METADATA_AGENT)
"""Agents of which a node has one at most. Those of a compute are in the pod neutron-l3-agent-compute."""
_OWN = (
    ("neutron.conf", "DEFAULT", "router_distributed"),
    ("l3_agent.ini", "DEFAULT", "agent_mode"),
    ("openvswitch_agent.ini", "agent", "enable_distributed_routing"),
)
"""Options that Quorate sets by `quorate:networks.distributedRouters`: file, section and option."""
_POPULATION = "l2population"


def problems(settings: Settings, running: Sequence[ServicePlan], nodes: Sequence[Node]) -> Iterator[Problem]:
    """Yields the problems of a stack with distributed routers, and of options that ask for a part of them.

    `running`: the services of the stack.
    """
    yield from _own_options(settings)
    if not settings.networks.distributed_routers:
        return
    if settings.networks.backend == "ovn":
        yield Problem(KEY, "is for Open vSwitch; OVN's routers are on every compute by themselves; remove it")
        return
    by_name = {each.name: each for each in running}
    if _COMPUTE not in by_name:
        yield Problem(KEY, "the stack has no nova-compute, on whose nodes such routers are; remove it")
        return
    computes = [node for node in nodes if node.pool in by_name[_COMPUTE].pools]
    for name in _OF_NETWORK_NODES:
        both = [node.name for node in computes if name in by_name and node.pool in by_name[name].pools]
        if both:
            wrong = f"{first_of(both, NAMED)} can run {name} and {_COMPUTE}, and a node has one such agent"
            yield Problem(KEY, f"{wrong}; run {name} on nodes that are not computes, or remove this")
    yield from _without_external(settings, computes)
    yield from _without_population(settings)


def without_computes(hosts: Mapping[str, tuple[str, ...]], settings: Settings) -> dict[str, tuple[str, ...]]:
    """Returns the nodes of each service of a topology without the computes that it names for the metadata agent.

    Computes have the agent in the pod of their L3 agent.
    """
    if not settings.networks.distributed_routers or METADATA_AGENT not in hosts:
        return dict(hosts)
    computes = hosts.get(_COMPUTE, ())
    return {**hosts, METADATA_AGENT: tuple(host for host in hosts[METADATA_AGENT] if host not in computes)}


def _own_options(settings: Settings) -> Iterator[Problem]:
    for service in ("neutron-server", "neutron-l2-agent", "neutron-l3-agent", _ON_COMPUTES):
        for files in service_options(settings, "neutron", service):
            for file, section, name in _OWN:
                if name in map(canonical, files.get(file, {}).get(section, {})):
                    yield Problem(KEY, f"alone decides {name} ({file}, {section}); remove this option, and write true")
                    return


def _without_external(settings: Settings, computes: Sequence[Node]) -> Iterator[Problem]:
    """Yields a problem for computes whose floating addresses would not leave the node."""
    external = settings.bootstrap and settings.bootstrap.networks.external
    name = external.physical_network if external else None
    cut_off: list[str] = []
    for node in computes:
        found = interfaces(settings, node.name)
        if not (found.get(name) if name else any(found.values())):
            cut_off.append(node.name)
    if cut_off:
        where = name or next(iter(settings.networks.physical), "physnet1")
        yield Problem(
            KEY,
            f"no interface on the external network, from which a compute answers for floating addresses: "
            f"{first_of(cut_off, NAMED)}; write quorate:networks.physical.{where}.interface, or interfaces: "
            f"{{{where}: …}} of these nodes in quorate:nodes (004, 2.6.2)",
        )


def _without_population(settings: Settings) -> Iterator[Problem]:
    drivers: object = None
    populates: object = True
    for files in service_options(settings, "neutron", "neutron-server"):
        drivers = files.get("ml2_conf.ini", {}).get("ml2", {}).get("mechanism_drivers", drivers)
    for files in service_options(settings, "neutron", "neutron-l2-agent"):
        populates = files.get("openvswitch_agent.ini", {}).get("agent", {}).get("l2_population", populates)
    if drivers is not None and _POPULATION not in (drivers if isinstance(drivers, tuple) else str(drivers).split(",")):
        wrong = f"needs {_POPULATION} among mechanism_drivers (ml2_conf.ini, ml2), so that computes know the routers'"
        yield Problem(KEY, f"{wrong} tunnels; add it, or remove that option")
    if populates in (False, "false", "False"):
        yield Problem(KEY, "needs l2_population (openvswitch_agent.ini, agent); remove that option")
