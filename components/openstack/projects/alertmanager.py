"""Alertmanager, where source 004 has Nagios: it checks nothing itself, it sends what others found (004, 5.3.15)."""

from components.openstack.definition import Container, File, Http, Port, ProcessDefinition, ProjectDefinition

ALERTMANAGER = ProcessDefinition(
    name="nagios",
    project="alertmanager",
    kind="Deployment",
    uid=42472,
    containers=(
        Container(
            name="alertmanager",
            image="prometheus-alertmanager",
            user="prometheus",
            command="/opt/prometheus_alertmanager/alertmanager --config.file=/etc/prometheus/alertmanager.yml "
            "--web.listen-address=0.0.0.0:9093 --cluster.listen-address= --storage.path /var/lib/prometheus",
            ports=(Port("http", 9093, clients=("project", "monitoring")),),
            ready=Http("http", "/-/ready"),
            alive=Http("http", "/-/healthy"),
            files=(File("alertmanager.yml", "/etc/prometheus/alertmanager.yml"),),
            owns=("/var/lib/prometheus",),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="alertmanager",
    processes=(ALERTMANAGER,),
)
