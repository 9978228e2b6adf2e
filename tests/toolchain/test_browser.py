"""Tests of where Chromium for the tests of the audit page is found, without installing it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from console.programs import ProgramError
from toolchain import browser


class World:
    """A fake machine on which commands fail, or install Chromium."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.there = False
        self.brings = ""

    def run(self, command: Sequence[str | Path], **_: Any) -> list[str]:
        words = " ".join(str(word) for word in command)
        self.asked.append(words)
        if self.brings and self.brings in words:
            self.there = True
            return []
        if words.endswith("update"):
            return []
        raise ProgramError([words], 1, ["no such luck"])


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setattr(browser, "run", made.run)
    monkeypatch.setattr(browser, "find", lambda: "/usr/bin/chromium" if made.there else None)
    monkeypatch.setattr(browser.shutil, "which", "/usr/bin/{}".format)
    monkeypatch.setattr(browser.os, "geteuid", lambda: 0)
    monkeypatch.delenv("QUORATE_BROWSER", raising=False)
    return made


def test_one_that_is_there_is_taken(world: World) -> None:
    world.there = True
    assert browser.main() == 0
    assert world.asked == []


def test_debians_package_comes_first(world: World) -> None:
    world.brings = "apt-get install"
    assert browser.main() == 0
    assert [words.split()[:2] for words in world.asked] == [["apt-get", "update"], ["apt-get", "install"]]


def test_who_is_not_root_gets_playwrights(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser.os, "geteuid", lambda: 1000)
    world.brings = "playwright install"
    assert browser.main() == 0
    (asked,) = world.asked
    assert asked.endswith("-m playwright install chromium")


@pytest.mark.parametrize(("wanted", "code"), [("", 0), ("required", 1)])
def test_none_to_be_had_is_said_and_where_required_a_failure(
    world: World, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], wanted: str, code: int
) -> None:
    monkeypatch.setenv("QUORATE_BROWSER", wanted)
    assert browser.main() == code
    assert "install your system's chromium package" in capfd.readouterr().err
