"""The running server: what it says of replication, and whether it makes progress."""

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
    """What mariadbd says of replication."""

    ready: bool
    primary: bool
    state: str
    """wsrep_local_state: 4 is Synced, 2 Donor, 3 Joined."""
    comment: str
    uuid: str
    committed: int
    view_number: str
    desynced: bool
    """Taken out of flow control by an administrator, for a backup."""

    @property
    def is_synced(self) -> bool:
        return self.ready and self.primary and self.state == SYNCED


_QUERY = "SHOW GLOBAL STATUS LIKE 'wsrep\\_%'; SELECT 'desync', @@GLOBAL.wsrep_desync"


def server_status() -> Status | None:
    """Asks mariadbd as the user of the operating system, without a password; None if it does not answer."""
    command = ["mariadb", "--no-defaults", "--protocol=socket", f"--socket={option('socket')}", "-rNBe", _QUERY]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (subprocess.SubprocessError, OSError):
        return None
    rows = (line.split("\t", 1) for line in result.stdout.splitlines())
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
    """Returns the MiB that a process has written: while it does not answer yet, it may recover or receive data."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) >> 20 for line in lines if line.startswith("write_bytes")), 0)


class Progress:
    """When a member that is not synced last made progress."""

    def __init__(self) -> None:
        self._seen: object = None
        self._at = time.monotonic()

    def seconds_without(self, status: Status | None, *, transfers: bool, wrote: int) -> float:
        """Returns the seconds since the last progress, this look included."""
        seen = (status.state, status.view_number, status.committed) if status else wrote
        if seen != self._seen or transfers or (status and (status.is_synced or status.desynced)):
            self._seen, self._at = seen, time.monotonic()
        return time.monotonic() - self._at


def option(name: str) -> str:
    """Returns an option of mariadbd from its configuration file."""
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    parser.read(CONFIGURATION)
    return parser.get("mysqld", name)
