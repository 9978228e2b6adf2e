"""Every script that is rendered for a machine of a shipped stack or of one with machines of etcd, by shellcheck."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components import machine_files, workers
from components.machine import directory
from components.templates import fill
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.stacks import STACKS, full_size, parsed, server

SHELLCHECK = Path(sys.executable).parent / "shellcheck"


def machines(made: Plan) -> Iterator[Node]:
    """One of each pool of identical workers, and every other machine."""
    alike = {each.name for nodes in workers.pools(made).values() for each in nodes[1:]}
    return (node for node in made.machines if node.name not in alike)


def scripts(made: Plan) -> Iterator[tuple[str, str]]:
    """Scripts of a stack's machines as they are written, each with its name."""
    for node in machines(made):
        entries = directory.entries(machine_files.parts(made, node, CERTIFICATES), {})
        found = {path: text for path, text in entries.items() if text.startswith("#!")}
        for path, text in fill(found, {}).items():
            yield f"{node.name}/{path}", text


@pytest.fixture(scope="module")
def rendered() -> Mapping[str, str]:
    """The name that each script has first, by its text: equal scripts are checked once."""
    found: dict[str, str] = {}
    own = full_size("100")
    own["servers"].append(server("etcd[1-3]", ["etcd"], "10.20.9.1"))
    for stack, made in {
        **{name: plan(load_file(path)) for name, path in STACKS.items()},
        "own": plan(parsed(own)),
    }.items():
        for name, text in scripts(made):
            found.setdefault(text, f"{stack}/{name}")
    return found


def shellcheck(folder: Path, texts: Mapping[str, str]) -> str:
    """What shellcheck reports of scripts by name."""
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    command = [SHELLCHECK, "--norc", "--shell=sh", "--format=gcc", *texts]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_no_script_has_a_warning(tmp_path: Path, rendered: Mapping[str, str]) -> None:
    assert shellcheck(tmp_path, {name: text for text, name in rendered.items()}) == ""


def test_all_kinds_of_scripts_are_among_them(rendered: Mapping[str, str]) -> None:
    kinds = {name.split("/")[2] for name in rendered.values()}
    assert kinds == {"apply", "leave", "steps", "questions", "quorums", "root"}


@pytest.mark.parametrize("text", ["rm -r $1\n", "[[ -f a ]]\n", "local a\n"], ids=["quotes", "bash", "outside"])
def test_a_script_with_a_mistake_is_reported(tmp_path: Path, text: str) -> None:
    assert "SC" in shellcheck(tmp_path, {"wrong": f"#!/bin/sh\n{text}"})
