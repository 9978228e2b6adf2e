"""Alertmanager, which sends the alerts of Prometheus.

It replaces Nagios of source 004, 5.3.15, but checks nothing itself.

By default, Alertmanager shows alerts in its web page only. To send them, set receivers in the stack file, with the file
`alertmanager.yml` in `services.nagios.config`. Instances exchange silences and the record of sent alerts, so that each
alert is sent once.
"""

from __future__ import annotations

from files.yaml_writer import plain_document
from openstack.config.layers import TextFile, WrittenFile
from openstack.config.ports import ALERTMANAGER as PORT
from openstack.config.wiring import Wiring
from openstack.definition import ConfigurationFile, Container, Http, Port, ProcessDefinition, ProjectDefinition

_GOSSIP = 9094
_CONFIG = ConfigurationFile("alertmanager.yml", "/etc/prometheus/alertmanager.yml")
_START = ConfigurationFile("alertmanager-start.sh", "/etc/prometheus/alertmanager-start.sh")

_DEFAULT = {
    # Alerts of one quorum arrive together. Times are Alertmanager's own defaults, except the wait before the first
    # message: a lost member is reported after 10 s instead of 30 (project figure).
    "route": {"receiver": "none", "group_by": ["alertname", "quorum"], "group_wait": "10s"},
    # When a quorum has lost its majority, the alerts about its single members are suppressed.
    "inhibit_rules": [
        {
            "source_matchers": ['alertname="QuorumLost"'],
            "target_matchers": ['alertname="QuorumMemberLost"'],
            "equal": ["quorum"],
        }
    ],
    "receivers": [{"name": "none"}],
}


def _configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
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


ALERTMANAGER = ProcessDefinition(
    name="nagios",
    project="alertmanager",
    # The process has no data on a node's disk, which would bind the pod to the node: when the node fails, the pod must
    # start on another node.
    kind="Deployment",
    uid=42472,
    discovered=True,
    containers=(
        Container(
            name="alertmanager",
            image="prometheus-alertmanager",
            user="prometheus",
            command=f"sh {_START.path}",
            ports=(
                Port("http", PORT, clients=("project", "monitoring")),
                Port("gossip", _GOSSIP, clients=("project",)),
            ),
            ready=Http("http", "/-/ready"),
            alive=Http("http", "/-/healthy"),
            files=(_CONFIG, _START),
            owns=("/var/lib/prometheus",),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="alertmanager",
    processes=(ALERTMANAGER,),
    configure=_configure,
)
