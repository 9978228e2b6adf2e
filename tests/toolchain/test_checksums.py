"""Tests of which programs in the user's cache count as damaged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolchain import checksums


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "pulumi"
    path.write_bytes(b"0123456789")
    checksums.write(tmp_path, [path])
    assert checksums.damaged(tmp_path) == []
    return path


@pytest.mark.parametrize("content", [b"", b"01234", b"012345678x"])
def test_other_content_is_damage_also_of_the_same_size(program: Path, content: bytes) -> None:
    program.write_bytes(content)
    os.utime(program, ns=(0, program.stat().st_mtime_ns + 1))
    assert checksums.damaged(program.parent) == ["pulumi"]


def test_a_missing_program_is_damage(program: Path) -> None:
    program.unlink()
    assert checksums.damaged(program.parent) == ["pulumi"]


def test_the_same_content_at_another_time_is_intact(program: Path) -> None:
    os.utime(program, ns=(0, 1))
    assert checksums.damaged(program.parent) == []
