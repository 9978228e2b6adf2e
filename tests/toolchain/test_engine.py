"""Tests of the content of a built engine's PULUMI_HOME."""

from __future__ import annotations

from pathlib import Path

from toolchain.engine import Engine


def engine(home: Path | None) -> Engine:
    return Engine("build", "3.276.0", "/nowhere", str(home) if home else None)


def test_logs_of_runs_go_and_none_come(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "pulumi-1-preview.log").write_text("sealed", encoding="utf-8")
    (tmp_path / "plugins").mkdir()
    for _ in range(2):
        engine(tmp_path).keep_no_logs()
        assert (tmp_path / "logs").read_bytes() == b""
    assert (tmp_path / "plugins").is_dir()


def test_the_home_of_a_user_s_own_engine_is_theirs() -> None:
    engine(None).keep_no_logs()
    assert "PULUMI_HOME" not in engine(None).settings()
