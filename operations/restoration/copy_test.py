"""Restores a fetched copy into a scratch server on this host, and compares its content.

The same programs do it as in the cluster and on the machines of etcd, with the servers that this host has.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from console.errors import UserError
from openstack import scripts
from openstack.scripts.galera_backup import scratch
from openstack.scripts.galera_backup.backup_files import Refused
from operations.restoration.galera_source import KIND as GALERA

ETCD = "etcd"
"""How names of copies of etcd begin."""
_PROGRAMS = {
    ETCD: (("etcd", "etcdctl", "etcdutl"), "those of etcd's release"),
    GALERA: (("mariadbd", "mariadb", "mariadb-backup"), "Debian's mariadb-server and mariadb-backup"),
}
_LIMIT = 6 * 3600
"""Seconds that etcd's test may take, as a backup of a Galera. Project figure."""


def require_programs(kind: str) -> None:
    """Raises UserError if this host lacks a program that tests a copy."""
    programs, packages = _PROGRAMS[kind]
    if missing := [each for each in programs if not shutil.which(each)]:
        raise UserError(
            f"This host has no {', '.join(missing)} in its PATH, and a copy is restored here. Install {packages}, in "
            "the version that the cloud has; mariadbd is in /usr/sbin."
        )


def of_galera(backup: Path) -> str:
    """Restores a backup of a Galera beside itself. Returns what was compared. Raises UserError with what is wrong."""
    options = ["--skip-grant-tables"]  # the members' account is that of their user mysql
    if os.geteuid() == 0:
        options.append("--user=root")  # mariadbd refuses to run as root otherwise
    with TemporaryDirectory(prefix="quorate-copy-") as directory:  # a path of a socket has 107 bytes at most
        try:
            tables, rows = scratch.restored(backup, backup.parent / "scratch", Path(directory) / "socket", *options)
        except (Refused, OSError) as error:
            raise UserError(f"The copy is not restored: {error}") from None
        except subprocess.CalledProcessError as error:
            said = (error.stderr or error.stdout or "").strip()[-2000:]
            raise UserError(
                f"The copy is not restored: {error.cmd[0]} ended with {error.returncode}:\n{said}"
            ) from None
    return f"{tables} tables, {rows} rows"


def of_etcd(directory: Path) -> str:
    """Restores the copy of etcd in a directory. Returns what was compared. Raises UserError with what is wrong."""
    root = directory / "root"
    backups = root / "var/lib/etcd-backup"
    backups.mkdir(parents=True)
    for file in directory.glob("*Z.*"):
        file.rename(backups / file.name)
    command = ["sh", "-c", scripts.text("etcd_backup.sh"), "etcd-backup", "test"]
    variables = {"PATH": os.environ.get("PATH", os.defpath), "ROOT": str(root)}
    done = subprocess.run(
        command, env=variables, capture_output=True, text=True, errors="replace", timeout=_LIMIT, check=False
    )
    if done.returncode:
        raise UserError(f"The copy is not restored:\n{(done.stdout + done.stderr).strip()[-2000:]}")
    return done.stdout.strip().rpartition("its content: ")[2]
