"""Tests of the rendered start script of Ceph's managers: how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from openstack import scripts
from tests.fakes import script


def started(directory: Path, manager: str) -> subprocess.Popen[str]:
    """Runs the end of the script with a ceph-mgr that is a shell script."""
    script(directory / "bin", "ceph-mgr", manager)
    text = scripts.text("ceph_mgr.sh")
    environment = {**os.environ, "PATH": f"{directory}/bin:{os.environ['PATH']}", "POD_NAME": "ceph-mon-0"}
    command = ["bash", "-ec", f"keyring=/tmp/keyring\n{text[text.index('trap ') :]}"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("module_is_there", [True, False])
def test_a_manager_starts_with_metrics_and_without_them(tmp_path: Path, module_is_there: bool) -> None:
    """They are uncached and at the node's address only. That they cannot be enabled is said, and stops no manager."""
    script(tmp_path / "bin", "ceph", f"echo ceph $*; {'exit 0' if module_is_there else 'exit 22'}")
    script(tmp_path / "bin", "ceph-mgr", "echo manager $*")
    script(tmp_path / "bin", "chown", "")
    script(tmp_path / "bin", "install", "")
    text = scripts.text("ceph_mgr.sh")
    environment = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "POD_NAME": "ceph-mon-0", "POD_IP": "10.0.0.1"}
    command = ["bash", "-ec", f"keyring=/tmp/keyring\n{text[text.index('for command') :]}"]
    said = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout
    asked = [
        "ceph config set mgr mgr/prometheus/cache false --force",
        "ceph config set mgr mgr/prometheus/ceph-mon-0/server_addr 10.0.0.1 --force",
        "ceph mgr module enable prometheus --force",
    ]
    lines = [line for line in said.splitlines() if not line.startswith("manager ")]
    failed = [] if module_is_there else [f"failed: {each}" for each in asked]
    assert sorted(lines) == sorted([*asked, *failed])
    assert said.splitlines()[-1].startswith("manager --foreground ")


def test_sigterm_ends_a_manager_that_does_not_handle_it(tmp_path: Path) -> None:
    with started(tmp_path, "echo $$; exec sleep 600") as process:
        assert process.stdout is not None
        manager = int(process.stdout.readline())
        assert manager != process.pid, "the manager would be process 1 of its container"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        with pytest.raises(ProcessLookupError):
            os.kill(manager, 0)


def test_a_manager_that_ends_ends_the_container(tmp_path: Path) -> None:
    with started(tmp_path, "exit 3") as process:
        assert process.wait(60) == 3
