# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
"""Load for RabbitMQ: publishes numbered messages until SIGTERM, or removes all messages from the queue (`drain`).

Runs on a machine of the test bed with Pika. Prints one line for each published message: its number, and whether it
was confirmed (`ok`), rejected (`no`) or broke off with an unknown outcome (`unknown`). Writes the history of all
messages to /history.jsonl, as trials/histories/operation.py reads it.
"""

from __future__ import annotations

import itertools
import json
import signal
import sys
import threading
import time
from typing import Any

import pika
import pika.exceptions

QUEUE = "proof"
CLIENTS = 3
SILENT = 8
"""Seconds without a message after which a queue counts as empty: it may have no leader for a moment."""
stop = threading.Event()


def connect(settings: Any, choice: int) -> Any:
    """Connects to the member with the index `choice`. Heartbeats end the connection if the member stops answering."""
    members = settings["members"]
    return pika.BlockingConnection(
        pika.ConnectionParameters(
            host=members[choice % len(members)],
            virtual_host=settings["vhost"],
            credentials=pika.PlainCredentials(settings["user"], settings["password"]),
            heartbeat=6,
            socket_timeout=3,
            stack_timeout=5,
            blocked_connection_timeout=10,
        )
    )


def publish(settings: Any, numbers: Any, process: int, history: Any) -> None:
    """Publishes messages through one member, each after the previous one is confirmed.

    Changes to the next member when the connection to the member is lost.
    """
    channel, choice = None, process
    while not stop.is_set():
        number, said, invoked = next(numbers), "no", time.monotonic()
        try:
            if channel is None:
                channel = connect(settings, choice).channel()
                channel.queue_declare(QUEUE, durable=True)
                channel.confirm_delivery()
            said = "unknown"
            record(history, process, number, invoked, said)  # in case that this client is killed meanwhile
            channel.basic_publish(
                "", QUEUE, str(number).encode(), pika.BasicProperties(delivery_mode=2), mandatory=True
            )
            said = "ok"
        except (pika.exceptions.NackError, pika.exceptions.UnroutableError):
            said = "no"
        except (pika.exceptions.AMQPError, OSError):
            channel, choice = None, choice + 1
            time.sleep(0.3)
        record(history, process, number, invoked, said)
        sys.stdout.write(f"{number} {said}\n")
        sys.stdout.flush()
        time.sleep(0.01)


def record(history: Any, process: int, number: int, invoked: float, outcome: str) -> None:
    """Writes into the history what is known of a message now."""
    operation = {"process": process, "action": "publish", "value": number, "invoked": invoked}
    history.write(json.dumps(operation | {"completed": time.monotonic(), "outcome": outcome}) + "\n")


def drain(settings: Any) -> None:
    """Removes every message from the queue, and prints the numbers of the messages. Asks each member in turn."""
    for choice in range(len(settings["members"])):
        connection = connect(settings, choice)
        channel = connection.channel()
        for method, _, body in channel.consume(QUEUE, inactivity_timeout=SILENT):
            if method is None:
                break
            sys.stdout.write(body.decode() + "\n")
            channel.basic_ack(method.delivery_tag)
        connection.close()


def main() -> None:
    settings = json.load(open("/etc/load.json"))  # noqa: PTH123, SIM115
    if sys.argv[1:] == ["drain"]:
        drain(settings)
        return
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    numbers = itertools.count(settings["first"])
    with open("/history.jsonl", "a", buffering=1) as history:  # noqa: PTH123
        threads = [
            threading.Thread(target=publish, args=(settings, numbers, number, history)) for number in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        stop.wait()
        for thread in threads:
            thread.join(60)


if __name__ == "__main__":
    main()
