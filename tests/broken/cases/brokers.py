"""A further RabbitMQ beside the stack's own: rules evaluate it as a quorum of its own."""

from __future__ import annotations

from tests.broken.broken import Broken, Props, apart_terms, replicas

NEUTRON = "cloud-openstack-rabbitmq-neutron-rabbitmq"


def _anywhere(props: Props) -> None:
    apart_terms(props).clear()


def _classic(props: Props) -> None:
    props["data"]["rabbitmq.conf"] = "cluster_partition_handling = pause_minority\n"


CASES = [
    Broken(
        "a further RabbitMQ of two",
        (("StatefulSet", NEUTRON, replicas(2)),),
        {"rabbitmq-size": {NEUTRON}, "budget-keeps-majority": {NEUTRON}},
        stack="brokers",
    ),
    Broken(
        "a further RabbitMQ whose members may share a node",
        (("StatefulSet", NEUTRON, _anywhere),),
        {"one-instance-per-node": {NEUTRON}, "one-member-per-server": {NEUTRON}, "quorum-survives-host": {NEUTRON}},
        stack="brokers",
    ),
    Broken(
        "a further RabbitMQ with classic queues",
        (("ConfigMap", f"{NEUTRON}-kolla", _classic),),
        {"rabbitmq-quorum-queues": {NEUTRON}},
        stack="brokers",
    ),
]
