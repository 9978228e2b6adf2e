"""`quorate handover` and the recipe of docs/handover.md with the real engine: what Pulumi finds on the other machine.

tests/commands/handover has all that needs no engine. Both machines are directories of this host.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from files.handover_record import COPYING, GIVEN, IN_CHARGE, INCOMING, LOCKED
from tests.clone_pair import ClonePair, content, write_setup
from tests.engine.clones import Clone
from tests.engine.test_plain_pulumi import plain
from tests.local_sshd import local_sshd
from tests.shared import made_once
from tests.stacks import ROOT, STACKS

STACK = "one-server"
UNCHANGED = "No changes: all"
PAGE = (ROOT / "docs" / "handover.md").read_text(encoding="utf-8")
NOT_IN_GIT = "build/\n__pycache__/\n.venv\n"


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory, engine: dict[str, str]) -> Clone:
    """A rendered lab that `quorate up` made, in a git repository. Tests leave it as it is."""
    assert engine
    return Clone(made_once(tmp_path_factory, "handed-over", _deploy) / "clone", STACK)


def _deploy(directory: Path) -> None:
    clone = Clone.make(directory / "clone", STACK, STACKS[STACK])
    clone.up()
    (clone.root / ".gitignore").write_text(NOT_IN_GIT)
    author = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=All of it"]):
        subprocess.run(["git", *words], cwd=clone.root, env=os.environ | author, check=True)


@pytest.fixture
def pair(tmp_path: Path, deployed: Clone) -> Generator[ClonePair]:
    shutil.copytree(deployed.root, tmp_path / "clone", symlinks=True)
    (tmp_path / "sshd").mkdir()
    with local_sshd(tmp_path / "sshd") as server:
        found = ClonePair(Clone(tmp_path / "clone", STACK), Clone(tmp_path / "there", STACK), server)
        found.make_setup()
        yield found


def test_a_handover_that_is_killed_twice(pair: ClonePair, engine: dict[str, str]) -> None:
    pair.make_kills(first=1, second=3)
    assert pair.killed() == -9
    assert pair.phases == (COPYING, INCOMING)
    assert UNCHANGED in pair.here.up().output  # in use, while the other one is not
    assert pair.killed() == -9
    assert pair.phases == (LOCKED, INCOMING)
    assert UNCHANGED in pair.here.run("preview").output
    done = plain(pair.there, engine).run("up", "--yes", "--skip-preview")  # only the program refuses there
    assert done.code != 0
    assert f"This clone is a copy of {pair.me}, which is in charge until its handover has ended" in done.output
    assert "Traceback" not in done.output

    done = pair.handover()
    assert done.code == 0, done.output
    assert re.search(rf"   {STACK}: \d+ resources\n", done.output)
    assert pair.phases == (GIVEN, IN_CHARGE)
    assert content(pair.there.root) == content(pair.here.root)
    done = plain(pair.here, engine).run("up", "--yes", "--skip-preview")
    assert done.code != 0
    assert f"quorate-handover@{pair.to}" in done.output
    assert UNCHANGED in pair.there.up().output


def test_the_machine_is_rebuilt_from_what_the_page_says(deployed: Clone, tmp_path: Path) -> None:
    keep, rebuild = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[1:]
    write_setup(tmp_path / "bin", deployed)
    places = {
        "git.example.org:cloud.git": str(deployed.root),
        "backup.example.org:/kept": f"{tmp_path}/kept",
        "export PULUMI_CONFIG_PASSPHRASE_FILE=/secure/passphrase": "",
        "--stack prod": f"--stack {STACK}",
    }
    for example, place in places.items():
        assert example in keep + rebuild
        keep, rebuild = keep.replace(example, place), rebuild.replace(example, place)
    (tmp_path / "kept").mkdir()
    _shell(keep, deployed.root, tmp_path / "bin")
    (tmp_path / "new").mkdir()
    output = _shell(rebuild, tmp_path / "new", tmp_path / "bin")
    assert UNCHANGED in output
    assert "rendered files are missing or changed since the last `up`" in output
    assert not (tmp_path / "new/cloud/build" / STACK / "machines").exists()


def _shell(commands: str, directory: Path, programs: Path) -> str:
    """Runs commands of a page, and returns their output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")}
    done = subprocess.run(
        ["sh", "-ec", commands],
        cwd=directory,
        env=kept | {"PATH": f"{programs}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
