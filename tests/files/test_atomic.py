"""Files that are written in one step."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from files import atomic


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fails)


def test_a_reader_never_sees_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the new content has reached the disk, the name still leads to the old content."""
    path = tmp_path / "state.json"
    path.write_text("old")
    seen: list[str] = []

    def look(_descriptor: int) -> None:
        seen.append(path.read_text())

    monkeypatch.setattr(os, "fsync", look)
    before = path.stat().st_ino
    atomic.write(path, "new")
    assert path.stat().st_ino != before, "the new file takes the name; the old one is not written to"
    assert seen == ["old", "new"], "of the file, then of the directory with the new name"
    assert path.read_text() == "new"


@pytest.mark.usefixtures("full_disk")
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text("old")
    with pytest.raises(OSError, match="No space left on device") as failed:
        atomic.write(path, "new")
    assert failed.value.filename == str(path)
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"state.json": "old"}


@pytest.mark.usefixtures("full_disk")
def test_a_file_that_cannot_be_completed_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left on device"):
        atomic.create(tmp_path / "secret", "x", 0o600)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_not_created_again_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    assert atomic.create(path, "first", 0o600)
    assert not atomic.create(path, "second", 0o644)
    atomic.write(path, "third")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("third", 0o600)
