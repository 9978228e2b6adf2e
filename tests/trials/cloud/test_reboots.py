"""Reboots in a drill: a maintenance that is killed once and goes on, and machines that end are started."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from console.errors import UserError
from tests.stacks import STACKS
from trials.cloud import nspawn, power, ssh_access
from trials.cloud.drill import reboots
from trials.cloud.drill.operator import Operator
from trials.cloud.lab_machines import Lab, LabMachine, lab_of

PROGRAM = """
import pathlib, sys, time
called, rebooted = pathlib.Path("called"), pathlib.Path("rebooted")
words = " ".join(sys.argv[1:])
if not called.exists():
    called.write_text(words)
    print("controller1 is empty (1.0 s)", flush=True)
    time.sleep(60)
while not rebooted.exists(): time.sleep(0.05)
sys.exit("controller2 has failed" if "fails" in pathlib.Path().absolute().name else 0)
"""
"""What `quorate` is: its first run does not end, and the second one ends after the reboot."""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return lab_of("three-servers", plan(load_file(STACKS["three-servers"])), tmp_path)


@pytest.fixture
def operator(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Operator:
    @contextmanager
    def agent() -> Generator[dict[str, str]]:
        yield {}

    monkeypatch.setattr(ssh_access, "agent", agent)
    monkeypatch.setattr(reboots, "PERIOD", 0.01)
    return Operator(lab, [sys.executable, "-c", PROGRAM], "three-servers-cloud", {})


def quiet(_message: str) -> None:
    """Takes what is said."""


@pytest.mark.parametrize("directory", ["passes", "fails"])
def test_a_machine_that_ends_is_started(
    lab: Lab, operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, directory: str
) -> None:
    started = threading.Event()

    def is_running(machine: LabMachine) -> bool:
        return machine.name != "controller1" or started.is_set()

    def switch_on(machines: Sequence[LabMachine], _say: object) -> None:
        assert [machine.name for machine in machines] == ["controller1"]
        started.set()
        Path("rebooted").touch()

    monkeypatch.setattr(nspawn, "is_running", is_running)
    monkeypatch.setattr(power, "switch_on", switch_on)
    (tmp_path / directory).mkdir()
    monkeypatch.chdir(tmp_path / directory)
    disturbance = reboots.reboots(lab, "controller", ["controller1", "controller2"], operator, ["elasticsearch-kibana"])
    assert not {"controller1", "controller2"} & {each.name for each in disturbance.witnesses}
    problems = disturbance.act(list, quiet)
    assert started.is_set()
    assert Path("called").read_text(encoding="utf-8") == (
        "maintenance --pool controller --do reboot --admit-stop elasticsearch-kibana --stack three-servers-cloud"
    )
    if directory == "passes":
        assert list(problems) == []
    else:
        (problem,) = problems
        assert problem.startswith("`quorate maintenance --pool` failed:\ncontroller2 has failed")


def test_a_machine_that_does_not_boot_ends_the_drill(
    lab: Lab, operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_running(_machine: LabMachine) -> bool:
        return False

    def switch_on(_machines: Sequence[LabMachine], _say: object) -> None:
        Path("rebooted").touch()
        raise UserError("controller1 ended while it booted")

    monkeypatch.setattr(nspawn, "is_running", is_running)
    monkeypatch.setattr(power, "switch_on", switch_on)
    monkeypatch.chdir(tmp_path)
    problems = reboots.reboots(lab, "controller", ["controller1"], operator).act(list, quiet)
    assert problems == ["controller1 ended while it booted"]
