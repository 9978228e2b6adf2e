"""Reads the replication status of a running mariadbd, and measures its progress."""

from __future__ import annotations

import configparser
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from .decision import NO_UUID

CONFIGURATION = Path("/etc/mysql/my.cnf")
SYNCED = "4"


@dataclass(frozen=True)
class Status:
    """Replication status of mariadbd."""

    ready: bool
    primary: bool
    state: str
    """wsrep_local_state: 4 is Synced, 2 Donor, 3 Joined."""
    comment: str
    uuid: str
    committed: int
    view_number: str
    desynced: bool
    """Whether the member is out of flow control, for example during a backup."""

    @property
    def is_synced(self) -> bool:
        return self.ready and self.primary and self.state == SYNCED


_QUERY = "SHOW GLOBAL STATUS LIKE 'wsrep\\_%'; SELECT 'desync', @@GLOBAL.wsrep_desync"


def server_status() -> Status | None:
    """Queries mariadbd's replication status, without a password. Returns None if mariadbd does not answer."""
    said = _sql(_QUERY, seconds=5)
    if said is None:
        return None
    rows = (line.split("\t", 1) for line in said.splitlines())
    said = {row[0]: row[-1] for row in rows}
    return Status(
        ready=said.get("wsrep_ready") == "ON",
        primary=said.get("wsrep_cluster_status") == "Primary",
        state=said.get("wsrep_local_state", ""),
        comment=said.get("wsrep_local_state_comment", ""),
        uuid=said.get("wsrep_cluster_state_uuid", NO_UUID),
        committed=int(said.get("wsrep_last_committed", "-1")),
        view_number=said.get("wsrep_cluster_conf_id", ""),
        desynced=said.get("desync") == "1",
    )


def set_desync(*, on: bool) -> bool:
    """Takes mariadbd out of flow control and of ProxySQL's traffic, or back. Returns whether mariadbd did it."""
    return _sql(f"SET GLOBAL wsrep_desync = {'ON' if on else 'OFF'}", seconds=30) is not None


def _sql(statements: str, seconds: float) -> str | None:
    """Runs statements as the user of the operating system. Returns the output; None if mariadbd does not answer."""
    command = ["mariadb", "--no-defaults", "--protocol=socket", f"--socket={option('socket')}", "-rNBe", statements]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=True).stdout
    except (subprocess.SubprocessError, OSError):
        return None


def transfers_state() -> bool:
    """Whether a state transfer or a backup runs in this container."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(
            word.rpartition(b"/")[2].startswith((b"wsrep_sst_", b"mariabackup", b"mariadb-backup"))
            for word in words[:2]
        ):
            return True
    return False


def written(pid: int) -> int:
    """Returns how many MiB a process has written; 0 if unknown.

    This shows the progress of a mariadbd that recovers or receives data and does not answer yet.
    """
    try:
        lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) >> 20 for line in lines if line.startswith("write_bytes")), 0)


class Progress:
    """Remembers when a member that is not synced made progress last."""

    def __init__(self) -> None:
        self._seen: object = None
        self._at = time.monotonic()

    def seconds_without(self, status: Status | None, *, transfers: bool, wrote: int) -> float:
        """Returns the seconds since the last progress, after comparing the given status with the previous one."""
        seen = (status.state, status.view_number, status.committed) if status else wrote
        if seen != self._seen or transfers or (status and (status.is_synced or status.desynced)):
            self._seen, self._at = seen, time.monotonic()
        return time.monotonic() - self._at


def option(name: str) -> str:
    """Returns the value of an option in mariadbd's configuration file."""
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    parser.read(CONFIGURATION)
    return parser.get("mysqld", name)
