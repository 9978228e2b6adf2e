"""Masters of a real cluster renew their certificates, lose etcd's data, and two of three die: etcd is restored.

One test, because each operation starts from the cluster that the one before has left.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from blueprint.plan.nodes import Node
from cluster.pod_exec import CommandOutput
from commands.live.restore_command import RestoreRequest, restore
from console.errors import UserError
from operations.root_shell import Shell
from tests.trials.machines import by_hand
from tests.trials.machines.changing_lab import (
    MASTERS,
    WORKERS,
    Changing,
    Writer,
    changing_lab,
    stack_plan,
    start,
    until,
)
from tests.trials.machines.report_plugin import PROOF
from trials.cloud import masters, nspawn

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

THREE = MASTERS[:3]
STACK = "members"
JOIN = "COMMAND=join"
READY = 300.0
"""Seconds until nodes must be Ready."""


class Interrupted(Exception):
    """The run of the command ends here."""


def test_etcd_is_restored(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with changing_lab(tmp_path) as lab:
        with lab.timed("three masters and two workers", has_writes=False):
            start(lab, by_hand.apply)
        writer = Writer(lab)
        with writer.writing():
            certificates_are_renewed(lab, writer)
            kept = all_masters_lose_the_data(lab, writer)
            kept |= two_of_three_are_dead(lab, writer)
            known = writer.acknowledged()
            until("ten more writes", lambda: len(writer.acknowledged()) > len(known) + 10)
            kept |= writer.acknowledged() - known
        found = writer.found()
        print(f"{len(kept)} of {len(writer.acknowledged())} acknowledged writes had to be kept; {len(found)} are there")
        assert kept - found == set()
        for proof in writer.proofs(found):
            record_property(PROOF, proof)
    by_hand.require_nothing_left()


def certificates_are_renewed(lab: Changing, writer: Writer) -> None:
    """All three find theirs due at the same moment, and take turns. No write is lost, or refused for long."""
    command = "DAYS=400 $(sed -n 's/^ExecStart=//p' /etc/systemd/system/certificate-renewal.service)"
    known = len(writer.acknowledged())

    def renew(name: str) -> None:
        until(f"{name} has its turn", lambda: turn(name), READY)

    def turn(name: str) -> bool:
        done = nspawn.run_in(lab.machine(name), ["sh", "-c", f"env {command} 2>&1"], timeout=READY)
        print(f"{name}: {done.stdout.strip()}", flush=True)
        return done.returncode == 0

    before = {name: serial(lab, name) for name in THREE}
    with lab.timed("the certificates of three masters renewed, one master at a time"), ThreadPoolExecutor(3) as pool:
        list(pool.map(renew, THREE))
    assert [name for name in THREE if serial(lab, name) == before[name]] == []
    until("twenty writes", lambda: len(writer.acknowledged()) > known + 20)


def serial(lab: Changing, name: str) -> str:
    """Returns the serial number of a master's API server."""
    show = ["openssl", "x509", "-noout", "-serial", "-in", "/etc/kubernetes/pki/apiserver.crt"]
    return masters.output(lab.machine(name), show)


def all_masters_lose_the_data(lab: Changing, writer: Writer) -> set[int]:
    """The copy of one is left. The run is interrupted where the first member would join. Returns what must be kept."""
    until("twenty writes", lambda: len(writer.acknowledged()) > 20)
    kept = writer.acknowledged()
    masters.output(lab.machine("master2"), ["systemctl", "start", "etcd-backup.service"])
    until("writes after the copy", lambda: len(writer.acknowledged()) > len(kept) + 5)
    for name in THREE:
        lose = "systemctl kill --signal=KILL etcd; rm -rf /var/lib/etcd/member"
        nspawn.run_in(lab.machine(name), ["sh", "-c", lose])
    with lab.timed("etcd restored from a copy, after three masters had lost its data, interrupted once"):
        with pytest.raises(Interrupted):
            restored(lab, interrupted(shell_of(lab)))
        restored(lab, shell_of(lab))
        is_whole(lab)
    return kept


def two_of_three_are_dead(lab: Changing, writer: Writer) -> set[int]:
    """Two masters have no power, and their disks are replaced. Returns what must be kept.

    The third may miss what the others acknowledged in the last moment: a second is left out.
    """
    known = set(writer.acknowledged())
    until("twenty writes", lambda: len(writer.acknowledged()) > len(known) + 20)
    moment = time.monotonic()
    for name in ("master1", "master3"):
        lab.cut_power(name)
    kept = {number for ended, number, reason in writer.tried if reason is None and ended < moment - 1} - known
    with lab.timed("etcd restored from the data of one member, with two dead masters, which are replaced"):
        with pytest.raises(UserError, match="master1 was not asked"):
            restored(lab, shell_of(lab))
        restored(lab, shell_of(lab), "master1", "master3")
        for name in ("master1", "master3"):
            lab.repair(name)
            by_hand.apply(lab.machine(name))
        is_whole(lab)
    return kept


def is_whole(lab: Changing) -> None:
    until("three members", lambda: len(masters.healthy_members(lab.lab)) == len(THREE), READY)
    until("the nodes", lambda: lab.nodes() == {*THREE, *WORKERS}, READY)


def restored(lab: Changing, shell: Shell, *dead: str) -> None:
    """Runs the command, on a plan of this lab."""
    request = RestoreRequest("etcd", dead=dead, confirm=STACK)
    restore(stack_plan(lab.directory, THREE), STACK, request, shell)


def shell_of(lab: Changing) -> Shell:
    """Returns what runs scripts on the machines, as SSH does."""

    def run(node: Node, script: str, seconds: float) -> CommandOutput:
        machine = lab.machine(node.name)
        if not nspawn.is_running(machine):
            return CommandOutput("", "it does not run", None)
        done = nspawn.run_in(machine, ["sh", "-c", f"exec 2>&1\n{script}"], timeout=seconds)
        return CommandOutput(done.stdout, done.stderr, done.returncode)

    return run


def interrupted(shell: Shell) -> Shell:
    """Returns a shell that ends the run where the first member would join."""

    def run(node: Node, script: str, seconds: float) -> CommandOutput:
        if JOIN in script:
            raise Interrupted
        return shell(node, script, seconds)

    return run
