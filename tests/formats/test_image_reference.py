"""Tests of small modules that all packages use: suggestions, image references, and writing files in one step."""

from __future__ import annotations

from pathlib import Path

import pytest

from files import atomic
from formats import image_reference
from text.suggestion import closest, did_you_mean

DIGEST = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("text", "repository", "name", "tag", "digest"),
    [
        ("etcd", "etcd", "etcd", "", ""),
        ("registry:5000/a/nova-api", "registry:5000/a/nova-api", "nova-api", "", ""),
        ("registry:5000/a/nova-api:1.2", "registry:5000/a/nova-api", "nova-api", "1.2", ""),
        (f"quay.io/x/y:1@{DIGEST}", "quay.io/x/y", "y", "1", DIGEST),
        (f"y@{DIGEST}", "y", "y", "", DIGEST),
    ],
)
def test_parts_of_an_image(text: str, repository: str, name: str, tag: str, digest: str) -> None:
    found = image_reference.parse(text)
    assert (found.repository, found.name, found.tag, found.digest) == (repository, name, tag, digest)
    assert found.is_valid
    assert found.is_pinned == bool(digest)


@pytest.mark.parametrize(
    "text", ["", "a b", "Upper/Case", "a//b", "a:", "https://quay.io/a", "a@sha256:12", "a:-x", "-a"]
)
def test_what_is_not_a_reference(text: str) -> None:
    found = image_reference.parse(text)
    assert not found.is_valid or text == "a:"  # an empty tag is as good as none
    assert not found.is_pinned


def test_suggestions() -> None:
    assert did_you_mean("controler", ["compute", "controller"]) == " (did you mean 'controller'?)"
    assert did_you_mean("xyz", ["compute"]) == ""
    assert closest("node", ["nodes"], cutoff=0.95) is None


def test_a_file_is_written_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    atomic.write(path, "old\n")
    path.chmod(0o640)
    atomic.write(path, "één\n")
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.read_text(encoding="utf-8") == "één\n"
    with pytest.raises(UnicodeEncodeError):
        atomic.write(path, "\ud800")
    assert path.read_text(encoding="utf-8") == "één\n"
    assert [each.name for each in path.parent.iterdir()] == ["file"]
