"""The rows of a reference architecture in a stack whose virtual machines are connected by OVN.

Source document 004 knows Neutron's agents only. ovn-controller has the row of the L2 agent, and so its nodes: every
compute, and the nodes of Neutron's server, which are gateways as they carry routers with agents. The rows of the other
agents do not apply. OVN's databases and ovn-northd run on the nodes of Neutron's server, three instances of each.
Relays of the southbound database are in the larger architectures, on the nodes that are open to light services.
"""

from __future__ import annotations

from blueprint.architecture.model import Architecture, Row
from blueprint.source import Source

SERVER, L2_AGENT, CONTROLLER = "neutron-server", "neutron-l2-agent", "ovn-controller"
AGENTS = ("neutron-dhcp-agent", "neutron-l3-agent", "neutron-metadata-agent")
"""Services whose work ovn-controller and the metadata agent beside it do."""
DATABASES = ("ovn-nb", "ovn-sb")
NORTHD = "ovn-northd"
RELAY = "ovn-sb-relay"
INSTANCES = 3
"""Members of each database, the least that survive the loss of one; and instances of ovn-northd, of which one works."""
_COMPUTES_EACH = 50
"""Computes for each relay of the southbound database. The figure of Kolla Ansible
(ovn_sb_db_relay_compute_per_relay)."""


def with_ovn(architecture: Architecture) -> Architecture:
    """Returns the architecture of a stack with OVN. One without a row for Neutron's server is returned unchanged."""
    servers = [row for row in architecture.rows if row.service == SERVER]
    if not servers:
        return architecture
    rows: list[Row] = []
    for row in architecture.without(AGENTS).rows:
        changed = {"admits": _renamed(row.admits), "beside": _renamed(row.beside)}
        if row.service == L2_AGENT:
            changed |= {"service": CONTROLLER, "today": "ovn-controller"}
        rows.append(row.model_copy(update=changed))
    pools = servers[0].runs_on
    rows += [_row(name, INSTANCES, pools, quorum=name in DATABASES) for name in (*DATABASES, NORTHD)]
    rows += _relays(architecture, pools)
    return architecture.model_copy(update={"rows": tuple(rows)})


def _renamed(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(CONTROLLER if name == L2_AGENT else name for name in names)


def _relays(architecture: Architecture, pools: tuple[str, ...]) -> list[Row]:
    """Returns the row of the relays; [] if the members of the database serve no more computes than relays would.

    An instance needs a node of its own, so there are at most as many as nodes that admit light services.
    """
    wanted = -(-architecture.computes // _COMPUTES_EACH)
    if wanted <= INSTANCES:
        return []
    row = _row(RELAY, wanted, pools, quorum=False)
    hosts = [each for each in architecture.owners if each.service in pools or _is_open(each, row)]
    nodes = sum(each.dedicated_nodes for each in hosts)
    others = tuple(each.service for each in hosts if each.service not in pools)
    found = {"instances": min(wanted, nodes), "at_least": True, "runs_on": (*pools, *others)}
    return [row.model_copy(update=found)]


def _is_open(owner: Row, guest: Row) -> bool:
    return owner.node_role == "controller" and not owner.monitoring and owner.admits_guest(guest)


def _row(name: str, instances: int, pools: tuple[str, ...], *, quorum: bool) -> Row:
    says = "came after source 004 was written; on the nodes of Neutron's server"
    return Row(
        row=name,
        service=name,
        instances=instances,
        shareable=True,
        load_balancer=False,
        footprint="light",
        quorum=quorum,
        runs_on=pools,
        in_table=False,
        table_instances=None,
        table_shareable=None,
        table_load_balancer=None,
        sources=(Source(seed="project", section="docs/openstack.md", says=says),),
    )
