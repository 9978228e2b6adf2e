"""Which locks are taken off a stack, and which never."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from commands import locks, stack
from commands.stack import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "Pulumi.yaml").write_text("name: quorate\n", encoding="utf-8")
    return stack.main_workspace(tmp_path, "dev", {})


def put(workspace: Workspace, name: str, content: object) -> Path:
    directory = workspace.root / "build" / "state" / ".pulumi" / "locks" / "organization" / "quorate" / "dev"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json.attrs").touch()
    lock = directory / f"{name}.json"
    lock.write_text(json.dumps(content), encoding="utf-8")
    return lock


def ended_process() -> int:
    with subprocess.Popen(["true"]) as process:
        process.wait()
        return process.pid


def test_a_killed_runs_lock_is_taken_off(workspace: Workspace) -> None:
    lock = put(workspace, "a", {"pid": ended_process(), "hostname": socket.gethostname()})
    assert locks.remove_stale(workspace)
    assert list(lock.parent.iterdir()) == []
    assert not locks.remove_stale(workspace)


@pytest.mark.parametrize(
    "owner",
    [
        {"pid": os.getpid(), "hostname": socket.gethostname()},
        {"pid": 999_999_999, "hostname": "another-machine"},
        {"pid": 1, "hostname": socket.gethostname()},
        {"hostname": socket.gethostname()},
        "not what Pulumi writes",
    ],
)
def test_a_lock_that_may_be_held_stays(workspace: Workspace, owner: object) -> None:
    lock = put(workspace, "a", owner)
    assert not locks.remove_stale(workspace)
    assert lock.exists()


def test_a_state_elsewhere_is_left_alone(tmp_path: Path) -> None:
    assert not locks.remove_stale(Workspace(tmp_path, "dev", tmp_path / "build" / "dev", "s3://team"))
