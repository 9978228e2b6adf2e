"""Fluentd: it gathers what the nodes' collectors send, as the seed's StackLight aggregator did (004, 5.3.15)."""

from components.openstack.workload import Container, File, Port, Tcp, Workload

AGGREGATOR = Workload(
    service="lma-aggregator",
    component="fluentd",
    kind="Deployment",
    uid=42474,
    containers=(
        Container(
            name="fluentd",
            image="fluentd",
            user="fluentd",
            command="fluentd -c /etc/fluentd/fluentd.conf -o /var/log/kolla/fluentd/fluentd.log",
            ports=(Port("forward", 24224),),
            ready=Tcp("forward"),
            alive=Tcp("forward"),
            files=(File("fluentd.conf", "/etc/fluentd/fluentd.conf"),),
        ),
    ),
)

WORKLOADS = (AGGREGATOR,)
