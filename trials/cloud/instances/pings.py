"""Pings an address five times a second, and counts the packets that do not come back."""

from __future__ import annotations

import os
import socket
import struct
import time
from dataclasses import dataclass
from itertools import pairwise
from threading import Event, Thread
from types import TracebackType

INTERVAL = 0.2
"""Seconds between two packets."""
_LATE = 3.0
"""Seconds after which a packet counts as lost."""
_REQUEST, _REPLY = 8, 0
"""Types of ICMP's messages (RFC 792)."""
_HEADER = struct.Struct("!BBHHH")
"""Type, code, checksum, identifier and sequence number."""
_IP_HEADER = 20


@dataclass(frozen=True)
class Pings:
    """What came back of the packets of a period."""

    sent: int
    lost: int
    gap: float
    """Longest time without an answer in seconds."""

    def __str__(self) -> str:
        return f"{self.lost} of {self.sent} packets lost, longest gap {self.gap:.1f} s"


class Pinging:
    """Packets on their way, while its `with` block runs. Needs the right to open raw sockets."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        self._socket.settimeout(INTERVAL)
        self._identifier = os.getpid() & 0xFFFF
        self._sent: list[float] = []
        self._answered: dict[int, float] = {}
        self._ended = Event()
        self._threads = [Thread(target=each, daemon=True) for each in (self._send, self._receive)]

    def __enter__(self) -> Pinging:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        """Waits for the last answers."""
        self._until = time.monotonic()
        time.sleep(_LATE)
        self._ended.set()
        for thread in self._threads:
            thread.join()
        self._socket.close()

    def answered(self) -> list[tuple[float, bool]]:
        """Returns for each packet when it was sent, by the monotonic clock, and whether it came back."""
        return [(at, number in self._answered) for number, at in enumerate(self._sent) if at <= self._until]

    def result(self) -> Pings:
        """Returns what came back, after the end of the block."""
        sent = [number for number, at in enumerate(self._sent) if at <= self._until]
        lost = [number for number in sent if number not in self._answered]
        answers = sorted(at for at in self._answered.values() if at <= self._until)
        times = [self._sent[0], *answers, self._until]
        return Pings(len(sent), len(lost), max(after - before for before, after in pairwise(times)))

    def _send(self) -> None:
        while not self._ended.wait(INTERVAL):
            packet = _request(self._identifier, len(self._sent))
            self._sent.append(time.monotonic())
            try:
                self._socket.sendto(packet, (self._address, 0))
            except OSError:
                continue  # no route for a moment: the packet is lost

    def _receive(self) -> None:
        while not self._ended.is_set():
            try:
                data, (sender, *_) = self._socket.recvfrom(2048)
            except TimeoutError:
                continue
            kind, _, _, identifier, number = _HEADER.unpack_from(data, _IP_HEADER)
            if (sender, kind, identifier) == (self._address, _REPLY, self._identifier):
                self._answered.setdefault(number, time.monotonic())


def _request(identifier: int, number: int) -> bytes:
    empty = _HEADER.pack(_REQUEST, 0, 0, identifier, number & 0xFFFF)
    return _HEADER.pack(_REQUEST, 0, _checksum(empty), identifier, number & 0xFFFF)


def _checksum(data: bytes) -> int:
    """Returns the checksum of ICMP: the complement of the sum of all 16-bit words in ones' complement (RFC 1071)."""
    total = sum(word for (word,) in struct.iter_unpack("!H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF
