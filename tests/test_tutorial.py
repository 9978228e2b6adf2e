"""The tutorial shows what its commands print: those that need no engine run here, in the order of the page."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from commands import command_line
from tests.stacks import ROOT

PAGE = ROOT / "docs" / "tutorial.md"
LEFT_OUT = "…"
"""Stands for lines that the page does not show, or at the end of a line for the rest of it."""


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def _sessions() -> list[tuple[str, list[str]]]:
    """Every command that the page shows with its output, and the lines of the output."""
    found: list[tuple[str, list[str]]] = []
    for line in "".join(_blocks("console")).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def _pattern(lines: list[str]) -> str:
    """Returns a regular expression for an output: `LEFT_OUT` stands for any lines, or for the rest of a line."""
    return "".join(
        r"(?:.*\n)*?"
        if line == LEFT_OUT
        else re.escape(line.removesuffix(LEFT_OUT)) + (r".*\n" if line.endswith(LEFT_OUT) else r"\n")
        for line in lines
    )


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command_line, "ROOT", tmp_path)
    return tmp_path


def test_commands_print_what_the_page_shows(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edits = [block for block in _blocks("sh") if block.startswith("sed ")]
    subprocess.run(["sh", "-euc", "\n".join(edits)], cwd=clone, check=True)
    assert {line.split()[1] for line, _ in _sessions()} == {"check", "plan", "config"}
    for line, output in _sessions():
        command_line.main(shlex.split(line)[1:])
        printed = capsys.readouterr()
        assert re.fullmatch(_pattern(output), printed.out + printed.err), line


@pytest.mark.parametrize(
    ("lines", "printed", "fits"),
    [
        (["a"], "a\n", True),
        (["a"], "a\nb\n", False),
        (["a", LEFT_OUT], "a\nb\nc\n", True),
        ([LEFT_OUT, "c"], "a\nb\nc\n", True),
        ([f"a{LEFT_OUT}", "b"], "a and more\nb\n", True),
        ([f"a{LEFT_OUT}"], "b\n", False),
    ],
)
def test_what_the_page_leaves_out_may_be_anything(lines: list[str], printed: str, fits: bool) -> None:
    assert (re.fullmatch(_pattern(lines), printed) is not None) is fits
