"""Fluentd: it gathers what the nodes' collectors send, as source 004's StackLight aggregator did (004, 5.3.15)."""

from components.openstack.definition import Container, File, Port, ProcessDefinition, ProjectDefinition, Tcp

AGGREGATOR = ProcessDefinition(
    name="lma-aggregator",
    project="fluentd",
    kind="Deployment",
    uid=42474,
    containers=(
        Container(
            name="fluentd",
            image="fluentd",
            user="fluentd",
            command="fluentd -c /etc/fluentd/fluentd.conf -o /var/log/kolla/fluentd/fluentd.log",
            ports=(Port("forward", 24224, clients=("project", "nodes")),),
            ready=Tcp("forward"),
            alive=Tcp("forward"),
            files=(File("fluentd.conf", "/etc/fluentd/fluentd.conf"),),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="fluentd",
    needs=("opensearch",),
    processes=(AGGREGATOR,),
)
