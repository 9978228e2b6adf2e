"""Health checks that succeed only while a quorum has its majority, each with the reason.

If a liveness probe uses one, every member without a majority fails the probe and is restarted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SAME_COMMAND = r"[^|;&\n]*"


@dataclass(frozen=True)
class ClusterCheck:
    """A pattern of a health check's command or URL, and why its result depends on other members of the quorum."""

    form: re.Pattern[str]
    why: str


def _check(form: str, why: str) -> ClusterCheck:
    return ClusterCheck(re.compile(form), why)


IN_COMMANDS = (
    _check(
        r"\bwsrep_(?:cluster_\w+|ready|connected|local_state\w*)",
        "Galera changes this variable on members without a majority",
    ),
    _check(r"--galera_(?:online|ready)\b|\bclustercheck\b", "it asks for wsrep_local_state or wsrep_ready of Galera"),
    _check(
        rf"\brabbitmq(?:ctl|-diagnostics)\b{_SAME_COMMAND}\b(?:cluster_status|check_alarms|check_if_\w+|"
        r"await_online_nodes|node_health_check)",
        "it asks other members of RabbitMQ",
    ),
    _check(
        rf"\brabbitmq(?:ctl|-diagnostics)\b{_SAME_COMMAND}\b(?:check_running|is_running|check_port_\w+)",
        "pause_minority stops the application on members without a majority",
    ),
    _check(rf"\betcdctl\b{_SAME_COMMAND}\bendpoint\s+health\b", "etcd answers only with a majority"),
    _check(rf"\betcdctl\b{_SAME_COMMAND}\s--cluster\b", "it asks all members of etcd"),
    _check(
        rf"\betcdctl\b(?!{_SAME_COMMAND}--consistency[= ]\"?s){_SAME_COMMAND}\b(?:get|put)\s",
        "etcd reads and writes only with a majority",
    ),
    _check(r":2379/(?:readyz|health(?!\S*serializable=true))\b", "etcd reads for it only with a majority"),
    _check(
        rf"\bceph\b(?!{_SAME_COMMAND}(?:\bdaemon\b|\.asok)){_SAME_COMMAND}\s"
        r"(?:-s|status|health|quorum_status|mon\s+stat)(?!\S)",
        "Ceph's monitors answer only with a majority",
    ),
    _check(r"\bzkServer\.sh\s+status\b", "ZooKeeper serves only with a majority"),
    _check(r"/v1/status/leader\b|\bconsul\s+operator\s+raft\b", "Consul elects a leader only with a majority"),
    _check(r"/_cluster/health(?!\S*local=true)", "it asks the elected cluster manager"),
)
PATHS_OF_ETCD = _check(r"/(?:readyz|health(?!\?\S*serializable=true))\b.*", "etcd reads for it only with a majority")
"""HTTP paths of etcd's health checks that fail on a member without a majority."""
