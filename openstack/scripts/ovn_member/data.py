"""The file of the database: a member makes it, serves it, and puts it aside."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from .peers import MemberSettings, PeerDatabase, ask_others, replaces
from .server import CONTROL, say

DATA = Path("/var/lib/ovn/database.db")


def has_data() -> bool:
    """Whether the volume has a database that belongs to a cluster or joins one. A file that is cut off is removed."""
    if not DATA.exists():
        return False
    if file_says("db-sid"):
        return True
    say(f"removes {DATA}, which was not completely written")
    DATA.unlink()
    return False


def file_says(command: str) -> str:
    """Returns what ovsdb-tool says of the database's file; empty if it cannot."""
    done = subprocess.run(["ovsdb-tool", command, DATA], capture_output=True, text=True, check=False)
    if done.returncode:
        say(f"{command} of {DATA}: {done.stderr.strip()}")
        return ""
    return done.stdout.strip()


def make(own: MemberSettings) -> bool:
    """Makes the database's file, so that this member joins the cluster or creates it. Returns False to wait."""
    others = ask_others(own)
    silent = [member for member, peer in others.items() if peer is None]
    clusters = {peer.cluster for peer in others.values() if peer and peer.cluster}
    if len(clusters) > 1:
        return _wait(f"the other members belong to different clusters: {', '.join(sorted(clusters))}")
    new = DATA.with_suffix(".new")
    new.unlink(missing_ok=True)
    addresses = {member: f"tcp:{member}:{own.raft}" for member in own.members}
    if clusters:
        (cluster,) = clusters
        there = [addresses[member] for member, peer in others.items() if peer and peer.cluster]
        say(f"joins cluster {cluster} by {', '.join(there)}")
        command = ["ovsdb-tool", f"--cid={cluster}", "join-cluster", new, own.database, addresses[own.own], *there]
    elif own.own != own.members[0]:
        return _wait(f"no other member has a cluster; {own.members[0]} creates it")
    elif silent:
        return _wait(f"no answer from {', '.join(silent)}, which may have data")
    else:
        say("creates the cluster: no member has data")
        timer = f"--election-timer={own.election_timer}"
        command = ["ovsdb-tool", timer, "create-cluster", new, own.schema, addresses[own.own]]
    subprocess.run(command, check=True)
    _sync(new)
    new.rename(DATA)
    _sync(DATA.parent)
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
    command = ["ovs-appctl", "--timeout=60", "--target", CONTROL, "ovsdb-server/add-db", str(DATA)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "left the cluster" in done.stderr:
        say("the cluster has removed this member: it joins anew")
        DATA.rename(DATA.with_suffix(".removed"))
    elif done.returncode:
        raise RuntimeError(f"ovsdb-server does not serve {DATA}: {done.stderr.strip()}")


def leave_replaced(own: MemberSettings, cluster: str, peers: Mapping[str, PeerDatabase | None]) -> bool:
    """Puts the data of a cluster aside that the cluster of another member replaces. Returns whether it did."""
    for member, peer in peers.items():
        if peer and peer.cluster not in ("", cluster) and replaces(own, member, cluster):
            say(f"puts the data of {cluster} aside: {member} has gone on without it, as {peer.cluster}")
            DATA.rename(DATA.with_suffix(".former"))
            return True
    return False
