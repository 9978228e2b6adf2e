"""Replaces the data of a stopped Galera member by a backup. The other members then copy the data from this member."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import time
from pathlib import Path

from .backup_files import BACKUPS, DATA, Refused, Settings, complete, record, require_space, run, say

CHOICE = "BACKUP"
"""Environment variable with the name of the backup to restore; the newest one if it is not set."""
RESTORED = "restored.log"
"""File with the time of the restoration, which a member reads when it starts (scripts/galera/data.py). The latest
restoration counts."""
REPLACING = "unfinished-install.log"
"""File that marks incomplete data: a member that starts with this file deletes the data (scripts/galera/data.py)."""
FRESH = ".restoring"
RESOLVER = Path("/etc/resolv.conf")
_LOCKED = ("ibdata1", "aria_log_control")
_NO_NAME = (socket.EAI_NONAME, socket.EAI_NODATA)


def restore(settings: Settings) -> None:
    """Restores the chosen backup. Raises Refused if a member of the cluster exists, or CalledProcessError."""
    require_stopped(settings)
    backup = chosen()
    said = record(backup)
    fresh = DATA / FRESH
    shutil.rmtree(fresh, ignore_errors=True)
    require_space(DATA, said["bytes"])
    run("mariadb-backup", "--no-defaults", "--copy-back", f"--target-dir={backup / 'data'}", f"--datadir={fresh}")
    require_stopped(settings)
    (DATA / REPLACING).touch()
    for path in DATA.iterdir():
        if path.name in (FRESH, REPLACING, "lost+found"):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    for path in fresh.iterdir():
        path.rename(DATA / path.name)
    fresh.rmdir()
    (DATA / RESTORED).write_text(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), encoding="utf-8")
    run("sync", "--file-system", str(DATA))
    (DATA / REPLACING).unlink()
    say(f"restored {backup.name} at {said['position']}: when all members start, this one bootstraps")


def require_stopped(settings: Settings) -> None:
    """Raises Refused if a member has an address in DNS, or if a server has the data open.

    Raises Refused also if the look-up fails, because members may exist then.
    """
    domain = absolute(settings.domain)
    try:
        found = socket.getaddrinfo(domain, None, socket.AF_INET, socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno not in _NO_NAME:
            raise Refused(f"cannot tell whether members exist: {domain}: {error}") from None
        found = []
    if found:
        addresses = ", ".join(sorted({str(entry[4][0]) for entry in found}))
        raise Refused(f"the cluster is alive: {domain} has {addresses}; scale its StatefulSet to 0 first")
    for name in _LOCKED:
        if (DATA / name).exists():
            with (DATA / name).open("r+b") as file:
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise Refused(f"a server has {DATA / name} open; stop it first") from None


def absolute(domain: str) -> str:
    """Returns a Service's DNS name with the cluster's domain, which is in the search list of pods.

    If no member has an address, the resolver also asks for the name as it is written. The cluster's name server passes
    that question on, and at a site without another name server it fails, as if nothing were known of the members.
    """
    service, _, namespace = domain.partition(".")
    lines = (line.split() for line in RESOLVER.read_text(encoding="utf-8").splitlines())
    searched = [name for words in lines if words[:1] == ["search"] for name in words[1:]]
    return next((f"{service}.{name}." for name in searched if name.startswith(f"{namespace}.")), domain)


def chosen() -> Path:
    """Returns the backup that BACKUP names, or the newest one. Raises Refused if there is no such backup."""
    there, wanted = complete(), os.environ.get(CHOICE)
    if not there:
        raise Refused(f"{BACKUPS} contains no complete backup")
    found = [path for path in there if path.name == wanted] if wanted else there[-1:]
    if not found:
        raise Refused(f"there is no backup {wanted}; there are {', '.join(path.name for path in there)}")
    return found[0]
