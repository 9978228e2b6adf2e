"""Stands in for the programs of a backup, and makes backups of before."""

from __future__ import annotations

import subprocess
from pathlib import Path

from openstack.scripts.galera_backup import backup_files
from openstack.scripts.galera_backup.backup_files import Settings

UUID = "11111111-1111-1111-1111-111111111111"
SETTINGS = Settings("mysqld-2.mysqld-members", "mysqld-members", members=3, keep=2)


class Programs:
    """Stands in for MariaDB's programs: a member with this status, and a backup that opens at this position."""

    def __init__(self) -> None:
        self.status = {"wsrep_local_state": "4", "wsrep_cluster_status": "Primary", "wsrep_cluster_size": "3"}
        self.recovered = 7
        self.tables = {"keystone/user": 8, "nova/instances": 54}

    def __call__(self, *command: str) -> subprocess.CompletedProcess[str]:
        said, errors = "", ""
        if command[0] == "mariadb" and "INNODB_SYS_TABLES" in command[-1]:
            said = "".join(f"{name}\t{columns}\n" for name, columns in self.tables.items())
        elif command[0] == "mariadb":
            said = "".join(f"{name}\t{value}\n" for name, value in self.status.items())
        if target := next((word.partition("=")[2] for word in command if word.startswith("--target-dir=")), ""):
            if "--backup" in command:
                Path(target).mkdir(parents=True)
                (Path(target) / "mariadb_backup_galera_info").write_text(f"{UUID}:7")
                (Path(target) / "ibdata1").write_text("saved")
            if "--copy-back" in command:
                fresh = Path(next(word.partition("=")[2] for word in command if word.startswith("--datadir=")))
                fresh.mkdir()
                (fresh / "ibdata1").write_text((Path(target) / "ibdata1").read_text())
        if command[0] == "mariadbd":
            Path(next(word.partition("=")[2] for word in command if word.startswith("--socket="))).touch()
            errors = f"[Note] WSREP: Recovered position: {UUID}:{self.recovered}\n"
        return subprocess.CompletedProcess(command, 0, said, errors)


def older(*names: str) -> None:
    for name in names:
        (backup_files.BACKUPS / name).mkdir()
        (backup_files.BACKUPS / name / "backup.json").write_text("{}")
