"""Tests of the logs with Pulumi's own output: who can read them, how many are kept, and what is printed of them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from commands.engine import run_log


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
