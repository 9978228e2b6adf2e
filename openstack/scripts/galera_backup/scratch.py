"""Restores the newest backup into a scratch copy, starts mariadbd on it without a network, and compares its content.

The copy is beside the backups. Nothing connects to the cluster: the server has a socket only, and no wsrep provider.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from . import content
from .backup_files import BACKUPS, SCRATCH, Refused, Settings, record, require_space, run, say
from .restore import chosen

START = 900
"""Seconds until mariadbd must answer. A prepared backup needs no recovery. Project figure."""
END = 300
"""Seconds until mariadbd must have ended. Project figure."""
TESTED = "restored.json"
"""File in a backup that was restored and compared, with the time."""
_WRITE = """\
CREATE DATABASE quorate_scratch;
CREATE TABLE quorate_scratch.written (number INT PRIMARY KEY) ENGINE=InnoDB;
INSERT INTO quorate_scratch.written VALUES (1);
DROP DATABASE quorate_scratch;
"""


def compare(_settings: Settings) -> None:
    """Tests the backup that BACKUP names, or the newest one, and records in it when that was.

    Raises Refused or CalledProcessError if it is damaged, cannot be restored, or has other content.
    """
    backup, began = chosen(), time.monotonic()
    scratch = BACKUPS / SCRATCH
    tables, rows = restored(backup, scratch, scratch / "socket")
    seconds = round(time.monotonic() - began, 1)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    found = {"at": now, "tables": tables, "rows": rows, "seconds": seconds}
    (backup / TESTED).write_text(json.dumps(found) + "\n", encoding="utf-8")
    say(f"{backup.name} was restored and has its content: {tables} tables, {rows} rows, {seconds:.0f} s")


def restored(backup: Path, scratch: Path, socket: Path, *options: str) -> tuple[int, int]:
    """Restores a backup into the directory `scratch`, which is deleted afterwards, and compares its content.

    `socket`: of the server on it. `options`: further options of mariadbd. Returns the number of tables and of rows.
    Raises Refused or CalledProcessError if the backup is damaged, cannot be restored, or has other content.
    """
    said = record(backup)
    if "tables" not in said:
        raise Refused(f"{backup.name} has no record of its content: an earlier version made it; test the next one")
    content.require_digests(backup)
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        require_space(scratch.parent, said["bytes"])
        scratch.mkdir(mode=0o700)
        data = scratch / "data"
        run("mariadb-backup", "--no-defaults", "--copy-back", f"--target-dir={backup / 'data'}", f"--datadir={data}")
        with _server(data, socket, *options) as server:
            content.require_tables(said["tables"], content.tables(*server))
            found = content.read_all(*server)
            run(*server, "-e", _WRITE)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return found


@contextmanager
def _server(data: Path, socket: Path, *further: str) -> Generator[tuple[str, ...]]:
    """Runs mariadbd on a copy of a backup. Yields the command line of its client.

    The client uses the account of the operating system's user, which each member has. `further`: options of mariadbd.
    Raises Refused if the server does not start, ends by itself, or does not end when it is asked.
    """
    log = data.parent / "log"
    options = [f"--datadir={data}", f"--socket={socket}", f"--log-error={log}", f"--pid-file={data.parent / 'pid'}"]
    alone = ["--skip-networking", "--wsrep-on=OFF"]
    server = subprocess.Popen(["mariadbd", "--no-defaults", *options, *alone, *further], stderr=subprocess.DEVNULL)
    client = ("mariadb", "--no-defaults", f"--socket={socket}", "-rNB")
    try:
        _wait(server, client, log)
        yield client
        run(*client, "-e", "SHUTDOWN")
        if server.wait(END):
            raise Refused(f"mariadbd on the scratch copy ended with {server.returncode}:\n{_tail(log)}")
    except subprocess.TimeoutExpired:
        raise Refused(f"mariadbd on the scratch copy has not ended after {END} s:\n{_tail(log)}") from None
    except subprocess.CalledProcessError as error:
        raise Refused(f"the scratch copy: {error.stderr.strip()}\n{_tail(log)}") from None
    finally:
        server.kill()
        server.wait()


def _wait(server: subprocess.Popen[bytes], client: tuple[str, ...], log: Path) -> None:
    ends = time.monotonic() + START
    while subprocess.run([*client, "-e", "SELECT 1"], capture_output=True, check=False).returncode:
        if server.poll() is not None:
            raise Refused(f"mariadbd does not start on the scratch copy:\n{_tail(log)}")
        if time.monotonic() > ends:
            raise Refused(f"mariadbd on the scratch copy has not answered after {START} s:\n{_tail(log)}")
        time.sleep(1)


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "\n".join(lines[-15:])
