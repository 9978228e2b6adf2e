"""Configuration of Prometheus, Grafana and their exporters."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.openstack.projects.records import own_records
from files.yaml_writer import plain_document
from openstack.config import ports
from openstack.config.layers import Secret, TextFile, WrittenFile
from openstack.config.wiring import Wiring
from openstack.monitoring import alerts, grafana, scraping
from openstack.monitoring.age_alerts import Schedule
from openstack.projects import mariadb

_CLOUD = "openstack"
"""Name of the cloud in clouds.yml. The command of openstack-exporter has it too."""
_ALERTS = own_records()["prometheus"].file("alerts.yml")

# The exporter listens only on the node's address, because the node's other networks do not need its metrics.
_NODE_START = f"""\
exec /opt/node_exporter/node_exporter --web.listen-address="$NODE_ADDRESS:{ports.NODE_EXPORTER}" \\
  --collector.textfile.directory=/host/metrics
"""


def configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    if name == "grafana":
        return grafana.files(wiring, "influxdb-grafana")
    if name == "node-exporter":
        return (TextFile("node-exporter-start.sh", (_NODE_START,)),)
    if name == "openstack-exporter":
        return (TextFile("clouds.yml", (_clouds(wiring),)),)
    return (
        TextFile("prometheus.yml", (plain_document(scraping.document(wiring, name, _ALERTS.path)),)),
        TextFile(_ALERTS.name, (plain_document(alerts.document(wiring, tuple(_schedules(wiring)))),)),
    )


def _schedules(wiring: Wiring) -> Iterator[Schedule]:
    """Yields the CronJobs that make backups of databases, test them or copy them."""
    for action in mariadb.actions(wiring):
        of = action.beside or ""
        if action.schedule and wiring.has(of):
            kind = "test" if action.tests else "copy" if action.copies else "backup"
            yield Schedule(action.job.name, of, mariadb.age_limit(action), kind)


def _clouds(wiring: Wiring) -> Secret:
    """Returns clouds.yml for openstack-exporter, with the account of Keystone's administrator.

    Only this account may list the resources of all projects.
    """
    cloud = {
        "region_name": wiring.region,
        "identity_api_version": 3,
        "identity_interface": "internal",
        "auth": {
            "auth_url": wiring.url("keystone", "/v3"),
            "username": "admin",
            "password": "{}",
            "project_name": "admin",
            "project_domain_name": "Default",
            "user_domain_name": "Default",
        },
    }
    return Secret("keystone/admin", plain_document({"clouds": {_CLOUD: cloud}}))
