"""RabbitMQ: messages, in quorum queues. Its tables say no load balancer: clients know every member."""

from components.openstack.config.layers import ConfigFile, Layer, Level
from components.openstack.config.ports import AMQP
from components.openstack.definition import (
    Claim,
    Container,
    Exec,
    File,
    Port,
    ProcessDefinition,
    ProjectDefinition,
)

CONFIGURATION = ConfigFile(
    "rabbitmq.conf",
    "flat",
    (
        # On the minority side of a partition, RabbitMQ stops; by default both sides would continue.
        Layer(Level.PROJECT, "004, 5.3.12", {"": {"cluster_partition_handling": "pause_minority"}}),
        # A quorum queue lives on a majority of the members, a classic one on the member that it was declared on.
        Layer(Level.PROJECT, "https://www.rabbitmq.com/docs/quorum-queues", {"": {"default_queue_type": "quorum"}}),
    ),
)

RABBITMQ = ProcessDefinition(
    name="rabbitmq",
    project="rabbitmq",
    kind="StatefulSet",
    uid=42439,
    claim=Claim(production=50, lab=5),
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

PROJECT = ProjectDefinition(
    name="rabbitmq",
    processes=(RABBITMQ,),
    configure=lambda _wiring, _process: (CONFIGURATION,),
)
