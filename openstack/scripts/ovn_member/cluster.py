"""Looks at the cluster again and again, and does what its leader has to do."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

from . import data
from .peers import MemberSettings, PeerDatabase, ask_others
from .server import SOCKET, appctl, cluster_id, field, is_ready, say, status

_SERVED = "served"
"""File beside the database, which is as old as the last look at which this member took part."""
_SERVER = re.compile(r"^ +(?P<id>[0-9a-f]{4}) \((?P=id) at tcp:(?P<host>[^:]+):\d+\)", re.MULTILINE)


def watch(own: MemberSettings) -> None:
    """Looks at the cluster once."""
    text = status(own)
    cluster, ready, leads = cluster_id(text), is_ready(text), field(text, "Leader") == "self"
    if ready:
        appctl("ovsdb-server/add-remote", f"db:{own.database},{own.table},connections")
        data.DATA.with_name(_SERVED).touch()
    peers = ask_others(own) if leads or not ready else {}
    if data.leave_replaced(own, cluster, peers):
        appctl("ovsdb-server/remove-db", own.database)
        return
    if leads:
        kick(own, text, peers)
        set_timer(own, text)
        _set_remote(own)


def kick(own: MemberSettings, text: str, peers: Mapping[str, PeerDatabase | None]) -> None:
    """Removes the identities that members no longer have: a member has another one since it lost its volume."""
    cluster = cluster_id(text)
    for found in _SERVER.finditer(text):
        peer = peers.get(found["host"])
        if peer and peer.server and peer.cluster == cluster and not peer.server.startswith(found["id"]):
            say(f"removes {found['id']}: {found['host']} has lost it, and is {peer.server[:4]} now")
            say(appctl("cluster/kick", own.database, found["id"]).strip())


def set_timer(own: MemberSettings, text: str) -> None:
    now = int(field(text, "Election timer") or own.election_timer)
    if now != own.election_timer:  # each change may at most double it
        appctl("cluster/change-election-timer", own.database, str(min(own.election_timer, 2 * now)))


def _set_remote(own: MemberSettings) -> None:
    """Lets all members listen at the port of clients, with the probe. The database has the setting."""
    ctl = [own.client, "--timeout=10", f"--db=unix:{SOCKET}"]
    wanted = f"ptcp:{own.port}:0.0.0.0"
    now = subprocess.run(
        [*ctl, "--bare", "--columns=target,inactivity_probe", "list", "connection"],
        capture_output=True,
        text=True,
        check=False,
    )
    if now.returncode == 0 and now.stdout.split() != [wanted, str(own.probe)]:
        subprocess.run([*ctl, f"--inactivity-probe={own.probe}", "set-connection", wanted], check=False)
