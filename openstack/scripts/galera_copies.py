"""Puts complete backups of a Galera into an object store: those newer than the last one there, at first the newest.

Run each hour beside the volume with the backups: `galera_copies.py CLUSTER`. It holds no lock: complete backups do not
change, and only the oldest of several is removed. The program beside this one encrypts and sends (backup_store.sh).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

BACKUPS = Path("/var/lib/mysql-backup")
UNFINISHED = "unfinished"
"""Directory of a backup that is being made (galera_backup/backup_files.py)."""
COPIED = "copied"
"""Empty file in a backup that is in the store."""


def main(cluster: str) -> int:
    """Copies what is missing. Returns 0 if all is there, or the exit code of the program that failed."""
    program = str(Path(__file__).with_name("backup_store.sh"))
    for backup in missing():
        done = subprocess.run(
            ["sh", program, "put", f"galera/{cluster}/{backup.name}", str(BACKUPS), backup.name], check=False
        )
        if done.returncode:
            say(f"{backup.name} was not copied")
            return done.returncode
        (backup / COPIED).touch()
        say(f"{backup.name} is in the object store")
    say("all backups since the first copy are in the object store")
    return 0


def missing() -> Sequence[Path]:
    """Returns the complete backups to copy, oldest first. Their names are the times in UTC at which they began."""
    there = sorted(path for path in BACKUPS.iterdir() if (path / "backup.json").is_file() and path.name != UNFINISHED)
    copied = [number for number, path in enumerate(there) if (path / COPIED).exists()]
    return there[copied[-1] + 1 :] if copied else there[-1:]


def say(text: str) -> None:
    print(f"galera-copies: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
