"""The file with everything that Pulumi prints while a command runs: build/<stack>/log/<time>.log.

Only the owner may read it. Pulumi replaces secret values by `[secret]` before it prints them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from commands import build_directory

DIRECTORY = "log"
KEPT = 30
"""Number of logs that are kept of a stack; older ones are deleted."""
_PAUSE = 0.2


def create(root: Path, stack: str, command: str, *, is_shown: bool) -> RunLog:
    """Creates the log of a command on a stack, and deletes old logs. `is_shown`: also print what is written to it."""
    directory = build_directory.of_stack(root, stack) / DIRECTORY
    directory.mkdir(mode=0o700, exist_ok=True)
    time = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S-%fZ")
    path = directory / f"{time}-{command}.log"
    path.touch(mode=0o600, exist_ok=False)
    for old in sorted(directory.glob("*.log"))[:-KEPT]:
        old.unlink(missing_ok=True)
    return RunLog(path, is_shown=is_shown)


class RunLog:
    """The log of a command, which may run Pulumi several times."""

    def __init__(self, path: Path, *, is_shown: bool) -> None:
        self.path = path
        self.is_shown = is_shown

    @contextmanager
    def followed(self) -> Generator[None]:
        """Prints what is appended to the log until the context ends, if the log is shown.

        The engine writes into the file itself, not into a pipe of this process: it must be able to end in order if
        this process is killed.
        """
        if not self.is_shown:
            yield
            return
        ended = threading.Event()
        position = self.path.stat().st_size
        thread = threading.Thread(target=self._follow, args=(position, ended), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _follow(self, position: int, ended: threading.Event) -> None:
        with self.path.open("rb") as file:
            file.seek(position)
            is_last = False
            while not is_last:
                is_last = ended.wait(_PAUSE)  # then read once more, to the end
                sys.stdout.write(file.read().decode("utf-8", errors="replace"))
                sys.stdout.flush()

    def tail(self, lines: int) -> list[str]:
        """Returns the last lines of the log."""
        return self.path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-lines:]
