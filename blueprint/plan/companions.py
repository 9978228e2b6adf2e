"""Companions of rows: processes that the table does not count.

The table has one row for a pair ("Influxdb + Grafana", "Elasticsearch + Kibana") or asks for a special load balancer
(mysqld: "might require specialized load balancer (proxysql)", 004, 5.3.16 and 5.4.16). The row counts the members of
the quorum. The companion is a separate Deployment on the same pools, so that a change of its image or configuration
never restarts a member. It has as many instances as the row unless the stack file sets another count.

Other companions are agents: "smart agent that runs on every node in the OpenStack environment" (004, 5.3.15).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from blueprint.plan.layout import ServicePlan
from blueprint.plan.nodes import Node
from blueprint.stackfile.settings import Override, Settings

AGENTS = {
    "node-exporter": "influxdb-grafana",
    "log-collector": "lma-aggregator",
}
"""Maps each agent, which runs once on every node of the stack, to the service that reads what it gathers."""
COMPANIONS = {
    "proxysql": "mysqld",
    "mysqld-exporter": "mysqld",
    "grafana": "influxdb-grafana",
    "openstack-exporter": "influxdb-grafana",
    "opensearch-dashboards": "elasticsearch-kibana",
    **AGENTS,
}
"""Maps each companion to the service of its row."""
_SINGLE = {"openstack-exporter"}
"""Companions with one instance: each would ask the APIs the same questions again."""


def companions(services: Sequence[ServicePlan], nodes: Sequence[Node], settings: Settings) -> tuple[ServicePlan, ...]:
    """Returns the plan of each companion whose row is in the stack."""
    by_name = {service.name: service for service in services if not service.replaced_by}
    pools = tuple(dict.fromkeys(node.pool for node in nodes))
    found: list[ServicePlan] = []
    for name, beside in COMPANIONS.items():
        if beside in by_name:
            companion = _beside(by_name[beside], name, settings.services.get(name, Override()))
            found.append(_on_every_node(companion, pools, len(nodes)) if name in AGENTS else companion)
    return tuple(found)


def _beside(service: ServicePlan, name: str, override: Override) -> ServicePlan:
    return replace(
        service,
        name=name,
        companion_of=service.name,
        instances=override.replicas or (1 if name in _SINGLE else service.instances),
        dedicated_nodes=0,
        shareable=True,
        load_balancer=True,
        everywhere=False,
        quorum=False,
        apart_from=(),
        override=override,
        source=f"beside {service.row} (blueprint/plan/companions.py)",
    )


def _on_every_node(agent: ServicePlan, pools: tuple[str, ...], nodes: int) -> ServicePlan:
    return replace(
        agent, instances=nodes, pools=pools, everywhere=True, load_balancer=False, source="on every node (004, 5.3.15)"
    )
