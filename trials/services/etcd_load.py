"""Load for etcd, until SIGTERM: reads, writes and compare-and-set of registers, each client through one member.

Runs on a machine of the test bed. Prints the history of all operations, as trials/histories/operation.py reads it.
"""

from __future__ import annotations

import base64
import http.client
import itertools
import json
import random
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

CLIENTS = 4
PAUSE = 0.01
OPERATIONS, REGISTERS = 240, 3
"""After so many operations, further ones use as many new registers: a register's history stays short."""
ANSWER = 5.0
"""Seconds after which a client gives up, and the outcome is unknown."""
stop = threading.Event()


def ask(member: str, path: str, request: Any) -> Any:
    """Sends a request to etcd's JSON gateway and returns the answer."""
    body = json.dumps(request).encode()
    request = urllib.request.Request(f"{member}/v3/kv/{path}", body)  # noqa: S310 - the trial's own address
    with urllib.request.urlopen(request, timeout=ANSWER) as answer:  # noqa: S310
        return json.load(answer)


def encoded(value: object) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


def read(member: str, key: str) -> list[Any]:
    """Returns a list of the value of a register, which is None if it was never written."""
    found = ask(member, "range", {"key": encoded(key)}).get("kvs")
    return [json.loads(base64.b64decode(found[0]["value"])) if found else None]


def write(member: str, key: str, value: int) -> list[Any]:
    """Writes a register. Returns an empty list."""
    ask(member, "put", {"key": encoded(key), "value": encoded(value)})
    return []


def compare_and_set(member: str, key: str, expected: int, value: int) -> list[Any]:
    """Writes a register if it has the expected value. Returns a list that says whether it did."""
    compare = {"key": encoded(key), "target": "VALUE", "result": "EQUAL", "value": encoded(expected)}
    put = {"requestPut": {"key": encoded(key), "value": encoded(value)}}
    return [ask(member, "txn", {"compare": [compare], "success": [put]}).get("succeeded", False)]


CALLS: dict[str, Callable[..., list[Any]]] = {"read": read, "write": write, "cas": compare_and_set}


def client(settings: Any, numbers: Any, process: int) -> None:
    """Runs operations through one member, and changes to the next member when an operation has no answer."""
    choice, last = process, 0
    while not stop.is_set():
        number = next(numbers)
        key = f"{settings['run']}/{number // OPERATIONS * REGISTERS + random.randrange(REGISTERS)}"  # noqa: S311
        member = settings["members"][choice % len(settings["members"])]
        action = random.choice(("read", "read", "write", "cas"))  # noqa: S311
        asked: list[Any] = {"read": [key], "write": [key, number], "cas": [key, last, number]}[action]
        invoked = time.monotonic()
        begun = {"process": process, "action": action, "value": asked, "invoked": invoked}
        say(begun | {"outcome": "unknown"})  # in case that this client is killed meanwhile
        try:
            asked, said = [*asked, *CALLS[action](member, *asked)], "ok"
            last = asked[1] or number
        except urllib.error.HTTPError:
            said, choice = "unknown", choice + 1
        except urllib.error.URLError as error:
            # Without a connection, nothing was sent.
            said, choice = "no" if isinstance(error.reason, ConnectionRefusedError) else "unknown", choice + 1
        except (OSError, ValueError, http.client.HTTPException):
            said, choice = "unknown", choice + 1
        say(begun | {"value": asked, "outcome": said})
        time.sleep(PAUSE)


def say(operation: dict[str, Any]) -> None:
    """Prints what is known of an operation now."""
    sys.stdout.write(json.dumps(operation | {"completed": time.monotonic()}) + "\n")
    sys.stdout.flush()


def main() -> None:
    settings = json.load(open("/etc/load.json"))  # noqa: PTH123, SIM115
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    numbers = itertools.count(1)
    threads = [threading.Thread(target=client, args=(settings, numbers, process)) for process in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
