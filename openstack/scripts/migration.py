"""Runs the command that creates or upgrades a project's database schemas, and repeats an interrupted first migration.

MariaDB has no transactions for changes of tables. A first migration that loses its connection leaves tables behind, and
every further attempt fails with "Table already exists". Therefore an empty database gets the table MARK before the
first migration, and loses it after the first command that succeeds. If the command fails on a database with this table,
the tables are dropped and the command runs again. A database that was ever complete is never emptied.

Runs in a Job, in an image of the project, for PyMySQL and the command. Arguments: a JSON file with `host`, `port`,
`user` and `databases`, and the words of the command. Environment: PASSWORD, of the user.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pymysql

MARK = "quorate_first_migration"
PATIENCE = 300
"""Seconds until the database must accept the account, which another Job creates."""


def main() -> int:
    """Runs the command, and returns its exit code."""
    account: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with connected(account) as connection, connection.cursor() as cursor:
        for database in account["databases"]:
            if not tables(cursor, database):
                cursor.execute(f"CREATE TABLE `{database}`.`{MARK}` (started TIMESTAMP PRIMARY KEY)")
    if (code := subprocess.run(sys.argv[2:], check=False).returncode) and emptied(account):
        code = subprocess.run(sys.argv[2:], check=False).returncode
    if code:
        return code
    with connected(account) as connection, connection.cursor() as cursor:
        for database in account["databases"]:
            cursor.execute(f"DROP TABLE IF EXISTS `{database}`.`{MARK}`")
    return 0


def emptied(account: dict[str, Any]) -> bool:
    """Drops all tables but the mark of each marked database. Returns whether there were any."""
    found = False
    with connected(account) as connection, connection.cursor() as cursor:
        # Foreign keys would require an order.
        cursor.execute("SET SESSION foreign_key_checks = 0")
        for database in account["databases"]:
            present = tables(cursor, database)
            if MARK in present and len(present) > 1:
                print(f"database {database}: drops the tables of an interrupted first migration", flush=True)
                for table in present - {MARK}:
                    cursor.execute(f"DROP TABLE `{database}`.`{table}`")
                found = True
    return found


def tables(cursor: Any, database: str) -> set[str]:
    """Returns the names of a database's tables."""
    cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (database,))
    return {row[0] for row in cursor.fetchall()}


def connected(account: dict[str, Any]) -> Any:
    """Returns a connection to the database. Exits if there is none within PATIENCE seconds."""
    end = time.monotonic() + PATIENCE
    said = ""
    while True:
        try:
            return pymysql.connect(
                host=account["host"],
                port=account["port"],
                user=account["user"],
                password=os.environ["PASSWORD"],
                connect_timeout=5,
                autocommit=True,
            )
        except pymysql.err.OperationalError as reason:
            if time.monotonic() > end:
                sys.exit(f"no connection to the database: {reason}")
            if said != str(reason):
                said = str(reason)
                print(f"waiting for the database: {said}", flush=True)
            time.sleep(3)


if __name__ == "__main__":
    sys.exit(main())
