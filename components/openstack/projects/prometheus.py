"""Prometheus and Grafana, where source 004 has InfluxDB and Grafana (004, 5.3.15); Kolla dropped influxdb with 2026.1.

Grafana keeps no data of its own: its database is a file until its configuration names the cloud's.
"""

from components.openstack.definition import Claim, Container, File, Http, Port, ProcessDefinition, ProjectDefinition

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
            command="/opt/prometheus/prometheus --config.file /etc/prometheus/prometheus.yml "
            "--web.listen-address 0.0.0.0:9091 --storage.tsdb.path /var/lib/prometheus/data",
            ports=(Port("prometheus", 9091),),
            ready=Http("prometheus", "/-/ready"),
            alive=Http("prometheus", "/-/healthy"),
            files=(File("prometheus.yml", "/etc/prometheus/prometheus.yml"),),
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
    exposed=((3000, "grafana"),),
    containers=(
        Container(
            name="grafana",
            image="grafana",
            user="grafana",
            command="/usr/sbin/grafana-server --config=/etc/grafana/grafana.ini",
            ports=(Port("grafana", 3000, clients=("everyone",)),),
            ready=Http("grafana", "/api/health"),
            alive=Http("grafana", "/api/health"),
            files=(File("grafana.ini", "/etc/grafana/grafana.ini"),),
            owns=("/var/lib/grafana",),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="prometheus",
    processes=(PROMETHEUS, GRAFANA),
)
