"""Tests of the logs with Pulumi's own output: who can read them, how many are kept, and what is printed of them."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Generator
from pathlib import Path

import pytest

from commands.engine import run_log
from tests.file_system import mounted


@pytest.fixture
def disk(tmp_path: Path) -> Generator[Path]:
    """A file system of 8 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    with mounted(place, 8):
        yield place


def test_a_log_is_its_owners_and_the_last_thirty_are_kept(tmp_path: Path) -> None:
    logs = [run_log.create(tmp_path, "dev", "up", is_shown=False).path for _ in range(run_log.KEPT + 2)]
    kept = sorted((tmp_path / "build/dev/log").iterdir())
    assert kept == logs[2:]
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    assert stat.S_IMODE(kept[0].parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("is_shown", [True, False])
def test_a_shown_log_prints_what_is_added_and_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, is_shown: bool
) -> None:
    log = run_log.create(tmp_path, "dev", "up", is_shown=is_shown)
    for text in ("preview\n", "up\nfailed: \N{MULTIPLICATION SIGN}\n"):
        with log.followed(), log.path.open("a", encoding="utf-8") as file:
            file.write(text)
    said = "preview\nup\nfailed: \N{MULTIPLICATION SIGN}\n"
    assert capsys.readouterr().out == (said if is_shown else "")
    assert log.tail(2) == ["up", "failed: \N{MULTIPLICATION SIGN}"]


def test_the_last_messages_have_space_on_a_disk_that_fills_up(tmp_path: Path, disk: Path) -> None:
    log = run_log.create(disk, "dev", "up", is_shown=False)
    with log.followed():
        (disk / "filler").write_bytes(b"\0" * shutil.disk_usage(disk).free)
        with log.path.open("a", encoding="utf-8") as file:
            file.write("no space left on device\n" * 1000)
        assert log.tail(1) == ["no space left on device"]
        with pytest.raises(OSError, match="No space left"), (disk / "other").open("wb") as other:
            other.write(b"\0" * 100_000)
    assert shutil.disk_usage(disk).free > run_log.RESERVED // 2, "the rest is given back"


def test_nothing_runs_on_a_disk_without_space_for_its_messages(disk: Path) -> None:
    log = run_log.create(disk, "dev", "up", is_shown=False)
    (disk / "filler").write_bytes(b"\0" * (shutil.disk_usage(disk).free - 100_000))
    with pytest.raises(OSError, match="No space left"), log.followed():
        pytest.fail("the run has begun")
