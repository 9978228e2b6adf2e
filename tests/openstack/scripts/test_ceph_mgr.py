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
