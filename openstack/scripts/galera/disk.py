"""Measures how fast the disk of a member syncs, and whether the other members can do without this one meanwhile.

Galera is as slow as the disk of the member that clients write to, and flow control makes it as slow as the disk of any
other. The member with the slow disk stays Synced, so that nothing else takes it out of the traffic.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

SLOW, FAST = 0.25, 0.1
"""Seconds that most syncs of a slow disk take, and those of a fast one do not. Project figures: a hard disk needs about
0.02; one that was limited to 5 writes a second needed 0.26 to 2.6."""
WINDOW = 15.0
"""Seconds whose syncs are judged: about six."""
PAUSE = 2.0
"""Seconds between two syncs."""


@dataclass(frozen=True)
class Peer:
    """What a member tells the others of itself."""

    serves: bool
    """Whether it is Synced in the primary component."""
    slow: bool
    """Whether its disk is slow."""


def dispensable(members: int, others: Iterable[Peer]) -> bool:
    """Whether a majority of a component's members serves without this one, on disks that are not slow."""
    return sum(each.serves and not each.slow for each in others) > members // 2


class SyncSpeed:
    """Whether a disk is slow, by syncs of a small file. `clock`: seconds, which only grow."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._file, self._clock = file, clock
        self._since = clock()
        self._began: float | None = None
        self._ended: deque[tuple[float, float]] = deque()
        self._slow = False

    def watch(self) -> None:
        """Syncs the file for ever."""
        while True:
            self.measure()
            time.sleep(PAUSE)

    def measure(self) -> None:
        """Syncs the file once. A disk without the file, or without space for it, is not judged."""
        self._began = self._clock()
        try:
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o640)
            try:
                os.pwrite(descriptor, b"\n", 0)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError:
            self._began = None
            return
        now = self._clock()
        self._ended.append((now, now - self._began))
        self._began = None

    @property
    def slow(self) -> bool:
        """Whether most syncs of the last WINDOW seconds were slow; between slow and fast, what it was before."""
        now, began = self._clock(), self._began
        while self._ended and self._ended[0][0] < now - WINDOW:
            self._ended.popleft()
        seconds = [each for _, each in self._ended]
        if began is not None and (now - began >= SLOW or not seconds):
            seconds.append(now - began)  # a sync that does not return is as slow as it has lasted
        if seconds and now - self._since >= WINDOW:
            middle = median(seconds)
            self._slow = middle >= SLOW or (self._slow and middle >= FAST)
        return self._slow
