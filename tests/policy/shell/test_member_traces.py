"""Which ports are those of quorum members: Quorate's own as their records have them, and those of other products."""

from __future__ import annotations

import pytest

from policy.shell.effects_network import CUTS, READERS
from tests.projects import EVERY_RECORD

MEMBERS = {
    "mysqld": ("mysql", "wsrep", "ist", "sst"),
    "rabbitmq": ("amqp", "distribution", "epmd"),
    "ceph-mon": ("msgr1", "msgr2"),
    "elasticsearch-kibana": ("http", "transport"),
    "ovn-nb": ("nb", "raft"),
    "ovn-sb": ("sb", "raft"),
}
"""Names of the ports of clients and members, by process."""
RECORDED = [
    port.number
    for process, names in MEMBERS.items()
    for container in EVERY_RECORD.processes[process].containers
    for port in container.ports
    if port.name in names
]
OTHERS = {
    "etcd": (2379, 2380),
    "kube-apiserver": (6443,),
    "kubelet": (10250,),
    "BGP": (179,),
    "RabbitMQ with TLS": (5671,),
    "ZooKeeper": (2181, 2888, 3888),
    "Consul": (8300, 8301),
    "Vault": (8201,),
    "MongoDB": (27017,),
    "Redis and Sentinel": (6379, 26379),
}


def effect(port: int) -> str:
    return READERS["iptables"](f"-A INPUT -p tcp --dport {port} -j DROP".split())


@pytest.mark.parametrize("port", sorted({*RECORDED, *(number for numbers in OTHERS.values() for number in numbers)}))
def test_a_rule_that_closes_a_member_s_port_cuts_it_off(port: int) -> None:
    assert effect(port) == CUTS


@pytest.mark.parametrize("port", [22, 53, 80, 443, 11211])
def test_a_rule_that_closes_another_port_does_not(port: int) -> None:
    assert effect(port) == ""


def test_each_named_port_is_recorded() -> None:
    assert len(RECORDED) == sum(map(len, MEMBERS.values()))
