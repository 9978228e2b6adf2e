"""Reads and writes a Galera member's data directory: its position, its last primary component, and bootstrap files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from .decision import FORCE, NO_UUID, Position

DIRECTORY = Path("/var/lib/mysql")
# A state transfer empties the directory except for files with some endings such as '.log' (cpat in
# wsrep_sst_mariabackup).
VIEW = "last-view.log"
FORCED = "forced-bootstrap.log"
RESTORED = "restored.log"
"""File with the time at which the data was restored. scripts/galera_backup/restore.py writes it, and so do members that
take over restored data."""
AWAITED = "awaited-member.log"
"""File with the name of a member that gets restored data while all are stopped. Its answer is awaited before a
bootstrap: it may have stopped first, so that no other has it in its last primary component."""
SERVED = "served.log"
"""Empty file whose time is when the member was last in a primary component: the age of its data, if others are lost."""
SPEED = "disk-speed.log"
"""File that is synced again and again, which shows how fast the disk is."""
UNFINISHED = "unfinished-install.log"
COMPLETE = "complete-data"
"""File beside data that is on disk as a whole. A state transfer deletes it with the old data, and syncs nothing itself:
for half a minute, a power cut would leave tables without content."""
HAS_COMPLETE = "has-complete.log"
"""File of a member that writes `COMPLETE`. Data from before is taken for complete."""


def own_position(name: str) -> Position:
    """Returns the position of this member's data on disk. Raises RuntimeError if mariadbd cannot open the data."""
    remove_unfinished_installation()
    position = Position(name, "starting", has_data=(DIRECTORY / "mysql").is_dir() or (DIRECTORY / "ibdata1").exists())
    position = replace(position, restored=_restored())
    if not (DIRECTORY / HAS_COMPLETE).exists():
        if position.has_data:
            write(DIRECTORY / COMPLETE, "")
        write(DIRECTORY / HAS_COMPLETE, "")
    if not position.has_data:
        return position
    view = (*last_view(), *_awaited())
    # After a crash, grastate.dat contains -1, or a position older than the data. Therefore InnoDB's position is used.
    if (DIRECTORY / "sst_in_progress").exists() or _grastate().get("uuid") == NO_UUID:
        return replace(position, view=view)
    if not (DIRECTORY / COMPLETE).exists():
        reset_position()
        return replace(position, view=view)
    uuid, seqno = recovered()
    return replace(position, uuid=uuid, seqno=seqno, view=view)


def _grastate() -> dict[str, str]:
    try:
        lines = (DIRECTORY / "grastate.dat").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.partition(":") for line in lines if not line.startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def recovered() -> tuple[str, int]:
    """Returns the cluster's UUID and the sequence number of the last transaction that InnoDB has committed."""
    command = ["mariadbd", "--wsrep-recover", "--disable-log-error"]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    found = re.search(r"WSREP: Recovered position: ?([0-9a-f-]{36}):(-?\d+)", result.stderr)
    if result.returncode or not found:
        raise RuntimeError("mariadbd cannot open the data:\n" + "\n".join(result.stderr.splitlines()[-15:]))
    return found[1], int(found[2])


def allow_bootstrap() -> None:
    """Sets safe_to_bootstrap in grastate.dat, so that mariadbd agrees to bootstrap. Does nothing without the file."""
    path = DIRECTORY / "grastate.dat"
    if not path.exists():
        return
    text = re.sub(r"(?m)^safe_to_bootstrap:.*$", "safe_to_bootstrap: 1", path.read_text(encoding="utf-8"))
    write(path, text if "safe_to_bootstrap" in text else text.rstrip("\n") + "\nsafe_to_bootstrap: 1\n")


def record_view(arguments: Sequence[str]) -> None:
    """Records the members of a primary component, as Galera passes them to wsrep_notify_cmd.

    Ignores other components. Galera waits for this: a member whose data was transferred is not synced before the data
    is on disk.
    """
    said = dict(zip(arguments[::2], arguments[1::2], strict=False))
    if said.get("--status") in ("joined", "synced"):
        complete()
    if said.get("--primary") == "yes" and said.get("--members"):
        names = [member.split("/")[1] for member in said["--members"].split(",")]
        write(DIRECTORY / VIEW, json.dumps(names) + "\n")


def complete() -> None:
    """Syncs the file system of the data, and records that the data is complete. Does nothing if that is recorded."""
    if not (DIRECTORY / COMPLETE).exists():
        subprocess.run(["sync", "--file-system", str(DIRECTORY)], check=True)
        write(DIRECTORY / COMPLETE, "")


def record_service() -> None:
    """Records that the member is in a primary component now. A disk without space for it keeps the former time."""
    with suppress(OSError):
        (DIRECTORY / SERVED).touch()


def last_view() -> tuple[str, ...]:
    try:
        return tuple(json.loads((DIRECTORY / VIEW).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return ()


def write(path: Path, text: str) -> None:
    """Replaces a file in one step, so that a crash leaves the old or the new content."""
    fresh = path.with_suffix(".fresh.log")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def forced_member() -> str | None:
    """Returns the member that GALERA_FORCE_BOOTSTRAP names; None if it is not set, or if it already took effect."""
    named = os.environ.get(FORCE)
    done = DIRECTORY / FORCED
    if not named:
        done.unlink(missing_ok=True)
        return None
    return None if done.exists() and done.read_text(encoding="utf-8") == named else named


def _restored() -> str:
    try:
        return (DIRECTORY / RESTORED).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""


def _awaited() -> tuple[str, ...]:
    try:
        return tuple((DIRECTORY / AWAITED).read_text(encoding="utf-8").split())
    except FileNotFoundError:
        return ()


def forget_awaited() -> None:
    """Removes the name of the member that was awaited, because this member may start now."""
    (DIRECTORY / AWAITED).unlink(missing_ok=True)


def take_over(restored: str) -> None:
    """Resets the position of the member's data, so that a full state transfer replaces the data.

    `restored`: time of the restoration whose data this member receives.
    """
    reset_position()
    write(DIRECTORY / RESTORED, restored)


def reset_position() -> None:
    """Writes that the member's data has no position, so that a full state transfer replaces it."""
    write(DIRECTORY / "grastate.dat", f"# GALERA saved state\nversion: 2.1\nuuid: {NO_UUID}\nseqno: -1\n")


def record_force(named: str) -> None:
    """Records that the member has bootstrapped by force, so that its next start does not bootstrap by force again."""
    write(DIRECTORY / FORCED, named)


def install() -> None:
    """Creates the system tables with one account: the operating system's user mysql, without a password."""
    write(DIRECTORY / UNFINISHED, "")
    account = ["--auth-root-authentication-method=socket", "--auth-root-socket-user=mysql"]
    subprocess.run(["mariadb-install-db", *account, "--skip-test-db"], check=True, stdout=subprocess.DEVNULL)
    complete()
    (DIRECTORY / UNFINISHED).unlink()


def remove_unfinished_installation() -> None:
    """Empties the data directory if the creation of the system tables, or a restoration, did not finish."""
    if (DIRECTORY / UNFINISHED).exists():
        for path in DIRECTORY.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=path.name == "lost+found")
            else:
                path.unlink()
