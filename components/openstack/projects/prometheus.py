"""Prometheus and Grafana, where source 004 has InfluxDB and Grafana (004, 5.3.15); Kolla dropped influxdb with 2026.1.

Each instance of Prometheus scrapes and stores everything by itself, and sends its alerts to every Alertmanager.
"""

from __future__ import annotations

from components.documents import plain_document
from components.openstack.config.layers import TextFile, WrittenFile
from components.openstack.config.ports import PROMETHEUS as PORT
from components.openstack.config.wiring import Wiring
from components.openstack.definition import Claim, Container, File, Http, Port, ProcessDefinition, ProjectDefinition
from components.openstack.monitoring import alerts, grafana, scraping

_CONFIG = File("prometheus.yml", "/etc/prometheus/prometheus.yml")
_ALERTS = File("alerts.yml", "/etc/prometheus/alerts.yml")


def _configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    if name == GRAFANA.name:
        return grafana.files(wiring, PROMETHEUS.name)
    return (
        TextFile(_CONFIG.name, (plain_document(scraping.document(wiring, name, _ALERTS.path)),)),
        TextFile(_ALERTS.name, (plain_document(alerts.document(wiring)),)),
    )


PROMETHEUS = ProcessDefinition(
    name="influxdb-grafana",
    project="prometheus",
    kind="StatefulSet",
    uid=42472,
    claim=Claim(production=500, lab=20),
    grace=120,
    containers=(
        Container(
            name="prometheus-server",
            image="prometheus-server",
            user="prometheus",
            command=f"/opt/prometheus/prometheus --config.file {_CONFIG.path} "
            f"--web.listen-address 0.0.0.0:{PORT} --storage.tsdb.path /var/lib/prometheus/data",
            ports=(Port("prometheus", PORT),),
            ready=Http("prometheus", "/-/ready"),
            alive=Http("prometheus", "/-/healthy"),
            files=(_CONFIG, _ALERTS),
            data="/var/lib/prometheus",
            patience=30,
        ),
    ),
)

GRAFANA = ProcessDefinition(
    name="grafana",
    project="prometheus",
    kind="Deployment",
    uid=42417,
    exposed=((grafana.PORT, "grafana"),),
    sticky=True,
    containers=(
        Container(
            name="grafana",
            image="grafana",
            user="grafana",
            command=f"/usr/sbin/grafana-server --config={grafana.SETTINGS.path}",
            ports=(Port("grafana", grafana.PORT),),
            ready=Http("grafana", "/api/health"),
            alive=Http("grafana", "/api/health"),
            files=grafana.FILES,
            owns=("/var/lib/grafana",),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="prometheus",
    processes=(PROMETHEUS, GRAFANA),
    configure=_configure,
)
