"""The data of a member: its position, the record of its last primary component, and what a bootstrap needs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from .decision import FORCE, NO_UUID, Position

DIRECTORY = Path("/var/lib/mysql")
# The state transfer empties the directory but for some endings, '.log' among them (cpat in wsrep_sst_mariabackup).
VIEW = "last-view.log"
FORCED = "forced-bootstrap.log"
RESTORED = "restored.log"
"""Written by scripts/galera_backup/restore.py, and by members that take over restored data."""
UNFINISHED = "unfinished-install.log"


def own_position(name: str) -> Position:
    """Reads what is on disk. Raises RuntimeError if there is data that mariadbd cannot open."""
    remove_unfinished_installation()
    position = Position(name, "starting", has_data=(DIRECTORY / "mysql").is_dir() or (DIRECTORY / "ibdata1").exists())
    position = replace(position, restored=_restored())
    if not position.has_data:
        return position
    view = last_view()
    # grastate.dat says -1 after a crash, and may be older than the data. What InnoDB has committed counts.
    if (DIRECTORY / "sst_in_progress").exists() or _grastate().get("uuid") == NO_UUID:
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
    """Returns the UUID and the sequence number of the last committed transaction."""
    command = ["mariadbd", "--wsrep-recover", "--disable-log-error"]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    found = re.search(r"WSREP: Recovered position: ?([0-9a-f-]{36}):(-?\d+)", result.stderr)
    if result.returncode or not found:
        raise RuntimeError("mariadbd cannot open the data:\n" + "\n".join(result.stderr.splitlines()[-15:]))
    return found[1], int(found[2])


def allow_bootstrap() -> None:
    """Sets safe_to_bootstrap in grastate.dat, and leaves its other lines as they are."""
    path = DIRECTORY / "grastate.dat"
    if not path.exists():
        return
    text = re.sub(r"(?m)^safe_to_bootstrap:.*$", "safe_to_bootstrap: 1", path.read_text(encoding="utf-8"))
    write(path, text if "safe_to_bootstrap" in text else text.rstrip("\n") + "\nsafe_to_bootstrap: 1\n")


def record_view(arguments: Sequence[str]) -> None:
    """Keeps the members of a primary component, as Galera's wsrep_notify_cmd reports them."""
    said = dict(zip(arguments[::2], arguments[1::2], strict=False))
    if said.get("--primary") == "yes" and said.get("--members"):
        names = [member.split("/")[1] for member in said["--members"].split(",")]
        write(DIRECTORY / VIEW, json.dumps(names) + "\n")


def last_view() -> tuple[str, ...]:
    try:
        return tuple(json.loads((DIRECTORY / VIEW).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return ()


def write(path: Path, text: str) -> None:
    """Replaces a file in one step, so that a crash leaves the old or the new one."""
    fresh = path.with_suffix(".fresh.log")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def forced_member() -> str | None:
    """Returns the member that is to bootstrap by force, None if no member is named or if it has already done so."""
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


def take_over(restored: str) -> None:
    """Makes the data good for nothing but a full state transfer, and records whose data replaces it."""
    write(DIRECTORY / "grastate.dat", f"# GALERA saved state\nversion: 2.1\nuuid: {NO_UUID}\nseqno: -1\n")
    write(DIRECTORY / RESTORED, restored)


def record_force(named: str) -> None:
    """Notes that a member has bootstrapped by force, so that its next start does not do so again."""
    write(DIRECTORY / FORCED, named)


def install() -> None:
    """Creates the system tables, with one account: the user of the operating system, without a password."""
    (DIRECTORY / UNFINISHED).touch()
    account = ["--auth-root-authentication-method=socket", "--auth-root-socket-user=mysql"]
    subprocess.run(["mariadb-install-db", *account, "--skip-test-db"], check=True, stdout=subprocess.DEVNULL)
    (DIRECTORY / UNFINISHED).unlink()


def remove_unfinished_installation() -> None:
    """Empties the directory if the creation of the system tables did not finish."""
    if (DIRECTORY / UNFINISHED).exists():
        for path in DIRECTORY.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=path.name == "lost+found")
            else:
                path.unlink()
