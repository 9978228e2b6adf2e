"""Tests of which locks of a stack are removed as stale, and which are kept."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from commands import stack
from commands.engine import locks
from commands.stack import Workspace
from tests.fakes import script
from toolchain.process_identity import identify, is_alive, program_name


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "Pulumi.yaml").write_text("name: quorate\n", encoding="utf-8")
    return stack.main_workspace(tmp_path, "dev", {})


def put(workspace: Workspace, name: str, content: object) -> Path:
    directory = workspace.root / "build" / ".state" / ".pulumi" / "locks" / "organization" / "quorate" / "dev"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json.attrs").touch()
    lock = directory / f"{name}.json"
    lock.write_text(json.dumps(content), encoding="utf-8")
    return lock


def ended_process() -> int:
    with subprocess.Popen(["true"]) as process:
        process.wait()
        return process.pid


@pytest.fixture
def pulumi(tmp_path: Path) -> Generator[int]:
    """A running process whose program is named pulumi."""
    program = script(tmp_path / "bin", "pulumi", "read -r _")
    with subprocess.Popen([program], stdin=subprocess.PIPE) as process:
        while program_name(process.pid) != "pulumi":  # the kernel sets it a little after the start
            time.sleep(0.01)
        yield process.pid


def test_a_killed_runs_lock_is_taken_off(workspace: Workspace) -> None:
    lock = put(workspace, "a", {"pid": ended_process(), "hostname": socket.gethostname()})
    assert locks.remove_stale(workspace)
    assert list(lock.parent.iterdir()) == []
    assert not locks.remove_stale(workspace)


@pytest.mark.parametrize(
    "owner",
    [
        {"pid": 999_999_999, "hostname": "another-machine"},
        {"hostname": socket.gethostname()},
        "not what Pulumi writes",
    ],
)
def test_a_lock_that_may_be_held_stays(workspace: Workspace, owner: object) -> None:
    lock = put(workspace, "a", owner)
    assert not locks.remove_stale(workspace)
    assert lock.exists()


def test_a_running_engine_keeps_its_lock(workspace: Workspace, pulumi: int) -> None:
    lock = put(workspace, "a", {"pid": pulumi, "hostname": socket.gethostname()})
    assert not locks.remove_stale(workspace)
    workspace.engine_record.parent.mkdir(parents=True)
    workspace.engine_record.write_text(identify(pulumi).to_json())
    assert not locks.remove_stale(workspace)
    assert lock.exists()


def test_a_number_that_another_program_has_now_is_no_owner(workspace: Workspace) -> None:
    put(workspace, "a", {"pid": os.getpid(), "hostname": socket.gethostname()})
    assert locks.remove_stale(workspace)


@pytest.mark.parametrize("change", [{"boot": "another boot"}, {"started": "1"}])
def test_a_number_that_another_engine_has_now_is_no_owner(
    workspace: Workspace, pulumi: int, change: dict[str, str]
) -> None:
    put(workspace, "a", {"pid": pulumi, "hostname": socket.gethostname()})
    workspace.engine_record.parent.mkdir(parents=True)
    workspace.engine_record.write_text(replace(identify(pulumi), **change).to_json())
    assert locks.remove_stale(workspace)


def test_a_zombie_has_ended() -> None:
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(process.pid)
        assert is_alive(os.getpid())


def test_a_state_elsewhere_is_left_alone(tmp_path: Path) -> None:
    assert not locks.remove_stale(Workspace(tmp_path, "dev", tmp_path / "build" / "dev", "s3://team"))
