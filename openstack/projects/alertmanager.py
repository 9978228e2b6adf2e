"""Alertmanager's configuration: alerts of a quorum are grouped, and instances exchange what they have sent."""

from __future__ import annotations

from blueprint.openstack.projects.records import own_records
from files.yaml_writer import plain_document
from openstack.config.layers import TextFile, WrittenFile
from openstack.config.ports import ALERTMANAGER as PORT
from openstack.config.wiring import Wiring

_RECORD = own_records()["alertmanager"]
_GOSSIP = own_records().port("nagios", "gossip")
_CONFIG = _RECORD.file("alertmanager.yml")
_START = _RECORD.file("alertmanager-start.sh")

_DEFAULT = {
    # Alerts of one quorum arrive together. Times are Alertmanager's own defaults, except the wait before the first
    # message: a lost member is reported after 10 s instead of 30 (project figure).
    "route": {"receiver": "none", "group_by": ["alertname", "quorum"], "group_wait": "10s"},
    # The alert that waited for longer suppresses the early one (`info`), and a lost majority those of single members.
    "inhibit_rules": [
        {"source_matchers": [f'alertname="{worse}"'], "target_matchers": [f'alertname=~"{named}"'], "equal": equal}
        for worse, named, equal in (
            ("QuorumLost", "QuorumMemberLost|QuorumMemberSilent", ["quorum"]),
            ("QuorumMemberLost", "QuorumMemberSilent", ["quorum"]),
            ("EtcdDiskSlow", "EtcdSyncSlow", ["quorum", "member"]),
            ("DiskStaysSlow", "DiskSlow", ["node", "device"]),
            ("AgentSilent", "AgentLate", ["service", "hostname"]),
        )
    ],
    "receivers": [{"name": "none"}],
}


def configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    peers = f"{wiring.host(f'{name}-members')}:{_GOSSIP}"
    # An empty address turns off the exchange between instances.
    several = [f"--cluster.listen-address=0.0.0.0:{_GOSSIP}", f"--cluster.peer={peers}"]
    words = [
        "exec /opt/prometheus_alertmanager/alertmanager",
        f"--config.file={_CONFIG.path}",
        f"--web.listen-address=0.0.0.0:{PORT}",
        "--storage.path=/var/lib/prometheus",
        *(several if wiring.instances[name] > 1 else ["--cluster.listen-address="]),
    ]
    return (
        TextFile(_CONFIG.name, (plain_document(_DEFAULT),)),
        TextFile(_START.name, (" \\\n  ".join(words) + "\n",)),
    )
