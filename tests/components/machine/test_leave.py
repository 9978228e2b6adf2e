"""`leave` of a machine's tree, run by `sh` below a temporary root, with fake programs that only take notes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from components.machine import Parts, Step
from tests.components.machine.test_apply import FILE, UNIT, Machine


def step(name: str, leave: str = 'echo "leave $NAME" >>"$ROOT/log"') -> Step:
    return Step(name, "Notes its name.", f'[ -f "$ROOT/{name}" ]', f': >"$ROOT/{name}"',
                leave=leave.replace("$NAME", name))  # fmt: skip


PARTS = Parts((FILE, UNIT), (step("first"), step("without", ""), step("second")))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    found = Machine(tmp_path, active=[])
    found.render(PARTS)
    found.apply("--resource", "cloud-ctl1")
    found.log()
    return found


def leave(machine: Machine, *words: str, code: int = 0) -> list[str]:
    """Runs `leave`, which must end with the exit code `code`. Returns its output."""
    environment = {"PATH": f"{machine.directory / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", machine.tree / "leave", "--root", machine.root, "--wait", "1", *words],
        env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return [line.removeprefix("ctl1: ") for line in (done.stdout + done.stderr).splitlines()]


def test_steps_are_left_in_reverse_order_then_the_files_go(machine: Machine) -> None:
    assert leave(machine) == ["leave step 03-second", "leave step 01-first", "left"]
    assert machine.log() == ["leave second", "leave first", "systemctl daemon-reload"]
    assert not machine.file(FILE.path).exists()
    assert not machine.file(UNIT.path).exists()
    assert leave(machine) == ["nothing to leave"]


def test_a_step_that_cannot_be_left_stops_it_and_the_next_run_goes_on(machine: Machine) -> None:
    refuses = 'echo "no majority" >&2\n[ -e "$ROOT/majority" ] || exit 3'
    machine.render(Parts((FILE,), (step("first", refuses), step("second"))))
    said = leave(machine, code=3)
    assert said[-2:] == ["no majority", "step 01-first could not be left; run this again to go on"]
    assert machine.file(FILE.path).exists()
    machine.file("/majority").touch()
    assert "left" in leave(machine)


def test_a_machine_that_another_resource_has_set_up_stays(machine: Machine) -> None:
    """Pulumi creates a compute with more memory in another pool, before it deletes the old resource."""
    machine.apply("--resource", "cloud-big-ctl1")
    assert leave(machine, "--resource", "cloud-ctl1") == ["stays: cloud-big-ctl1 has set this machine up since"]
    assert machine.file(FILE.path).exists()
    assert leave(machine, "--resource", "cloud-big-ctl1")[-1] == "left"


def test_apply_sets_it_up_again(machine: Machine) -> None:
    leave(machine)
    assert "install /etc/etcd/etcd.env" in machine.apply()


def test_it_waits_for_an_apply_that_runs(machine: Machine) -> None:
    with (machine.root / "var/lib/quorate-apply/lock").open() as lock:
        subprocess.run(["flock", "-n", str(lock.fileno())], pass_fds=[lock.fileno()], check=True)
        assert leave(machine, code=4) == ["another run is in progress"]
