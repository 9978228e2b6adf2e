"""Runs a member of an OVN database: `ovn_member.py run`. `ovn_member.py ready` is its readiness probe.

ovsdb-server starts without the database and answers the other members at the port `peers`. A member with data serves
it. A member without data joins the cluster that another member belongs to. The first member creates the cluster, but
only while every other member answers that it has no data either: a second cluster is never created beside one whose
members do not answer. The leader removes (`cluster/kick`) each identity that its member has lost with its volume.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

_SETTINGS = Path(os.environ.get("OVN_MEMBER", "/etc/ovn/member.json"))
_DATA = Path("/var/lib/ovn/database.db")
_CONTROL, _SOCKET = "/tmp/ovsdb-server.ctl", "/tmp/ovsdb-server.sock"  # noqa: S108 - /tmp is the container's own
_PAUSE = 5
"""Seconds between two looks at the cluster. Project figure."""
_PATIENCE = 5
"""Seconds that another member has for an answer. Project figure."""
_SERVER = re.compile(r"^ +(?P<id>[0-9a-f]{4}) \((?P=id) at tcp:(?P<host>[^:]+):\d+\)", re.MULTILINE)


@dataclass(frozen=True)
class MemberSettings:
    """The settings of a member, which the file of the container has."""

    database: str
    """Name of the database: OVN_Northbound or OVN_Southbound."""
    schema: str
    client: str
    """Program that sets the database's remotes: ovn-nbctl or ovn-sbctl."""
    port: int
    """Port of clients, which is open while the member has the database."""
    peers: int
    """Port at which members ask each other."""
    raft: int
    """Port of Raft."""
    metrics: int
    """Port at which Prometheus reads this member's state."""
    members: tuple[str, ...]
    """DNS names of all members, the first one first."""
    election_timer: int
    """Milliseconds without a leader's message after which a member starts an election."""
    probe: int
    """Milliseconds without a message after which the server asks whether a client is there."""

    @property
    def own(self) -> str:
        """The DNS name of this member."""
        name = socket.gethostname()
        return next(each for each in self.members if each.partition(".")[0] == name)


@dataclass(frozen=True)
class PeerDatabase:
    """What another member answers about its database."""

    cluster: str = ""
    """Id of the cluster that it belongs to, or joins; empty if it has no data."""
    server: str = ""
    """Its own id in the cluster."""


def say(text: str) -> None:
    print(f"ovn_member: {text}", file=sys.stderr, flush=True)


def settings() -> MemberSettings:
    written: dict[str, Any] = json.loads(_SETTINGS.read_text(encoding="utf-8"))
    written["members"] = tuple(written["members"])
    return MemberSettings(**written)


def appctl(*words: str) -> str:
    """Returns the answer of this member's ovsdb-server to a command; empty if there is none."""
    command = ["ovs-appctl", "--timeout=10", "--target", _CONTROL, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def ask(own: MemberSettings, member: str) -> PeerDatabase | None:
    """Returns what another member answers; None without an answer."""
    where = [["name", "==", own.database]]
    select = {"op": "select", "table": "Database", "where": where, "columns": ["cid", "sid"]}
    command = ["ovsdb-client", f"--timeout={_PATIENCE}", "query", f"tcp:{member}:{own.peers}"]
    said = subprocess.run([*command, json.dumps(["_Server", select])], capture_output=True, text=True, check=False)
    if said.returncode:
        return None
    rows = json.loads(said.stdout)[0].get("rows", [])
    return PeerDatabase(_uuid(rows[0]["cid"]), _uuid(rows[0]["sid"])) if rows else PeerDatabase()


def _uuid(value: list[str | list[str]]) -> str:
    return str(value[1]) if value[0] == "uuid" else ""


def has_data() -> bool:
    """Whether the volume has a database that belongs to a cluster or joins one. A file that is cut off is removed."""
    if not _DATA.exists():
        return False
    done = subprocess.run(["ovsdb-tool", "db-sid", _DATA], capture_output=True, text=True, check=False)
    if done.returncode == 0 and done.stdout.strip():
        return True
    say(f"removes {_DATA}, which was not completely written: {done.stderr.strip()}")
    _DATA.unlink()
    return False


def make(own: MemberSettings) -> bool:
    """Makes the database's file, so that this member joins the cluster or creates it. Returns False to wait."""
    others = {member: ask(own, member) for member in own.members if member != own.own}
    silent = [member for member, peer in others.items() if peer is None]
    clusters = {peer.cluster for peer in others.values() if peer and peer.cluster}
    if len(clusters) > 1:
        return _wait(f"the other members belong to different clusters: {', '.join(sorted(clusters))}")
    new = _DATA.with_suffix(".new")
    new.unlink(missing_ok=True)
    addresses = {member: f"tcp:{member}:{own.raft}" for member in own.members}
    if clusters:
        (cluster,) = clusters
        there = [addresses[member] for member, peer in others.items() if peer and peer.cluster]
        say(f"joins cluster {cluster} by {', '.join(there)}")
        tool = ["ovsdb-tool", f"--cid={cluster}", "join-cluster", new, own.database, addresses[own.own], *there]
    elif own.own != own.members[0]:
        return _wait(f"no other member has a cluster; {own.members[0]} creates it")
    elif silent:
        return _wait(f"no answer from {', '.join(silent)}, which may have data")
    else:
        say("creates the cluster: no member has data")
        timer = f"--election-timer={own.election_timer}"
        tool = ["ovsdb-tool", timer, "create-cluster", new, own.schema, addresses[own.own]]
    subprocess.run(tool, check=True)
    _sync(new)
    new.rename(_DATA)
    _sync(_DATA.parent)
    return True


_waits: list[str] = []


def _wait(why: str) -> bool:
    if _waits[-1:] != [why]:
        _waits.append(why)
        say(f"waits: {why}")
    return False


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def serve() -> None:
    """Lets ovsdb-server serve the database. The file of a member that the cluster has removed is put aside."""
    command = ["ovs-appctl", "--timeout=60", "--target", _CONTROL, "ovsdb-server/add-db", str(_DATA)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "left the cluster" in done.stderr:
        say("the cluster has removed this member: it joins anew")
        _DATA.rename(_DATA.with_suffix(".removed"))
    elif done.returncode:
        raise RuntimeError(f"ovsdb-server does not serve {_DATA}: {done.stderr.strip()}")


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


def serve_metrics(own: MemberSettings) -> None:
    """Answers Prometheus from a thread of its own. Each answer asks ovsdb-server: one that hangs gives none in time."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = metrics(status(own)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
            """Logs no request."""

    server = ThreadingHTTPServer(("0.0.0.0", own.metrics), Handler)  # noqa: S104 - a pod has one address
    Thread(target=server.serve_forever, daemon=True).start()


def watch(own: MemberSettings) -> None:
    """Looks at the cluster once."""
    text = status(own)
    if is_ready(text):
        table = "NB_Global" if own.database == "OVN_Northbound" else "SB_Global"
        appctl("ovsdb-server/add-remote", f"db:{own.database},{table},connections")
    if field(text, "Leader") == "self":
        kick(own, text)
        set_timer(own, text)
        _set_remote(own)


def kick(own: MemberSettings, text: str) -> None:
    """Removes the identities that members no longer have: a member has another one since it lost its volume."""
    cluster = field(text, "Cluster ID").partition("(")[2].rstrip(")")
    for found in _SERVER.finditer(text):
        if found["host"] == own.own:
            continue
        peer = ask(own, found["host"])
        if peer and peer.server and peer.cluster == cluster and not peer.server.startswith(found["id"]):
            say(f"removes {found['id']}: {found['host']} has lost it, and is {peer.server[:4]} now")
            say(appctl("cluster/kick", own.database, found["id"]).strip())


def set_timer(own: MemberSettings, text: str) -> None:
    now = int(field(text, "Election timer") or own.election_timer)
    if now != own.election_timer:  # each change may at most double it
        appctl("cluster/change-election-timer", own.database, str(min(own.election_timer, 2 * now)))


def _set_remote(own: MemberSettings) -> None:
    """Lets all members listen at the port of clients, with the probe. The database has the setting."""
    ctl = [own.client, "--timeout=10", f"--db=unix:{_SOCKET}"]
    wanted = f"ptcp:{own.port}:0.0.0.0"
    now = subprocess.run(
        [*ctl, "--bare", "--columns=target,inactivity_probe", "list", "connection"],
        capture_output=True,
        text=True,
        check=False,
    )
    if now.returncode == 0 and now.stdout.split() != [wanted, str(own.probe)]:
        subprocess.run([*ctl, f"--inactivity-probe={own.probe}", "set-connection", wanted], check=False)


def run(own: MemberSettings) -> int:
    """Runs ovsdb-server until it ends, and returns its exit code."""
    serve_metrics(own)
    for path in (_CONTROL, _SOCKET):
        Path(path).unlink(missing_ok=True)
    server = subprocess.Popen(
        [
            "ovsdb-server",
            "--no-dbs",
            f"--unixctl={_CONTROL}",
            f"--remote=punix:{_SOCKET}",
            f"--remote=ptcp:{own.peers}:0.0.0.0",
            "-vconsole:info",
            "-vsyslog:off",
            "-vfile:off",
        ]
    )
    try:
        signal.signal(signal.SIGTERM, lambda _number, _frame: server.terminate())
        while server.poll() is None:
            if not Path(_CONTROL).exists():
                time.sleep(0.2)
            elif not status(own):
                if has_data() or make(own):
                    serve()
                else:
                    time.sleep(1)
            else:
                watch(own)
                _rest(server)
        return server.returncode
    finally:
        server.kill()


def _rest(server: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(_PAUSE)


if __name__ == "__main__":
    if sys.argv[1:] == ["ready"]:
        sys.exit(0 if is_ready(status(settings())) else 1)
    sys.exit(run(settings()))
