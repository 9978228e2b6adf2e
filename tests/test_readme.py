"""The commands, links and stacks that README and docs name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from commands.command_line import app
from tests.stacks import ROOT, STACKS

README = (ROOT / "README.md").read_text(encoding="utf-8")
OVERVIEW = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

PUBLIC = set(re.findall(r"^([a-z0-9-]+):.*## ", MAKEFILE, re.MULTILINE))
"""Targets that `make help` lists."""
TARGETS = set(re.findall(r"^([a-z0-9]+):", MAKEFILE, re.MULTILINE))
COMMANDS: dict[str, set[str]] = {
    name: {option for parameter in command.params for option in parameter.opts}
    for name, command in getattr(get_command(app), "commands", {}).items()
}
"""Every command of `quorate` with its options."""


def _commands(text: str) -> list[str]:
    """Command lines: code in backticks, and lines of code blocks and of workflows."""
    blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    lines = [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return re.findall(r"`([^`\n]+)`", text) + [line for line in lines if line]


def _targets(text: str) -> set[str]:
    return {found[1] for line in _commands(text) if (found := re.match(r"make ([a-z0-9-]+)", line))}


def test_the_readme_names_two_commands_and_where_the_others_are() -> None:
    block = re.search(r"```sh\n(.*?)```", README, re.DOTALL)
    assert block
    assert [line.split()[1] for line in block[1].splitlines()] == ["up", "test"]
    assert "docs/commands.md" in README
    assert "docs/tutorial.md" in README


def test_every_target_is_described() -> None:
    assert PUBLIC - _targets(OVERVIEW) == set()


@pytest.mark.parametrize("path", [*DOCUMENTS, *WORKFLOWS], ids=lambda path: path.name)
def test_every_make_target_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = _commands(text) + re.findall(r"run: (.*)", text)
    named = {found[1] for line in lines if (found := re.match(r"make ([a-z0-9]+)\b", line))}
    assert named - TARGETS == set()


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / "Makefile"], ids=lambda path: path.name)
def test_every_quorate_command_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("$(QUORATE)", "quorate")
    lines = _commands(text) if path.suffix == ".md" else re.findall(r"^\t@(quorate .*)", text, re.MULTILINE)
    for line in lines:
        words = line.split("#")[0].split()
        if words[:1] != ["quorate"] or len(words) == 1:
            continue
        if words[1] == "--help":
            continue
        assert words[1] in COMMANDS, line
        options = {word.split("=")[0] for word in words[2:] if word.startswith("--")}
        assert options <= COMMANDS[words[1]] | {"--help"}, line


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_document_runs_a_module(path: Path) -> None:
    """`quorate` is the one command line; what generates a page says so in the page itself."""
    named = {line for line in _commands(path.read_text(encoding="utf-8")) if re.match(r"python3? -m ", line)}
    replaced = ("commands.", "blueprint.", "proof")
    assert not {line for line in named if line.split()[2].startswith(replaced) and path.name != "CHANGELOG.md"}


def test_every_stack_that_it_names_is_shipped() -> None:
    listed = re.search(r"`STACK=` names .*?: ([^.]*)\.", OVERVIEW, re.DOTALL)
    assert listed
    assert set(re.findall(r"`([\w-]+)`", listed[1])) == set(STACKS)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_into_the_tree_leads_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    missing = [link for link in links if not (path.parent / link).exists()]
    assert missing == []
