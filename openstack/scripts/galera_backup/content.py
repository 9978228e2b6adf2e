"""What a backup contains: digests of its files, and the tables that the member had. Compared after a restoration."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from .backup_files import Refused, run

DIGESTS = "files.sha256"
"""File of a backup with the digests of its files, which `sha256sum --check` reads too."""
SHOWN = 10
"""Names in a message."""
# Names of partitions contain a '#' as well; those of tables that ALTER TABLE makes begin with '#sql'. Tables of
# full-text indexes come and go with their index. The account needs PROCESS only.
_TABLES = """\
SELECT NAME, N_COLS FROM information_schema.INNODB_SYS_TABLES
WHERE NAME LIKE '%/%' AND NAME NOT LIKE '%/#sql%' AND NAME NOT LIKE '%/FTS\\_%'
"""
_BASE_TABLES = """\
SELECT CONCAT('`', REPLACE(TABLE_SCHEMA, '`', '``'), '`.`', REPLACE(TABLE_NAME, '`', '``'), '`')
FROM information_schema.TABLES
WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema')
"""


def tables(*client: str) -> dict[str, int]:
    """Returns the tables of InnoDB that a server has, with their number of columns. `client`: a client's command."""
    said = run(*client, "-rNBe", _TABLES).stdout
    rows = (line.rpartition("\t") for line in said.splitlines())
    return {name: int(columns) for name, _, columns in rows}


def common(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Returns the tables that a member had before and after its backup, with the same columns."""
    return {name: columns for name, columns in before.items() if after.get(name) == columns}


def require_tables(expected: dict[str, int], found: dict[str, int]) -> None:
    """Raises Refused if a restored copy lacks a table that the member had, or has it with other columns."""
    lost = sorted(name for name in expected if name not in found)
    other = sorted(name for name, columns in expected.items() if found.get(name, columns) != columns)
    if lost or other:
        said = f"lacks {_names(lost)}" if lost else f"has other columns in {_names(other)}"
        raise Refused(f"the restored copy {said}, of {len(expected)} tables that the member had")


def read_all(*client: str) -> tuple[int, int]:
    """Checks every table of a restored copy (CHECK TABLE, which reads all pages) and counts its rows.

    Returns the number of tables and of rows. Raises Refused if the server finds fault with a table.
    """
    names = run(*client, "-e", _BASE_TABLES).stdout.splitlines()
    answers = (run(*client, "-e", f"CHECK TABLE {name}").stdout.splitlines() for name in names)
    # A note is the answer of an engine that has no check.
    faults = [line for answer in answers for line in answer if line.split("\t")[2:] != ["status", "OK"]]
    faults = [line for line in faults if line.split("\t")[2] != "note"]
    if faults:
        raise Refused("the restored copy has damaged tables: " + "; ".join(faults[:SHOWN]))
    # The server has quoted the names.
    counted = (run(*client, "-e", f"SELECT COUNT(*) FROM {name}").stdout for name in names)  # noqa: S608
    return len(names), sum(map(int, counted))


def write_digests(backup: Path) -> None:
    """Writes the digests (SHA-256) of a backup's files beside its data."""
    lines = (f"{_digest(path)}  {path.relative_to(backup)}\n" for path in _files(backup / "data"))
    (backup / DIGESTS).write_text("".join(lines), encoding="utf-8")


def require_digests(backup: Path) -> None:
    """Raises Refused if a file of a backup is lost or has other content than when the backup was made."""
    wrong: list[str] = []
    for line in (backup / DIGESTS).read_text(encoding="utf-8").splitlines():
        digest, _, name = line.partition("  ")
        path = backup / name
        if not path.is_file() or _digest(path) != digest:
            wrong.append(name)
    if wrong:
        raise Refused(f"{backup.name} is damaged: other content than when it was made in {_names(wrong)}")


def _files(directory: Path) -> Iterable[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _names(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
