"""The control plane on loopback: side by side, and gone without a trace however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from console.errors import UserError
from proof.control_plane import control_plane
from proof.processes import Processes
from proof.scratch import PREFIX, scratch, sweep
from tests.stacks import ROOT
from toolchain.process_identity import is_alive

OWNER = """
import signal, sys, time
from pathlib import Path
from proof.control_plane import control_plane
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests that run in the background of a shell ignore it
with control_plane(Path(sys.argv[1])) as plane:
    print(*(each.child.pid for each in plane.processes.running), plane.processes.directory, flush=True)
    time.sleep(600)
"""


def test_two_side_by_side_and_nothing_left(binaries: Path) -> None:
    with control_plane(binaries) as one, control_plane(binaries) as other:
        directories = [one.processes.directory, other.processes.directory]
        running = [each.child.pid for plane in (one, other) for each in plane.processes.running]
        assert len(running) == 10
        one.api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "mine"}})
        assert one.api.call("GET", "/api/v1/namespaces/mine").status == 200
        assert other.api.call("GET", "/api/v1/namespaces/mine").status == 404
    assert not [process for process in running if is_alive(process)]
    assert not [directory for directory in directories if directory.exists()]


def test_a_failure_leaves_nothing(binaries: Path) -> None:
    seen: list[int] = []

    def fail() -> None:
        with control_plane(binaries) as plane:
            seen.extend(each.child.pid for each in plane.processes.running)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(seen) == 5
    assert not [process for process in seen if is_alive(process)]


def test_a_program_that_ends_is_told(binaries: Path) -> None:
    with control_plane(binaries) as plane:
        scheduler = next(each for each in plane.processes.running if each.name == "kube-scheduler")
        scheduler.child.kill()
        scheduler.child.wait()
        with pytest.raises(UserError, match="kube-scheduler exited while it was needed"):
            plane.check()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_leaves_nothing(binaries: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", OWNER, str(binaries)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as owner:
        assert owner.stdout
        *processes, directory = owner.stdout.readline().split()
        assert all(is_alive(int(process)) for process in processes)
        os.kill(owner.pid, number)
        owner.wait(20)
    deadline = time.monotonic() + 5
    while any(is_alive(int(process)) for process in processes) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [process for process in processes if is_alive(int(process))]
    sweep()  # a killed proof leaves its directory, and the next one removes it
    assert not Path(directory).parent.exists()


def test_a_directory_in_use_is_not_swept() -> None:
    with scratch() as mine:
        sweep()
        assert mine.exists()
    assert not mine.exists()
    assert Path(tempfile.gettempdir()) in mine.parents
    assert mine.name.startswith(PREFIX)


def test_missing_programs_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="etcd, kube-apiserver"), control_plane(tmp_path):
        pass


def test_the_end_of_a_log_is_kept_for_messages(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    process = processes.start("talker", [sys.executable, "-c", "print('no port left'); raise SystemExit(3)"])
    process.child.wait()
    assert processes.ended is process
    assert "no port left" in process.log_tail()
    processes.stop()
