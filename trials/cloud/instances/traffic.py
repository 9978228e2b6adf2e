# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
"""What two instances on different servers notice of a drill: packets, connections, and writes to volumes.

Runs where the addresses of the external network are reachable, with the account in the environment. Arguments: what to
do, and then those of trial.py.

- run: makes both instances, prints a line, observes until SIGTERM, and then prints one JSON object per line, an event
  as those of drill/observer.py: an `answer` of an `api`, or a `write` to the volume of an instance (`what`);
- found: prints the numbers of the writes that each volume has. An instance that has ended is started;
- clean: deletes everything.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any

# At the end, because openstacksdk's package has the name of one of Quorate's.
sys.path.append(str(Path(__file__).parents[3]))

from trials.cloud.instances.pings import Pinging
from trials.cloud.instances.tenant import AWAIT_VOLUME, LIMIT, TRIAL, Tenant, tenant_of

SILENCE = 3.0
"""Seconds after which a line of a guest counts as missing."""
BLOCK, BLOCKS = 512, 65536
"""Bytes of each write, and how many of them a volume is searched for."""
SKIPPED = 16
"""Numbers that a writer leaves out when it starts again: those that it may have written without an acknowledgement."""
_PING = "while :; do ping -c 1 -W 1 -q {peer} >/dev/null 2>&1 && echo ok || echo no; sleep 0.2; done"
_WRITE = (
    f"{AWAIT_VOLUME}; n={{first}}; while :; do printf '%08d\\n' $n | "
    f"dd of=/dev/vdb bs={BLOCK} seek=$n conv=fsync,notrunc"
    " 2>/dev/null && echo $n; n=$((n + 1)); sleep 0.2; done"
)
_READ = f"{AWAIT_VOLUME}; dd if=/dev/vdb bs={BLOCK} count={BLOCKS} 2>/dev/null | tr -d '\\000'"


class WatchedGuest:
    """An instance with a volume, and how it is reached."""

    def __init__(self, tenant: Tenant, title: str, address: str) -> None:
        self.tenant = tenant
        self.title = title
        self.address = address
        self.peer = ""
        """Address of the other instance in the network of both."""
        self.next = 0
        """Number of the next write."""


class Lines:
    """The lines of a program in a guest."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._queue: Queue[str | None] = Queue()
        Thread(target=self._read, daemon=True).start()

    def next(self) -> str | None:
        """Returns the next line; None after a time of silence."""
        try:
            return self._queue.get(timeout=SILENCE)
        except Empty:
            return None

    def has_ended(self) -> bool:
        return self._process.poll() is not None and self._queue.empty()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._queue.put(line.strip())


class Observation:
    """Asks guests until it is ended, and keeps what they answered."""

    def __init__(self) -> None:
        self._ended = Event()
        self.events: list[dict[str, Any]] = []

    def end(self, *_: object) -> None:
        self._ended.set()

    def wait(self) -> None:
        self._ended.wait()

    def answer(self, api: str, reason: str | None, at: float | None = None) -> None:
        self.events.append({"t": at or time.time(), "kind": "answer", "api": api, "reason": reason})

    def echo(self, guest: WatchedGuest) -> None:
        """Sends a line a second over one connection, which is made again when it is broken."""
        api = f"TCP to {guest.title}"
        while not self._ended.is_set():
            # What a broken connection could not be sent is tried again when the pipe is closed.
            with suppress(BrokenPipeError), guest.tenant.echo(guest.address) as connection:
                lines = Lines(connection)
                while not self._ended.is_set() and not lines.has_ended() and _sent(connection, "line"):
                    self.answer(api, None if lines.next() else "no answer")
                    self._ended.wait(1)
                connection.kill()
            if not self._ended.is_set():
                self.answer(api, "the connection is broken")

    def ping_peer(self, guest: WatchedGuest) -> None:
        """Pings the other instance from a guest."""
        reasons = {"ok": None, "no": "no answer", None: "the guest does not report"}
        for line in self._lines(guest, lambda: _PING.format(peer=guest.peer)):
            self.answer(f"ping from {guest.title}", reasons[line])

    def write(self, guest: WatchedGuest) -> None:
        """Writes numbers to a guest's volume, each with fsync."""
        for line in self._lines(guest, lambda: _WRITE.format(first=guest.next + SKIPPED)):
            if line:
                guest.next = int(line) + 1
            reason = None if line else "no acknowledgement"
            number = int(line) if line else guest.next
            event = {"t": time.time(), "kind": "write", "what": guest.title, "number": number, "reason": reason}
            self.events.append(event)

    def _lines(self, guest: WatchedGuest, command: Callable[[], str]) -> Iterator[str | None]:
        """Yields a command's lines, None for each time of silence. Starts it again when its connection is broken."""
        while not self._ended.is_set():
            with guest.tenant.started(guest.address, command()) as running:
                lines = Lines(running)
                while not self._ended.is_set() and not lines.has_ended():
                    yield lines.next()
                running.kill()


def _sent(connection: subprocess.Popen[str], line: str) -> bool:
    if connection.stdin is None:
        raise ValueError("the connection has no pipes")
    try:
        connection.stdin.write(f"{line}\n")
    except OSError:
        return False
    return True


def observe(guests: list[WatchedGuest]) -> list[dict[str, Any]]:
    """Observes until SIGTERM; returns the events in the order of their times."""
    seen = Observation()
    signal.signal(signal.SIGTERM, seen.end)
    acts = (seen.echo, seen.ping_peer, seen.write)
    threads = [Thread(target=act, args=[guest]) for guest in guests for act in acts]
    with ExitStack() as stack:
        pinging = {guest.title: stack.enter_context(Pinging(guest.address)) for guest in guests}
        for thread in threads:
            thread.start()
        print("ready", flush=True)
        seen.wait()
    for thread in threads:
        thread.join()
    offset = time.time() - time.monotonic()
    for title, pings in pinging.items():
        for at, came_back in pings.answered():
            seen.answer(f"ping of {title}", None if came_back else "no answer", at + offset)
    return sorted(seen.events, key=lambda event: event["t"])


def make(tenant: Tenant, physical: str) -> list[WatchedGuest]:
    """Makes two instances on different computes, each with a volume and a floating address."""
    tenant.remove()
    home = tenant.settle(physical)
    tenant.open(home.group)
    guests: list[WatchedGuest] = []
    servers: list[Any] = []
    for number, host in enumerate(tenant.computes(), start=1):
        server = tenant.boot(home, number, host)
        tenant.cloud.compute.set_server_metadata(server, title=f"instance {number} on {host}")
        tenant.attach(server, tenant.volume(f"{TRIAL}-{number}"))
        guests.append(WatchedGuest(tenant, f"instance {number} on {host}", tenant.floating_ip(server, home.external)))
        servers.append(server)
    for guest, peer in zip(guests, reversed(servers), strict=True):
        guest.peer = tenant.addresses(peer)[4]
        tenant.answers(guest.address, f"ping -c 1 {guest.peer} && [ -b /dev/vdb ]", "", LIMIT)
    return guests


def found(tenant: Tenant) -> dict[str, list[int]]:
    """Returns the numbers that the volume of each instance has. Starts instances that have ended."""
    numbers: dict[str, list[int]] = {}
    for server in list(tenant.cloud.compute.servers(name=f"^{TRIAL}")):
        if server.status != "ACTIVE":
            tenant.cloud.compute.start_server(server)
            tenant.cloud.compute.wait_for_server(server, wait=LIMIT)
        (port,) = tenant.cloud.network.ports(device_id=server.id)
        (address,) = tenant.cloud.network.ips(port_id=port.id)
        text = tenant.answers(address.floating_ip_address, _READ, "", LIMIT)
        numbers[server.metadata["title"]] = [int(line) for line in text.split()]
    return numbers


def main() -> None:
    """Does what the first argument says."""
    what, *files, physical = sys.argv[1:]
    tenant = tenant_of(files)
    if what == "run":
        for event in observe(make(tenant, physical)):
            print(json.dumps(event))
    elif what == "found":
        print(json.dumps(found(tenant)))
    else:
        tenant.remove()


if __name__ == "__main__":
    main()
