# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
"""Load for Galera, until SIGTERM: transactions that move money between two accounts and append a number to a list.

Runs on a machine of the test bed with PyMySQL. Prints one line for each transaction: its number, and whether it was
acknowledged (`ok`), rejected (`no`) or broke off with an unknown outcome (`unknown`). Writes what each transaction
asked and read to /history.jsonl, as trials/histories/operation.py reads it.
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
PAUSE = 0.005
"""Seconds between two transactions of a client, so that the load leaves processor time to the members."""
APPENDS, LISTS = 100, 4
"""After so many transactions, further ones use as many new lists: a list stays short."""
TOTALS = 10
"""Every so manyth transaction is preceded by a read of all accounts."""
CONFLICTS = (1020, 1205, 1213)
"""Codes of errors after which a transaction is rolled back and the same member is tried again: record has changed
(innodb_snapshot_isolation), lock wait timeout, deadlock."""
NOT_PREPARED = 1047
"""Code of the error of a member that is not in the primary component."""
ASKED = 5
"""Seconds between two questions of ProxySQL's monitor to a member (its default)."""
SYNCED = "4"
stop = threading.Event()


def transfer(cursor: Any, accounts: int, number: int, read: int, written: int) -> list[Any]:
    """Runs one transaction: reads a list, moves money between two random accounts, and appends the number to a list.

    Returns the steps on lists.
    """
    source, target = random.sample(range(accounts), 2)
    cursor.execute("BEGIN")
    before = numbers_of(cursor, read)
    cursor.execute("UPDATE account SET balance = balance - 1 WHERE id = %s", (source,))
    cursor.execute("UPDATE account SET balance = balance + 1 WHERE id = %s", (target,))
    cursor.execute("INSERT INTO transfer VALUES (%s)", (number,))
    cursor.execute(
        "INSERT INTO list VALUES (%s, %s) ON DUPLICATE KEY UPDATE numbers = CONCAT(numbers, ' ', %s)",
        (written, number, number),
    )
    steps = [["r", read, before], ["append", written, number], ["r", written, numbers_of(cursor, written)]]
    cursor.execute("COMMIT")
    return steps


def numbers_of(cursor: Any, key: int) -> list[int]:
    """Returns the numbers of a list."""
    cursor.execute("SELECT numbers FROM list WHERE id = %s", (key,))
    row = cursor.fetchone()
    return [int(number) for number in row[0].split()] if row else []


def total(cursor: Any) -> list[int]:
    """Returns the balances of all accounts, as one transaction sees them."""
    cursor.execute("SELECT balance FROM account")
    return [row[0] for row in cursor.fetchall()]


def connect(settings: Any, choice: int) -> Any:
    """Connects to the member with the index `choice`."""
    members = settings["members"]
    return pymysql.connect(
        host=members[choice % len(members)], user=settings["user"], password=settings["password"],
        database=settings["database"], connect_timeout=2, read_timeout=10, write_timeout=10,
    )  # fmt: skip


def watch(settings: Any, choice: int, aside: set[int]) -> None:
    """Asks a member for its state as ProxySQL's monitor does: one that answers and is not Synced gets no traffic."""
    connection: Any = None
    while not stop.wait(ASKED):
        try:
            connection = connection or connect(settings, choice)
            with connection.cursor() as cursor:
                cursor.execute("SHOW GLOBAL STATUS LIKE 'wsrep_local_state'")
                synced = cursor.fetchone()[1] == SYNCED
            (aside.discard if synced else aside.add)(choice)
        except pymysql.err.MySQLError:
            connection = None  # clients notice it themselves


def client(settings: Any, numbers: Any, process: int, history: Any, aside: set[int]) -> None:
    """Runs transactions on one member, and changes to the next when the member rejects a write or is in `aside`.

    All clients begin with the same member if the settings have `one_writer`, as with ProxySQL.
    """
    members, choice = settings["members"], 0 if settings["one_writer"] else process
    connection: Any = None
    while not stop.is_set():
        number, said, invoked = next(numbers), "no", time.monotonic()
        read, written = (number // APPENDS * LISTS + random.randrange(LISTS) for _ in range(2))  # noqa: S311
        steps: list[Any] = [["append", written, number]]
        if choice % len(members) in aside:
            connection, choice = None, choice + 1
        try:
            if connection is None:
                connection = connect(settings, choice)
            with connection.cursor() as cursor:
                if number % TOTALS == 0:
                    read_all = {"process": process, "action": "total", "invoked": invoked, "outcome": "ok"}
                    record(history, read_all | {"value": total(cursor)})
                    invoked = time.monotonic()
                said = "unknown"  # until the server has answered, and in case that this client is killed meanwhile
                begun = {"process": process, "action": "transaction", "invoked": invoked, "outcome": said}
                record(history, begun | {"value": steps})
                steps = transfer(cursor, settings["accounts"], number, read, written)
            said = "ok"
        except pymysql.err.MySQLError as error:
            code = error.args[0] if error.args else 0
            said = "no" if code in CONFLICTS or code == NOT_PREPARED else said
            connection, choice = None, choice + (code not in CONFLICTS)
            time.sleep(0.1)
        done = {"process": process, "action": "transaction", "invoked": invoked, "outcome": said}
        record(history, done | {"value": steps})
        sys.stdout.write(f"{number} {said}\n")
        sys.stdout.flush()
        time.sleep(PAUSE)


def record(history: Any, operation: dict[str, Any]) -> None:
    """Writes what is known of an operation now into the history."""
    history.write(json.dumps(operation | {"completed": time.monotonic()}) + "\n")


def main() -> None:
    settings = json.load(open("/etc/load.json"))  # noqa: PTH123, SIM115
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    numbers = itertools.count(settings["first"])
    aside: set[int] = set()
    for choice in range(len(settings["members"]) if settings["one_writer"] else 0):
        threading.Thread(target=watch, args=(settings, choice, aside), daemon=True).start()
    with open("/history.jsonl", "a", buffering=1) as history:  # noqa: PTH123
        threads = [
            threading.Thread(target=client, args=(settings, numbers, number, history, aside))
            for number in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    sys.exit(main())
