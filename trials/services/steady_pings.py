"""Pings while something fails: how many packets were lost, and for how long none came back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trials.services.testbed import ServiceMachine, until

INTERVAL = 0.1
"""Seconds between two packets. Project figure."""
_ANSWER = re.compile(r"^\d+ bytes from .* icmp_seq=(\d+) ", re.MULTILINE)


@dataclass(frozen=True)
class PacketLoss:
    """The packets of one sender. Those after the last answer do not count: they may have been under way."""

    sent: int
    lost: int
    silence: float
    """Seconds between the two answers that were farthest apart, as far as the packets between them tell."""


def result(text: str) -> PacketLoss:
    """Returns the result of what ping has printed."""
    seen = sorted({int(number) for number in _ANSWER.findall(text)})
    last = seen[-1] if seen else 0
    gaps = (later - earlier - 1 for earlier, later in zip([0, *seen], seen, strict=False))
    return PacketLoss(last, last - len(seen), round(max(gaps, default=0) * INTERVAL, 1))


class SteadyPings:
    """Packets to an address, ten a second, until `stop`. `inside`: prefix of commands that run at the sender."""

    def __init__(self, machine: ServiceMachine, inside: Sequence[str], name: str, target: str) -> None:
        self._machine, self._file = machine, f"/pings-{name}"
        script = 'echo $$ >"$0.pid" && exec "$@" >"$0"'
        ping = ["ping", "-i", str(INTERVAL), target]
        machine.background(["sh", "-c", script, self._file, *inside, *ping], "root")

    def stop(self) -> PacketLoss:
        """Ends the sender, and returns what it has seen."""
        self._machine.run(["sh", "-c", 'kill -INT "$(cat "$0.pid")"', self._file])
        until("ping has ended", lambda: "packets transmitted" in self._said(), 20)
        return result(self._said())

    def _said(self) -> str:
        return self._machine.run(["cat", self._file], check=False)
