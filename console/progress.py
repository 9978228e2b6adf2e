"""Progress of long steps such as `make setup`: a line that is renewed in a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO


def duration(seconds: float) -> str:
    """Returns a duration as text, such as `4.2 s`, `38 s` or `3 min 05 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


class Reporter:
    """Prints the progress of steps: on a terminal as a line that is updated in place, otherwise as occasional lines."""

    def __init__(self, out: TextIO | None = None, quiet_for: float = 20.0) -> None:
        self._out = out or sys.stderr
        self._rewrites = self._out.isatty()
        self._quiet_for = quiet_for
        self._started = 0.0
        self._printed = 0.0
        self._what = ""

    def say(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def begin(self, what: str, expectation: str = "") -> None:
        """Prints the start of a step and its expected duration."""
        self._what = what
        self._started = self._printed = time.monotonic()
        self.say(f"{what} …" + (f" ({expectation})" if expectation else ""))

    def tick(self, detail: str) -> None:
        """Prints the progress of the current step, unless the last output was a moment ago."""
        now = time.monotonic()
        pause = 0.5 if self._rewrites else self._quiet_for
        if now - self._printed < pause:
            return
        self._printed = now
        line = f"  {detail}, {duration(now - self._started)}"
        if self._rewrites:
            self._out.write(f"\r\x1b[K{line}")
            self._out.flush()
        else:
            self.say(line)

    def end(self, result: str = "done") -> None:
        if self._rewrites:
            self._out.write("\r\x1b[K")
        self.say(f"  {result} in {duration(time.monotonic() - self._started)}")
