"""The settings of a member, and what the others answer about their databases."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

_SETTINGS = Path(os.environ.get("OVN_MEMBER", "/etc/ovn/member.json"))
_PATIENCE = 5
"""Seconds that another member has for an answer. Project figure."""
REPLACED = "quorate-replaced-"
"""Begins the key in `external_ids` of the database, before the id of a cluster that its own one replaces."""


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

    @property
    def table(self) -> str:
        """The table of one row that has the database's own settings."""
        return "NB_Global" if self.database == "OVN_Northbound" else "SB_Global"


@dataclass(frozen=True)
class PeerDatabase:
    """What another member answers about its database."""

    cluster: str = ""
    """Id of the cluster that it belongs to, or joins; empty if it has no data."""
    server: str = ""
    """Its own id in the cluster."""


def settings() -> MemberSettings:
    written: dict[str, Any] = json.loads(_SETTINGS.read_text(encoding="utf-8"))
    written["members"] = tuple(written["members"])
    return MemberSettings(**written)


def ask(own: MemberSettings, member: str) -> PeerDatabase | None:
    """Returns what another member answers; None without an answer."""
    where = [["name", "==", own.database]]
    rows = _select(own, member, "_Server", {"table": "Database", "where": where, "columns": ["cid", "sid"]})
    if rows is None:
        return None
    return PeerDatabase(_uuid(rows[0]["cid"]), _uuid(rows[0]["sid"])) if rows else PeerDatabase()


def ask_others(own: MemberSettings) -> dict[str, PeerDatabase | None]:
    """Returns what each other member answers, by name. Asks all at the same time."""
    others = [member for member in own.members if member != own.own]
    with ThreadPoolExecutor() as pool:
        return dict(zip(others, pool.map(partial(ask, own), others), strict=True))


def replaces(own: MemberSettings, member: str, cluster: str) -> bool:
    """Whether the database of another member names a cluster as one that it replaces."""
    rows = _select(own, member, own.database, {"table": own.table, "where": [], "columns": ["external_ids"]})
    return any(key == REPLACED + cluster for row in rows or () for key, _ in row["external_ids"][1])


def _select(own: MemberSettings, member: str, database: str, rows: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Returns rows of a database of another member, whether it leads or not; None without an answer."""
    command = ["ovsdb-client", f"--timeout={_PATIENCE}", "--no-leader-only", "query", f"tcp:{member}:{own.peers}"]
    transaction = json.dumps([database, {"op": "select", **rows}])
    said = subprocess.run([*command, transaction], capture_output=True, text=True, check=False)
    return None if said.returncode else json.loads(said.stdout)[0].get("rows", [])


def _uuid(value: list[str | list[str]]) -> str:
    return str(value[1]) if value[0] == "uuid" else ""
