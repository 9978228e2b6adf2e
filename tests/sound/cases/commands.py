"""Commands that look dangerous and are not, and disruptive ones with a check, an order and one machine each."""

from __future__ import annotations

from dataclasses import replace

from tests.policy.tables.commands import copied, local, ssh
from tests.sound.sound import Sound, nodes, quorum

_ROLL = """#!/bin/sh
set -eu
# systemctl stop etcd: never without this check
until etcdctl endpoint health --cluster; do
  sleep 5
done
systemctl restart etcd
"""

CASES = [
    Sound(
        "commands that only name what would be harmful",
        [
            *nodes(3),
            *quorum("zk", "zookeeper"),
            ssh("echo", "echo 'systemctl stop etcd' >> /root/notes  # then reboot"),
            ssh("look", "systemctl status etcd; kubectl get nodes; etcdctl member list; ls /var/lib/etcd"),
            ssh("temporary", 'T=$(mktemp -d); trap \'rm -rf "$T"\' EXIT; cp /etc/hosts "$T"'),
            ssh("old-copies", "find /var/lib/etcd-backup -name '*.db' -mtime +7 -delete"),
            ssh("open", "iptables -A INPUT -p tcp --dport 2379:2380 -j ACCEPT; iptables -A INPUT -j DROP"),
            ssh("first-start", "systemctl enable --now etcd || { journalctl -u etcd; exit 1; }"),
            local("wait", "kubectl wait --for=condition=Ready nodes --all --timeout=5m"),
        ],
    ),
    Sound(
        "members restarted one after the other by a script that asks",
        [
            *(copied(f"script-{host}", _ROLL, host, "/opt/roll.sh") for host in ("m1", "m2", "m3")),
            replace(ssh("roll-m1", "/opt/roll.sh", "m1"), after=("script-m1",)),
            replace(ssh("roll-m2", "sh /opt/roll.sh", "m2"), after=("roll-m1", "script-m2")),
            replace(ssh("roll-m3", "sh -e /opt/roll.sh", "m3"), after=("roll-m2", "script-m3")),
        ],
    ),
    Sound(
        "a node that is drained, restarted and taken back",
        [
            local(
                "cycle", "set -e; kubectl drain n1 --ignore-daemonsets; ssh n1 reboot; sleep 60; kubectl uncordon n1"
            ),
        ],
    ),
]
