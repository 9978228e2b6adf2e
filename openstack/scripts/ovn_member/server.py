"""Talks with this member's ovsdb-server, and reads what it says about the cluster."""

from __future__ import annotations

import re
import subprocess
import sys

from .peers import MemberSettings

CONTROL, SOCKET = "/tmp/ovsdb-server.ctl", "/tmp/ovsdb-server.sock"  # noqa: S108 - /tmp is the container's own


def say(text: str) -> None:
    print(f"ovn_member: {text}", file=sys.stderr, flush=True)


def appctl(*words: str) -> str:
    """Returns the answer of this member's ovsdb-server to a command; empty if there is none."""
    command = ["ovs-appctl", "--timeout=10", "--target", CONTROL, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def answer(own: MemberSettings) -> None:
    """Lets ovsdb-server answer the other members."""
    appctl("ovsdb-server/add-remote", f"ptcp:{own.peers}:0.0.0.0")


def status(own: MemberSettings) -> str:
    """Returns this member's view of the cluster; empty if it has no database yet."""
    return appctl("cluster/status", own.database)


def field(text: str, name: str) -> str:
    """Returns a value of `cluster/status`; empty if it is not there."""
    found = re.search(rf"^{name}: (.+)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def is_ready(text: str) -> bool:
    """Whether a member that says this takes part in a cluster that has a leader."""
    return field(text, "Status") == "cluster member" and field(text, "Leader") not in ("", "unknown")


def metrics(text: str) -> str:
    """Returns the metric of a member that says this about the cluster, in Prometheus' form."""
    return f"# TYPE quorate_ovn_takes_part gauge\nquorate_ovn_takes_part {int(is_ready(text))}\n"


def cluster_id(text: str) -> str:
    """Returns the whole id in `cluster/status`; empty if it is not known."""
    return field(text, "Cluster ID").partition("(")[2].rstrip(")")
