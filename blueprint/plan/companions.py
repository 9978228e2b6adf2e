"""Companions of rows: processes that a row's pods shared until each became a workload of its own.

The table has one row for a pair ("Influxdb + Grafana", "Elasticsearch + Kibana") or asks for a special load balancer
(mysqld: "might require specialized load balancer (proxysql)", 004, 5.3.16 and 5.4.16). The row counts the members of
the quorum. The companion is a separate Deployment on the same pools, so that a change of its image or configuration
never restarts a member. It has as many instances as the row unless the stack file sets another count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from blueprint.plan.layout import ServicePlan
from blueprint.stackfile.settings import Override, Settings

COMPANIONS = {
    "proxysql": "mysqld",
    "mysqld-exporter": "mysqld",
    "grafana": "influxdb-grafana",
    "opensearch-dashboards": "elasticsearch-kibana",
}
"""Maps each companion to the service of its row."""


def companions(services: Sequence[ServicePlan], settings: Settings) -> tuple[ServicePlan, ...]:
    """Returns the plan of each companion whose row is in the stack."""
    by_name = {service.name: service for service in services if not service.replaced_by}
    return tuple(
        _beside(by_name[beside], name, settings.services.get(name, Override()))
        for name, beside in COMPANIONS.items()
        if beside in by_name
    )


def _beside(service: ServicePlan, name: str, override: Override) -> ServicePlan:
    return replace(
        service,
        name=name,
        companion_of=service.name,
        instances=override.replicas or service.instances,
        dedicated_nodes=0,
        shareable=True,
        load_balancer=True,
        everywhere=False,
        quorum=False,
        apart_from=(),
        override=override,
        source=f"beside {service.row} (blueprint/plan/companions.py)",
    )
