# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
"""A reconnect storm, until SIGTERM: many clients that hold a connection, and connect again at once when they lose it.

Runs on a machine of the test bed with PyMySQL or Pika. All clients begin with the first member, and go to the next one
when a member does not take them.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from typing import Any

CLIENTS = 150
HOLD = 5.0
"""Seconds after which a client asks for something on its connection, on average."""


def of_galera(settings: Any, member: str) -> Any:
    """Returns a function that asks a member for something, on one connection."""
    import pymysql  # noqa: PLC0415 - only one of the two libraries is needed

    connection = pymysql.connect(
        host=member, user=settings["user"], password=settings["password"], database=settings["database"],
        connect_timeout=3, read_timeout=10, write_timeout=10,
    )  # fmt: skip
    cursor = connection.cursor()

    def ask() -> None:
        # Each connection keeps buffers of its own, as those of OpenStack's services do after a query with a sort.
        cursor.execute("SELECT REPEAT('a', 1000000) AS text UNION SELECT 'b' ORDER BY text")
        cursor.fetchall()

    return ask


def of_rabbitmq(settings: Any, member: str) -> Any:
    """Returns a function that asks a member for something, on one connection."""
    import pika  # noqa: PLC0415

    account = pika.PlainCredentials(settings["user"], settings["password"])
    connection = pika.BlockingConnection(
        pika.ConnectionParameters(
            host=member, virtual_host=settings["vhost"], credentials=account, heartbeat=30, socket_timeout=5
        )
    )
    for _ in range(3):
        connection.channel()
    return lambda: connection.process_data_events(0)


def client(connect: Any, settings: Any) -> None:
    """Holds a connection to one member after the other."""
    choice, ask = 0, None
    while True:
        try:
            ask = ask or connect(settings, settings["members"][choice % len(settings["members"])])
            ask()
            time.sleep(random.uniform(0, 2 * HOLD))  # noqa: S311
        except Exception:
            ask, choice = None, choice + 1
            time.sleep(0.2)


def main() -> None:
    settings = json.load(open("/etc/storm.json"))  # noqa: PTH123, SIM115
    connect = of_galera if sys.argv[1] == "galera" else of_rabbitmq
    for _ in range(CLIENTS):
        threading.Thread(target=client, args=(connect, settings), daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
