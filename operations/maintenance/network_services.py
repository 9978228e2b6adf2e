"""Which routers and networks of tenants machines carry, and which of them no agent elsewhere carries too.

The database is asked, as for agents' heartbeats. Neutron's API changes nothing here: an L3 agent that is disabled takes
its routers down without a report, so that the database has two active agents for a router, of which Neutron may give
the ports to the one that is gone (get_active_host_for_ha_router of 2026.1 returns the first).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from openstack.config.wiring import ENVIRONMENT, wiring
from operations.cloud_pods import pods
from operations.live_cluster import LiveCluster
from operations.living import asking
from operations.living.agents import SILENT
from operations.living.answers import Answer, Unanswered
from operations.living.cloud import LivingCloud
from operations.living.galera import CLIENT
from operations.living.readers import READERS
from text.quoting import printable

AGENTS = ("neutron-l3-agent", "neutron-dhcp-agent")
"""Processes that carry routers and networks."""
# The name last and in hexadecimal digits: tenants choose it. An agent is able to take over if it is enabled and sends
# heartbeats.
_ABLE = f"a.admin_state_up AND TIMESTAMPDIFF(SECOND, a.heartbeat_timestamp, UTC_TIMESTAMP()) <= {SILENT['neutron']}"
_ROUTERS = (
    f"SELECT 'router', r.id, a.host, ({_ABLE}) AND h.state IN ('active', 'standby'), HEX(COALESCE(r.name, ''))"  # noqa: S608
    " FROM neutron.routerl3agentbindings b JOIN neutron.agents a ON a.id = b.l3_agent_id"
    " JOIN neutron.routers r ON r.id = b.router_id LEFT JOIN neutron.ha_router_agent_port_bindings h"
    " ON h.router_id = b.router_id AND h.l3_agent_id = b.l3_agent_id"
)
_NETWORKS = (
    f"SELECT 'network', n.id, a.host, {_ABLE}, HEX(COALESCE(n.name, ''))"  # noqa: S608
    " FROM neutron.networkdhcpagentbindings b JOIN neutron.agents a ON a.id = b.dhcp_agent_id"
    " JOIN neutron.networks n ON n.id = b.network_id"
)
QUERY = f"{_ROUTERS}; {_NETWORKS}"


@dataclass(frozen=True)
class NetworkService:
    """A router, or the addresses of a network, that machines carry."""

    kind: Literal["router", "network"]
    id: str
    name: str
    has_another: bool
    """Whether an agent on another machine carries it too, and is able to take over."""

    @property
    def called(self) -> str:
        """Its name and id."""
        return f"{self.name} ({self.id})"


@dataclass(frozen=True)
class NetworkServices:
    """What machines carry."""

    found: tuple[NetworkService, ...] = ()
    problem: str = ""
    """Why it is not known."""


def carried(cluster: LiveCluster, cloud: LivingCloud, hosts: Sequence[str]) -> NetworkServices:
    """Returns which routers and networks the machines `hosts` carry, by a member of Galera that takes part."""
    galera = wiring(cluster.plan, ENVIRONMENT).galera("neutron")
    quorum = next(each for each in cloud.quorums if each.name == galera)
    member = next((each.name for each in quorum.members if each.counts), "")
    pod = next((each for each in pods(cluster, galera) if each["metadata"]["name"] == member), None)
    question = {"neutron": f'{CLIENT} "{QUERY}" && echo end'}
    return read(asking.in_pod(cluster.api, pod, READERS["mysqld"].container, question), hosts)


def read(answer: Answer, hosts: Sequence[str]) -> NetworkServices:
    """Returns what the machines carry, by the answer of the database."""
    places: dict[tuple[Literal["router", "network"], str], list[tuple[str, bool]]] = defaultdict(list)
    names: dict[str, str] = {}
    try:
        lines = answer.text("neutron").splitlines()
        if lines[-1] != "end":
            raise Unanswered("the answer of its database is not complete")
        for line in lines[:-1]:
            kind, id_, host, able, name = line.split("\t")
            places["router" if kind == "router" else "network", id_].append((host, able == "1"))
            names[id_] = printable(bytes.fromhex(name).decode(errors="replace"), kept="")
    except (Unanswered, ValueError, IndexError) as error:
        return NetworkServices(problem=f"routers and networks were not read: {error}")
    return NetworkServices(
        tuple(
            NetworkService(kind, id_, names[id_], any(able and host not in hosts for host, able in found))
            for (kind, id_), found in sorted(places.items())
            if any(host in hosts for host, _ in found)
        )
    )
