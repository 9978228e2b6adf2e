"""Runs a command in a pseudo-terminal, and shows what an engineer would see: as lines, and as a picture.

`python -m tests.terminal FILE COMMAND…` writes the picture, such as docs/up.png of a first `quorate up --stack dev`.
"""

from __future__ import annotations

import fcntl
import html
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyte
from playwright.sync_api import sync_playwright

from toolchain import browser

COLUMNS, ROWS = 120, 50
_PAGE = """<!doctype html><meta charset="utf-8"><body style="margin:0"><pre style="display:inline-block;margin:0;
padding:16px;background:#14161a;color:#dfe3ea;font:14px/1.35 'DejaVu Sans Mono',monospace">%s</pre>"""


@dataclass(frozen=True)
class Seen:
    """What a command left on a terminal: its exit code, all lines from the first to the last, and all bytes."""

    code: int
    lines: tuple[str, ...]
    written: bytes

    def picture(self, path: Path) -> None:
        """Writes the lines as a PNG file. Needs a Chromium (toolchain/browser.py)."""
        program = browser.find()
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = chromium.new_page(device_scale_factor=1)
            page.set_content(_PAGE % html.escape("\n".join(self.lines)))
            page.locator("pre").screenshot(path=path)
            chromium.close()


def run(command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> Seen:
    """Runs a command in a terminal of its own until it ends."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    variables = {**environment, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
    process = subprocess.Popen(
        command, cwd=directory, env=variables, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    written = b"".join(iter(lambda: _read(master), b""))
    os.close(master)
    return Seen(process.wait(), tuple(shown(written)), written)


def shown(written: bytes) -> list[str]:
    """Returns the lines that a terminal shows after these bytes, with those that have scrolled off its top."""
    screen = pyte.HistoryScreen(COLUMNS, ROWS, history=100_000)
    pyte.ByteStream(screen).feed(written)
    above = ["".join(line[column].data for column in range(COLUMNS)).rstrip() for line in screen.history.top]
    lines = [*above, *(line.rstrip() for line in screen.display)]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _read(master: int) -> bytes:
    try:
        return os.read(master, 1 << 16)
    except OSError:  # the last process with the terminal has ended
        return b""


if __name__ == "__main__":
    seen = run(sys.argv[2:], Path.cwd(), os.environ)
    seen.picture(Path(sys.argv[1]))
    sys.exit(seen.code)
