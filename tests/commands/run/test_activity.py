"""Tests of the display of a step in progress, in a terminal and elsewhere."""

from __future__ import annotations

import io
import time

from commands.run import activity
from tests import terminal


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_lines_in_place_and_keeps_none_of_them() -> None:
    out = Terminal()
    lines = ["Updating dev: 1 of 2", "  Deployment nova/api [1/2] waiting " + "x" * 300]
    out.write("before\n")
    with activity.shown("Updating dev", lambda: lines, out):
        time.sleep(0.6)
        written = out.getvalue().replace("\n", "\r\n").encode()
    first, second, third = terminal.shown(written)
    assert (first, second) == ("before", "Updating dev: 1 of 2")
    assert third.startswith("  Deployment nova/api [1/2] waiting xxx")
    assert third.endswith("…"), "cut at the width: a line that wraps could not be renewed in place"
    out.write("after\n")
    assert terminal.shown(out.getvalue().replace("\n", "\r\n").encode()) == ["before", "after"]


def test_elsewhere_a_line_comes_now_and_then() -> None:
    out = io.StringIO()
    asked: list[int] = []

    def lines() -> list[str]:
        asked.append(1)
        return ["Updating dev: 1 of 2; waiting for 1", "  Job nova/sync, 8 s", "  Job nova/other, 7 s"]

    with activity.shown("Updating dev", lines, out, pause=0.01):
        while len(asked) < 3:
            time.sleep(0.01)
    said = out.getvalue().splitlines()
    assert said[0] == "Updating dev …"
    assert set(said[1:]) == {"  Updating dev: 1 of 2; waiting for 1: Job nova/sync, 8 s"}


def test_a_short_step_is_one_line() -> None:
    out = io.StringIO()
    with activity.shown("Updating dev", lambda: ["never"], out):
        pass
    assert out.getvalue() == "Updating dev …\n"
