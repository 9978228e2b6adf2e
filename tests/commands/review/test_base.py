"""Tests of finding the base commit of a difference, and of the messages if the commit does not exist."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from commands.review import base
from console.errors import UserError


def git(root: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(root), *identity, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A git clone with two commits on the branch main."""
    root = tmp_path / "clone"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for text in ("one", "two"):
        (root / "file").write_text(text, encoding="utf-8")
        git(root, "add", "file")
        git(root, "commit", "-q", "-m", text)
    return root


def test_a_reference_becomes_its_commit(clone: Path) -> None:
    assert base.find(clone, "HEAD~1") == base.Base("HEAD~1", git(clone, "rev-parse", "HEAD~1"))


def test_no_base_is_asked_for(clone: Path) -> None:
    with pytest.raises(UserError, match="make diff BASE=origin/main STACK=dev"):
        base.find(clone, "")


def test_a_base_that_is_an_option_is_only_a_name(clone: Path) -> None:
    with pytest.raises(UserError, match="There is no commit --all"):
        base.find(clone, "--all")


def test_a_shallow_clone_is_told_how_to_fetch(clone: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", clone.as_uri(), str(shallow))
    with pytest.raises(UserError) as raised:
        base.find(shallow, "origin/release")
    assert str(raised.value) == (
        "There is no commit origin/release in this clone. This clone is shallow: it has only the newest commits.\n"
        "Fetch it, then compare with FETCH_HEAD: git fetch --depth=1 origin release && make diff BASE=FETCH_HEAD"
    )


def test_a_directory_without_git_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a git clone"):
        base.find(tmp_path, "main")


def test_the_export_is_the_commit_and_goes_away(clone: Path) -> None:
    (clone / ".venv").mkdir()
    with base.exported(clone, base.find(clone, "HEAD~1")) as tree:
        assert (tree / "file").read_text(encoding="utf-8") == "one"
        assert (tree / ".venv").readlink() == clone / ".venv"
    assert list((clone / "build").iterdir()) == []
    assert git(clone, "worktree", "list").count("\n") == 0


def test_the_export_goes_away_when_the_work_fails(clone: Path) -> None:
    def fail() -> None:
        with base.exported(clone, base.find(clone, "HEAD")):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list((clone / "build").iterdir()) == []


def test_what_is_not_committed_is_part_of_the_head(clone: Path) -> None:
    commit = git(clone, "rev-parse", "--short=12", "HEAD")
    assert base.describe_head(clone) == commit
    (clone / "file").write_text("three", encoding="utf-8")
    assert base.describe_head(clone) == f"{commit} with uncommitted changes"
