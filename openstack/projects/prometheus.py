"""Prometheus and Grafana. Prometheus replaces InfluxDB of source 004, 5.3.15, which Kolla no longer has since 2026.1.

Each instance of Prometheus scrapes and stores all metrics, and sends its alerts to every instance of Alertmanager.
"""

from __future__ import annotations

from files.yaml_writer import plain_document
from openstack.config import ports
from openstack.config.layers import Secret, TextFile, WrittenFile
from openstack.config.ports import PROMETHEUS as PORT
from openstack.config.wiring import REGION, Wiring
from openstack.definition import (
    Claim,
    ConfigurationFile,
    Container,
    HostPath,
    Http,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
)
from openstack.monitoring import alerts, grafana, scraping

_CONFIG = ConfigurationFile("prometheus.yml", "/etc/prometheus/prometheus.yml")
_NODE = ConfigurationFile("node-exporter-start.sh", "/etc/prometheus/node-exporter-start.sh")
_CLOUDS, _CLOUD = ConfigurationFile("clouds.yml", "/etc/openstack/clouds.yml"), "openstack"
_ALERTS = ConfigurationFile("alerts.yml", "/etc/prometheus/alerts.yml")

# The exporter listens only on the node's address, because the node's other networks do not need its metrics.
_NODE_START = f"""\
exec /opt/node_exporter/node_exporter --web.listen-address="$NODE_ADDRESS:{ports.NODE_EXPORTER}"
"""


def _configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    if name == GRAFANA.name:
        return grafana.files(wiring, PROMETHEUS.name)
    if name == NODE_EXPORTER.name:
        return (TextFile(_NODE.name, (_NODE_START,)),)
    if name == OPENSTACK_EXPORTER.name:
        return (TextFile(_CLOUDS.name, (_clouds(wiring),)),)
    return (
        TextFile(_CONFIG.name, (plain_document(scraping.document(wiring, name, _ALERTS.path)),)),
        TextFile(_ALERTS.name, (plain_document(alerts.document(wiring)),)),
    )


def _clouds(wiring: Wiring) -> Secret:
    """Returns clouds.yml for openstack-exporter, with the account of Keystone's administrator.

    Only this account may list the resources of all projects.
    """
    cloud = {
        "region_name": REGION,
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
            ports=(Port("grafana", grafana.PORT, clients=("everyone",)),),
            ready=Http("grafana", "/api/health"),
            alive=Http("grafana", "/api/health"),
            files=grafana.FILES,
            owns=("/var/lib/grafana",),
        ),
    ),
)

NODE_EXPORTER = ProcessDefinition(
    name="node-exporter",
    project="prometheus",
    kind="DaemonSet",
    uid=42472,
    # Only in the host's network namespace does the exporter see the node's network devices.
    host_network=True,
    discovered=True,
    containers=(
        Container(
            name="node-exporter",
            image="prometheus-node-exporter",
            user="prometheus",
            command=f"sh {_NODE.path}",
            ports=(Port("metrics", ports.NODE_EXPORTER, clients=("monitoring",)),),
            ready=Http("metrics", "/"),
            alive=Tcp("metrics"),
            files=(_NODE,),
            # A container sees the node's CPU, memory and devices, but not its file systems. This mount shows the file
            # system with the cloud's data.
            host_paths=(HostPath(name="data", path="", mount="/host/data", read_only=True),),
            node_address=("NODE_ADDRESS",),
        ),
    ),
)

OPENSTACK_EXPORTER = ProcessDefinition(
    name="openstack-exporter",
    project="prometheus",
    kind="Deployment",
    uid=42472,
    exposed=((ports.OPENSTACK_EXPORTER, "metrics"),),
    containers=(
        Container(
            name="openstack-exporter",
            image="prometheus-openstack-exporter",
            user="prometheus",
            command="/opt/openstack-exporter/openstack-exporter --endpoint-type=internal "
            f"--os-client-config={_CLOUDS.path} --web.listen-address=:{ports.OPENSTACK_EXPORTER} {_CLOUD}",
            ports=(Port("metrics", ports.OPENSTACK_EXPORTER, clients=("monitoring",)),),
            # A probe of /metrics would send requests to every API.
            ready=Tcp("metrics"),
            alive=Tcp("metrics"),
            files=(_CLOUDS,),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="prometheus",
    processes=(PROMETHEUS, GRAFANA, NODE_EXPORTER, OPENSTACK_EXPORTER),
    configure=_configure,
)
