"""Takes a backup of a Galera member that is Synced, prepares the backup, and keeps it if mariadbd can open it."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path

from . import content
from .backup_files import ACCOUNT, BACKUPS, DATA, UNFINISHED, Refused, Settings, complete, require_space, run, say, size

SYNCED = "4"
PROVIDER = "/usr/lib/galera/libgalera_smm.so"
PATIENCE = 120
"""Seconds to wait until the cluster has all members. After that, the attempt fails, and the Job tries again later."""
_STATUS = "SHOW GLOBAL STATUS LIKE 'wsrep\\_%'"
_POSITION = re.compile(r"([0-9a-f]{8}-[0-9a-f-]{27})[: ](-?\d+)")


def take(settings: Settings) -> Path:
    """Takes a backup and removes the oldest backups beyond `keep`. Returns the backup's directory.

    Raises Refused or CalledProcessError if the backup fails.
    """
    require_whole(settings)
    require_space(BACKUPS, size(DATA))
    unfinished = BACKUPS / UNFINISHED
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    data, began = unfinished / "data", time.time()
    account = f"--defaults-file={ACCOUNT}"
    server = [f"--host={settings.member}", f"--datadir={DATA}", "--galera-info"]
    client = ("mariadb", account, f"--host={settings.member}")
    before = content.tables(*client)
    run("mariadb-backup", account, "--backup", f"--target-dir={data}", *server)
    tables = content.common(before, content.tables(*client))
    run("mariadb-backup", "--no-defaults", "--prepare", f"--target-dir={data}")
    position = checked(data)
    content.write_digests(unfinished)
    name = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime(began))
    written, seconds = size(data), round(time.time() - began, 1)
    said = {
        "member": settings.member,
        "position": position,
        "bytes": written,
        "seconds": seconds,
        "tables": tables,
    }
    (unfinished / "backup.json").write_text(json.dumps(said) + "\n", encoding="utf-8")
    run("sync", "--file-system", str(BACKUPS))
    kept = unfinished.rename(BACKUPS / name)
    say(f"{name} is complete and can be opened: {written >> 20} MiB at {position}, {seconds:.0f} s")
    for old in complete()[: -settings.keep]:
        shutil.rmtree(old)
        say(f"removed {old.name}: {settings.keep} are kept")
    return kept


def require_whole(settings: Settings) -> None:
    """Waits until the member is Synced and the cluster has all its members. Raises Refused after `PATIENCE`.

    While the backup blocks changes of tables (BACKUP STAGE), mariadbd leaves flow control, so that the others do not
    wait for it, and the member is not ready. If another member were missing too, too few members would serve.
    """
    ends = time.monotonic() + PATIENCE
    while missing := _missing(settings):
        if time.monotonic() > ends:
            raise Refused(f"no backup: {missing}")
        time.sleep(2)


def _missing(settings: Settings) -> str:
    """Returns the reason why a backup must wait; empty if the backup may begin."""
    said = run("mariadb", f"--defaults-file={ACCOUNT}", f"--host={settings.member}", "-rNBe", _STATUS).stdout
    status = dict(line.split("\t", 1) for line in said.splitlines())
    state, component = status.get("wsrep_local_state"), status.get("wsrep_cluster_status")
    if state != SYNCED or component != "Primary":
        comment = status.get("wsrep_local_state_comment", "unknown")
        return f"{settings.member} is {comment} in a component that is {component}; expected Synced and Primary"
    there = int(status.get("wsrep_cluster_size", "0"))
    return "" if there >= settings.members else f"{there} of {settings.members} members are there; expected all"


def checked(data: Path) -> str:
    """Opens a prepared backup with mariadbd, with InnoDB read-only. Returns the backup's position (UUID and number).

    Raises Refused if InnoDB's position is not the one that the member had when the backup was taken.
    """
    socket = data.parent / "socket"
    files = [f"--datadir={data}", "--innodb-read-only", f"--socket={socket}", "--skip-networking"]
    # With --wsrep-recover, mariadbd only reads the position and ends. It does not connect to the cluster address.
    galera = ["--wsrep-on=ON", f"--wsrep-provider={PROVIDER}", "--wsrep-cluster-address=gcomm://backup"]
    formats = ["--binlog-format=ROW", "--disable-log-error"]
    result = run("mariadbd", "--no-defaults", *files, *galera, *formats, "--wsrep-recover")
    socket.unlink(missing_ok=True)  # mariadbd leaves it, and it is no file of the backup
    found = re.search(r"WSREP: Recovered position: ?(\S+)", result.stderr)
    information = next((path for path in data.glob("*_galera_info")), None)
    expected = _POSITION.search(information.read_text(encoding="utf-8")) if information else None
    if not found or not expected or found[1] != f"{expected[1]}:{expected[2]}":
        raise Refused(
            f"the backup is not usable: it is at {found and found[1]}, the member was at {expected and expected[0]}"
        )
    return found[1]
