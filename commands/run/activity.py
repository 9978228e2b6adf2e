"""Shows what a long step is doing: on a terminal as lines that are renewed in place, elsewhere as a line now and then.

The lines go to standard error, so that standard output has only results.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import IO, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

PAUSE = 10.0
"""Seconds between two lines where the output is not a terminal."""
_RENEWALS = 4
"""Renewals per second on a terminal."""

Lines = Callable[[], Sequence[str]]
"""Returns the present state: one line, and on a terminal details in further lines. Another thread calls it."""


@contextmanager
def shown(title: str, lines: Lines, out: TextIO | None = None, pause: float = PAUSE) -> Generator[None]:
    """Shows `lines` until the context ends, and then leaves none of them on a terminal.

    `title`: what begins, printed where the output is not a terminal.
    """
    console = Console(file=out or sys.stderr, highlight=False, markup=False, emoji=False)
    if console.is_terminal and not console.is_dumb_terminal:
        with _renewed(lines, console):
            yield
    else:
        print(f"{title} …", file=console.file, flush=True)
        with _repeated(lines, console.file, pause):
            yield


@contextmanager
def _renewed(lines: Lines, console: Console) -> Generator[None]:
    def state() -> Group:
        return Group(*(Text(line, no_wrap=True, overflow="ellipsis") for line in lines()))

    with Live(
        get_renderable=state,
        console=console,
        transient=True,
        refresh_per_second=_RENEWALS,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield


@contextmanager
def _repeated(lines: Lines, out: IO[str], pause: float) -> Generator[None]:
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(pause):
            print("  " + ": ".join(line.strip() for line in lines()[:2]), file=out, flush=True)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
