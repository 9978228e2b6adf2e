"""Sets the machines of a lab up as an operator of a rendered stack does: copies the tree and runs `apply`."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest

from console.errors import UserError
from trials.cloud import bring_up, host, network, nspawn
from trials.cloud.lab_machines import DIRECTORY, Lab, LabMachine

OF_A_TEST = " (test)"
"""End of the names of tests' labs, by which a lab that an interrupted test left is recognized."""
RENDERED = "/root/rendered"
AT_ONCE = 4
"""Workers that join at the same time. Project figure: a join is CPU work on the one host."""
READY = 300.0
"""Seconds until all nodes must be Ready."""
LIMIT = 900.0
"""Timeout of one run of `apply` in seconds."""


def skip_beside_another_lab() -> None:
    """Skips the test if a lab that is not of a test is on this host. Tests remove what interrupted ones left."""
    stack = bring_up.recorded_stack()
    if stack is not None and not stack.endswith(OF_A_TEST):
        pytest.skip(f"a lab of stack {stack} is on this host; `make cloud-down` removes it")


def skip_unless_able(lab: Lab) -> None:
    """Skips the test with the reasons if this host cannot run the lab."""
    try:
        host.check(lab)
    except UserError as reason:
        pytest.skip(str(reason))


def require_nothing_left() -> None:
    """Fails unless all machines, network namespaces and files of labs are gone."""
    namespaces = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert network.PREFIX not in namespaces
    assert [path.name for path in DIRECTORY.iterdir()] == ["lock"]


def set_up(lab: Lab, first: Callable[[LabMachine], object] | None = None) -> None:
    """Makes machines of etcd, then all masters at once, because etcd waits for a majority; the other machines join.

    `first`: what is done with the first master in place of `apply`.
    """
    for machine in lab.machines:
        deliver(machine)
    work = {lab.masters[0].name: first or apply}
    machines_of_etcd = [each for each in lab.members if not each.is_master]
    _each(machines_of_etcd, apply, len(lab.members))
    _each(lab.masters, lambda master: work.get(master.name, apply)(master), len(lab.masters))
    _each(lab.workers, apply, AT_ONCE)


def await_nodes(lab: Lab) -> None:
    """Waits until every machine is a Ready node. Raises UserError with those that are not."""
    end = time.monotonic() + READY
    waiting = [machine.name for machine in lab.machines]
    while time.monotonic() < end:
        waiting = bring_up.not_ready(lab, bring_up.nodes(lab))
        if not waiting:
            return
        time.sleep(2)
    raise UserError(f"These nodes are not Ready after {READY:.0f} s: {', '.join(waiting)}")


def deliver(machine: LabMachine) -> None:
    """Copies the machine's rendered directory and secret files to it."""
    nspawn.push(machine, machine.tree, f"{RENDERED}/machines/{machine.name}")
    if machine.secrets.is_dir():
        nspawn.push(machine, machine.secrets, f"{RENDERED}/secrets/machines/{machine.name}")


def apply(machine: LabMachine) -> str:
    """Runs the machine's `apply` and returns its output. Raises UserError with the last lines if it fails."""
    return run(machine, "apply")


def begin(machine: LabMachine) -> subprocess.Popen[bytes]:
    """Starts the machine's `apply` and does not wait for it."""
    return subprocess.Popen(
        ["nsenter", "-t", str(nspawn.leader(machine)), "-m", "-u", "-i", "-n", "-p", "-C", "--root",
         "--wd", "--", "env", "-i", f"PATH={nspawn.PATH}", f"{RENDERED}/machines/{machine.name}/apply"]
    )  # fmt: skip


def kill(machine: LabMachine, running: subprocess.Popen[bytes]) -> None:
    """Kills `apply` and all its programs on a machine, as a lost connection may do."""
    programs = f"[m]achines/{machine.name}|[l]ib/quorate|[k]ubeadm "
    nspawn.run_in(machine, ["sh", "-c", f"kill -9 $(pgrep -f '{programs}')"])
    if running.wait(20) == 0:
        raise UserError(f"apply on {machine.name} had ended before it was killed.")


def run(machine: LabMachine, script: str, code: int = 0) -> str:
    """Runs a script of the machine's directory and returns its output.

    Raises UserError with the last lines if it does not end with the exit code `code`.
    """
    try:
        done = nspawn.run_in(machine, [f"{RENDERED}/machines/{machine.name}/{script}"], timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise UserError(f"{script} on {machine.name} has not ended within {LIMIT:.0f} s.") from None
    output = (done.stdout + done.stderr).strip()
    if done.returncode != code:
        lines = "\n".join(output.splitlines()[-20:])
        raise UserError(f"{script} on {machine.name} ended with exit code {done.returncode}:\n{lines}")
    return output


def _each(machines: Iterable[LabMachine], work: Callable[[LabMachine], object], at_once: int) -> None:
    """Works on several machines at the same time; raises the first error after all have ended."""
    with ThreadPoolExecutor(at_once) as pool:
        for result in [pool.submit(work, machine) for machine in machines]:
            result.result()
