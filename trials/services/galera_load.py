# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
"""Write load for Galera, until SIGTERM: each transaction moves money between two accounts and appends a number.

Runs on a machine of the test bed with PyMySQL. Prints one line for each transaction: its number, and whether it was
acknowledged (`ok`), rejected (`no`) or broke off with an unknown outcome (`unknown`).
"""

from __future__ import annotations

import itertools
import json
import random
import signal
import sys
import threading
import time
from typing import Any

import pymysql

CLIENTS = 4
stop = threading.Event()


def transfer(connection: Any, accounts: int, number: int) -> None:
    """Runs one transaction: moves money between two random accounts, and appends the transaction's number."""
    source, target = random.sample(range(accounts), 2)
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("UPDATE account SET balance = balance - 1 WHERE id = %s", (source,))
        cursor.execute("UPDATE account SET balance = balance + 1 WHERE id = %s", (target,))
        cursor.execute("INSERT INTO transfer VALUES (%s)", (number,))
    connection.commit()


def client(settings: Any, numbers: Any, first: int) -> None:
    """Writes transactions through one member, and changes to the next member when the member rejects a write."""
    members, choice = settings["members"], first
    connection: Any = None
    while not stop.is_set():
        number, said = next(numbers), "no"
        try:
            if connection is None:
                connection = pymysql.connect(
                    host=members[choice % len(members)], user=settings["user"], password=settings["password"],
                    database=settings["database"],
                    connect_timeout=2, read_timeout=10, write_timeout=10,
                )  # fmt: skip
                connection.autocommit(False)
            said = "unknown"  # until the server has answered
            transfer(connection, settings["accounts"], number)
            said = "ok"
        except (pymysql.err.OperationalError, pymysql.err.InternalError, pymysql.err.InterfaceError) as error:
            code = error.args[0] if error.args else 0
            said = "no" if code in (1205, 1213, 1047) else said
            connection, choice = (
                None,
                choice + (code not in (1205, 1213)),
            )  # after a conflict, the same member is tried again
            time.sleep(0.1)
        sys.stdout.write(f"{number} {said}\n")
        sys.stdout.flush()


def main() -> None:
    settings = json.load(open("/etc/load.json"))  # noqa: PTH123, SIM115
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    numbers = itertools.count(settings["first"])
    threads = [threading.Thread(target=client, args=(settings, numbers, first)) for first in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
