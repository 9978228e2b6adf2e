"""RabbitMQ: messages, in quorum queues. Its tables say no load balancer: clients know every member."""

from components.openstack.workload import AMQP, Claim, Container, Exec, File, Port, Workload

CONFIGURATION = """\
# A partition's side without the majority pauses (004, 5.3.12); by default both sides would go on.
cluster_partition_handling = pause_minority
# Queues live with the majority of members, not with the one that they were declared on.
default_queue_type = quorum
"""

RABBITMQ = Workload(
    service="rabbitmq",
    component="rabbitmq",
    kind="StatefulSet",
    uid=42439,
    claim=Claim(production=50, lab=5),
    written=(("rabbitmq.conf", CONFIGURATION),),
    grace=120,
    containers=(
        Container(
            name="rabbitmq",
            image="rabbitmq",
            user="rabbitmq",
            command="/usr/sbin/rabbitmq-server",
            ports=(
                Port("amqp", AMQP),
                Port("management", 15672),
                Port("metrics", 15692),
                Port("distribution", 25672),
                Port("epmd", 4369),
            ),
            ready=Exec(("healthcheck_rabbitmq",), timeout=30),
            alive=Exec(("rabbitmq-diagnostics", "-q", "ping"), timeout=30),
            files=(
                File("rabbitmq.conf", "/etc/rabbitmq/rabbitmq.conf"),
                File("rabbitmq-env.conf", "/etc/rabbitmq/rabbitmq-env.conf"),
                File("advanced.config", "/etc/rabbitmq/advanced.config"),
                File("enabled_plugins", "/etc/rabbitmq/enabled_plugins"),
            ),
            data="/var/lib/rabbitmq",
        ),
    ),
)

WORKLOADS = (RABBITMQ,)
