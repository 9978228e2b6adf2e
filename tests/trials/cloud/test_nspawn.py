"""Commands in machines that take too long, and machines that are slow to boot."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from console.errors import UserError
from tests.stacks import STACKS
from trials.cloud import nspawn
from trials.cloud.lab_machines import LabMachine, lab_of

SLOW_AT_FIRST = """\
#!/bin/sh
[ -e {asked} ] && echo running && exit
touch {asked}
exec sleep 30
"""


@pytest.fixture
def machine(tmp_path: Path) -> LabMachine:
    """A machine that has not been started."""
    found = lab_of("dev", plan(load_file(STACKS["dev"])), Path("/rendered")).machine("virt1")
    return replace(found, directory=tmp_path)


@pytest.fixture
def on_host(machine: LabMachine, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    """A machine whose commands run on the host."""

    def leader(_machine: LabMachine) -> int:
        return 1

    def entry(_pid: int) -> list[str]:
        return ["env"]

    monkeypatch.setattr(nspawn, "leader", leader)
    monkeypatch.setattr(nspawn, "_entry", entry)
    return machine


def test_a_command_that_takes_too_long_fails_with_the_reason(on_host: LabMachine) -> None:
    done = nspawn.run_in(on_host, ["sleep", "30"], timeout=0.2)
    assert (done.returncode, done.stderr) == (nspawn.TIMED_OUT, "sleep 30 did not end within 0.2 s")


def test_a_machine_that_is_slow_to_answer_is_asked_again(
    on_host: LabMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(SLOW_AT_FIRST.format(asked=tmp_path / "asked"))
    systemctl.chmod(0o755)
    monkeypatch.setattr(nspawn, "PATH", f"{tmp_path}:{nspawn.PATH}")
    monkeypatch.setattr(nspawn, "ANSWER", 1.0)
    nspawn.await_boot(on_host)
    assert (tmp_path / "asked").exists()


def test_a_machine_that_does_not_boot_is_named(on_host: LabMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nspawn, "BOOT", 1.0)
    monkeypatch.setattr(nspawn, "ANSWER", 0.1)
    monkeypatch.setattr(nspawn, "PATH", "/nonexistent")
    with pytest.raises(UserError, match=r"virt1 has not started within 1 s: its console is empty"):
        nspawn.await_boot(on_host)


def test_a_machine_is_waited_for_until_its_init_is_systemd(
    machine: LabMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "systemd").symlink_to("/bin/sleep")
    with subprocess.Popen(["/bin/sleep", "60"]) as nspawns, subprocess.Popen([tmp_path / "systemd", "60"]) as systemd:
        leaders = [None, None, nspawns.pid, nspawns.pid, systemd.pid]  # asked twice a round

        def leader(_machine: LabMachine) -> int | None:
            return leaders.pop(0)

        def supervisor(_directory: Path) -> int:
            return 1

        monkeypatch.setattr(nspawn, "leader", leader)
        monkeypatch.setattr(nspawn, "_supervisor", supervisor)
        nspawn.await_init(machine)
        nspawns.kill()
        systemd.kill()
    assert not leaders


@pytest.mark.skipif(os.geteuid() != 0, reason="makes PID namespaces, which needs root")
def test_the_first_process_of_a_machine_is_found_below_its_supervisor(machine: LabMachine) -> None:
    assert nspawn.leader(machine) is None
    # The shell stays between the supervisor and the namespace, and the machine has a namespace of its own inside.
    inner = "unshare --pid --fork --kill-child sleep 60"
    script = f"unshare --pid --fork --kill-child sh -c '{inner}; :'; :"
    with subprocess.Popen(["sh", "-c", script]) as supervisor:
        try:
            nspawn.record_supervisor(machine.directory, supervisor.pid)
            pid = _await_leader(machine, "sh")
            assert Path(f"/proc/{pid}/status").read_text().count(f"NSpid:\t{pid}\t1\n") == 1
        finally:
            subprocess.run(["pkill", "--signal", "KILL", "--parent", str(supervisor.pid)], check=False)
    assert nspawn.leader(machine) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="makes PID namespaces, which needs root")
def test_a_machine_runs_while_its_supervisor_executes_its_next_program(machine: LabMachine, tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.write_text('#!/bin/sh\nexec "$0"\n')  # without a command line each time
    again.chmod(0o755)
    with subprocess.Popen(["sh", "-c", f"unshare --pid --fork --kill-child sleep 60 & exec {again}"]) as supervisor:
        try:
            nspawn.record_supervisor(machine.directory, supervisor.pid)
            pid = _await_leader(machine, "sleep")
            assert {nspawn.leader(machine) for _ in range(500)} == {pid}
        finally:
            subprocess.run(["pkill", "--signal", "KILL", "--parent", str(supervisor.pid)], check=False)
            supervisor.kill()


def _await_leader(machine: LabMachine, program: str) -> int:
    """Waits until the machine's first process is the program: just after its fork, it is still unshare."""
    end = time.monotonic() + 60
    while True:
        pid = nspawn.leader(machine)
        if pid is not None and Path(f"/proc/{pid}/comm").read_text().strip() == program:
            return pid
        assert time.monotonic() < end
        time.sleep(0.1)
