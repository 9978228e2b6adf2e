"""Tests of the engine's guard, with a script instead of the engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.stacks import ROOT
from toolchain.process_identity import identify, is_alive, read_identity

# Floods the event pipe as a busy engine does, and writes its state when it is interrupted.
ENGINE = """\
import os, pathlib, signal, sys, time
def interrupted(*_):
    with open("interrupts", "a") as counted: counted.write("x")
    for _ in range(40): os.write(events, b"x" * 65536)
    pathlib.Path("state").write_text("written")
    sys.exit(7)
signal.signal(signal.SIGINT, interrupted)
events = os.open(sys.argv[1], os.O_RDWR)
pathlib.Path("ready").touch()
time.sleep(600)
"""


@dataclass(frozen=True)
class Run:
    guard: subprocess.Popen[bytes]
    directory: Path
    held: int
    """This process's end of the pipe: closing it is what the system does when this process is killed."""

    def wait_for(self, name: str) -> None:
        deadline = time.monotonic() + 60
        while not (self.directory / name).exists():
            assert time.monotonic() < deadline, name
            time.sleep(0.02)


@pytest.fixture
def run(tmp_path: Path) -> Generator[Run]:
    (tmp_path / "events").mkdir()
    pipe = tmp_path / "events" / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "engine.py").write_text(ENGINE)
    theirs, held = os.pipe()
    places = [str(theirs), pipe, tmp_path / "record", tmp_path]
    command = [sys.executable, "-S", "-m", "commands.engine.engine_guard", *places, sys.executable, "engine.py", pipe]
    with subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs]) as guard:
        os.close(theirs)
        started = Run(guard, tmp_path, held)
        started.wait_for("ready")
        started.wait_for("record")
        yield started
        guard.kill()
        if (engine := read_identity(tmp_path / "record")) and is_alive(engine.pid):
            os.kill(engine.pid, signal.SIGKILL)
    os.close(held)


def test_the_engine_ends_in_order_when_its_command_is_killed(run: Run) -> None:
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), run.held)  # closes this end
    assert run.guard.wait(timeout=60) == 7
    assert (run.directory / "state").read_text() == "written"
    assert not (run.directory / "events").exists()
    assert not (run.directory / "record").exists()


def test_a_closed_terminal_does_not_end_the_engine(run: Run) -> None:
    engine = read_identity(run.directory / "record")
    assert engine
    for process in (run.guard.pid, engine.pid):
        os.kill(process, signal.SIGHUP)
    time.sleep(0.2)
    assert run.guard.poll() is None
    assert engine.is_running


def test_a_killed_engine_leaves_its_record(run: Run) -> None:
    engine = read_identity(run.directory / "record")
    assert engine
    assert engine == identify(engine.pid)
    os.kill(engine.pid, signal.SIGKILL)
    assert run.guard.wait(timeout=60) == 128 + signal.SIGKILL
    assert read_identity(run.directory / "record") == engine
    assert not is_alive(engine.pid)


def test_an_interrupt_of_the_terminal_reaches_the_engine_only_once(run: Run) -> None:
    """A terminal sends it to the guard and to the engine: what the guard passed on would be a second interrupt."""
    run.guard.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert run.guard.poll() is None
    assert not (run.directory / "interrupts").exists()
    engine = read_identity(run.directory / "record")
    assert engine
    os.kill(engine.pid, signal.SIGINT)
    run.wait_for("interrupts")


def test_the_engines_exit_code_is_returned(tmp_path: Path) -> None:
    theirs, held = os.pipe()
    words = [str(theirs), tmp_path / "events", tmp_path / "record", tmp_path, "sh", "-c", "exit 3"]
    command = [sys.executable, "-S", "-m", "commands.engine.engine_guard", *words]
    assert subprocess.run(command, cwd=ROOT, pass_fds=[theirs], check=False).returncode == 3
    os.close(theirs)
    os.close(held)
