"""What a command does to a quorum's member, by its text alone: each text by itself."""

from __future__ import annotations

import pytest

from policy.engine.decode import from_message
from policy.facts.shell import Command
from tests.policy.tables.commands import local
from tests.policy.world import message

DISRUPT = {
    "systemctl restart etcd": "stops or restarts a service",
    "sudo systemctl stop mariadb.service": "stops or restarts a service",
    "service rabbitmq-server restart": "stops or restarts a service",
    "docker restart etcd": "stops or restarts a service",
    "rabbitmqctl stop_app": "stops or restarts a service",
    "reboot": "restarts or stops the machine",
    "apt-get update && sudo reboot": "restarts or stops the machine",
    "ssh -o BatchMode=yes master1 sudo reboot": "restarts or stops the machine",
    "uptime\n/sbin/shutdown -r now": "restarts or stops the machine",
    "systemctl reboot": "restarts or stops the machine",
    "kubectl --context live drain ctl01 --ignore-daemonsets": "drains or deletes a node",
    "kubectl delete node ctl01": "drains or deletes a node",
    "virsh -c qemu+ssh://virt1/system destroy database1": "stops or deletes a virtual machine",
    "etcdctl member remove 8e9e05c52164694d": "takes a member away",
    "ceph osd purge 3 --yes-i-really-mean-it": "takes a member away",
    "kubeadm upgrade node": "upgrades the machine's software",
    "apt-get install -y kubelet=1.37.0-1.1": "upgrades the machine's software",
}
HARMLESS = (
    "uptime",
    "systemctl start etcd",
    "systemctl status etcd",
    "systemctl restart chrony",
    "echo 'a reboot is needed'",
    "test -f /run/reboot-required",
    "kubectl get nodes",
    "virsh list --all",
    "etcdctl member list",
    "apt-get install -y jq",
    "grep shutdown /var/log/syslog",
)


def command(text: str) -> Command:
    given = local("c", text)
    return Command(from_message(given.type, given.urn, given.name, message(given.props)))


@pytest.mark.parametrize(("text", "words"), DISRUPT.items(), ids=list(DISRUPT))
def test_it_disrupts(text: str, words: str) -> None:
    assert command(text).disrupts == words


@pytest.mark.parametrize("text", HARMLESS)
def test_it_does_not(text: str) -> None:
    assert command(text).disrupts == ""


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("for host in m1 m2 m3; do ssh $host reboot; done", True),
        ("for host in m1 m2\ndo\n  ssh $host reboot\ndone", True),
        ("pdsh -w m[1-3] systemctl restart etcd", True),
        ("for file in /etc/one; do cat $file; done; reboot", False),
        ("ssh m1 reboot", False),
    ],
)
def test_it_goes_over_several_machines(text: str, several: bool) -> None:
    assert command(text).several is several


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("etcdctl endpoint health --cluster && reboot", True),
        ("rabbitmq-diagnostics check_if_node_is_quorum_critical && reboot", True),
        ("ceph mon ok-to-stop a && systemctl stop ceph-mon@a", True),
        ("kubectl drain ctl01", True),
        ("kubectl drain ctl01 --disable-eviction", False),
        ("etcdctl snapshot save /x && reboot", False),
    ],
)
def test_it_asks_its_quorum(text: str, asks: bool) -> None:
    assert command(text).asks is asks
