"""The processes that watch a lab and write to it during a drill, and what they have reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from console.errors import UserError
from trials.cloud import client, network
from trials.cloud.drill.result import Event

STARTING = 180.0
"""Seconds within which a process must report something. Project figure: on a busy host, a client's first login to
OpenStack took more than 15."""
BOOTING = 900.0
"""Seconds within which the instances of a drill must be made and answer."""
ENDING = 120.0
"""Seconds in which a process must end after SIGTERM."""


class Reporting:
    """A process in the lab's network whose lines are kept, each with the time at which it came.

    `title`: what errors call it.
    """

    def __init__(self, title: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._title = title
        self.lines: list[tuple[float, str]] = []
        self._process = subprocess.Popen(
            network.in_switch(command),
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._errors: list[str] = []
        self._readers = [
            threading.Thread(target=self._read, args=[self._process.stdout]),
            threading.Thread(target=self._errors.extend, args=[self._process.stderr]),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Asks the process to end, and waits until it has."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for reader in self._readers:
            reader.join()

    def require_running(self) -> None:
        """Raises UserError with the last lines of its errors if the process has ended by itself."""
        if self._process.poll() is not None:
            raise UserError(f"{self._title} has ended:\n" + "".join(self._errors[-20:]))

    def wait_for_report(self, awaited: str = "") -> None:
        """Waits until the process has reported a line, or the `awaited` one, after it has booted instances.

        Raises UserError if it does not.
        """
        limit = BOOTING if awaited else STARTING
        end = time.monotonic() + limit
        while not any(awaited in line for _, line in list(self.lines)):
            self.require_running()
            if time.monotonic() > end:
                missing = f"not reported '{awaited}'" if awaited else "reported nothing"
                raise UserError(f"{self._title} has {missing} within {limit:.0f} s.")
            time.sleep(0.2)

    def _read(self, stream: Iterable[str]) -> None:
        for line in stream:
            self.lines.append((time.time(), line.rstrip("\n")))


def observer(document: Mapping[str, object], certificate: Path) -> Reporting:
    """Starts observer.py with its document. `certificate`: what it trusts in HTTPS."""
    command = [sys.executable, "-m", "trials.cloud.drill.observer", json.dumps(document)]
    return Reporting("The process that watches the lab", command, {"SSL_CERT_FILE": str(certificate)})


def events(observer: Reporting) -> list[Event]:
    """Returns the events that a process has reported so far, in the order of their times."""
    found = (json.loads(line) for _, line in list(observer.lines) if line.startswith("{"))
    return sorted(found, key=lambda event: event["t"])


def traffic(command: Sequence[str], environment: Mapping[str, str]) -> Reporting:
    """Starts traffic.py, and waits until its instances are there. Raises UserError if they are not."""
    found = Reporting("The process that observes instances", command, environment)
    try:
        found.wait_for_report("ready")
    except BaseException:
        found.end()
        raise
    return found


def writer(release: Path, settings: Path, kind: str) -> Reporting:
    """Starts to make objects of a kind in OpenStack, one after the other. `release`: environment with openstacksdk."""
    command = [str(release / "bin" / "python"), str(client.PROGRAM), "write", kind]
    return Reporting("The process that writes to OpenStack", command, client.variables(settings))


def written(writer: Reporting) -> list[tuple[float, int, str | None]]:
    """Returns for each object so far its time, its number, and why it was not acknowledged, or None if it was."""
    parts = [(moment, line.split(maxsplit=2)) for moment, line in list(writer.lines)]
    return [(moment, int(words[0]), None if words[1] == "ok" else words[2]) for moment, words in parts]
