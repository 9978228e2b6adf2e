"""A power cut of a real machine: what its members have written and not synced is gone."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from console.errors import UserError
from console.progress import Reporter
from tests.stacks import STACKS
from toolchain import debian_root
from trials.cloud import cgroups, host, network, nspawn, power
from trials.cloud.lab_machines import Lab, LabMachine, lab_of

NAME = "forgetful-test"
"""Name of a machine that no stack has, so that the test can run beside a lab."""
WRITE = """\
echo synced > /var/lib/etcd/synced
mkdir /var/lib/quorate/volume
echo synced > /var/lib/quorate/volume/file
sync
echo forgotten > /var/lib/etcd/forgotten
echo forgotten >> /var/lib/quorate/volume/file
cat /var/lib/etcd/forgotten /var/lib/quorate/volume/file
"""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Lab]:
    """A lab of one machine, without cables. Skips the test if this host cannot run it."""

    def without_cables(_server: str, *, on: bool) -> None:
        """A switch on the network is not needed: the machine is alone."""

    found = lab_of("dev", plan(load_file(STACKS["dev"])), Path("/rendered"))
    machine = replace(found.machine("virt1"), name=NAME, server=NAME, directory=tmp_path / NAME, has_disk=False)
    alone = replace(found, machines=(machine,))
    try:
        host.check(alone)
    except UserError as reason:
        pytest.skip(str(reason))
    monkeypatch.setattr(network, "set_power", without_cables)
    monkeypatch.setattr(power, "_RECORD", tmp_path / "software.json")
    power.remember(debian_root.ensure(Reporter(), debian_root.MACHINE), {})
    subprocess.run(["ip", "netns", "add", network.namespace(machine)], check=True)
    try:
        nspawn.prepare(machine)
        yield alone
    finally:
        nspawn.cut_power(machine.directory)
        cgroups.remove(NAME)
        subprocess.run(["ip", "netns", "delete", network.namespace(machine)], check=True)


def test_a_power_cut_forgets_what_members_have_not_synced(lab: Lab) -> None:
    (machine,) = lab.machines
    power.switch_on(lab.machines, print)
    assert said(machine, WRITE) == "forgotten\nsynced\nforgotten\n"
    power.cut(lab, [NAME])
    assert not nspawn.is_running(machine)
    power.restore(lab, [NAME], print)
    assert said(machine, "cat /var/lib/etcd/* /var/lib/quorate/volume/file") == "synced\nsynced\n"


def test_a_lab_without_such_disks_keeps_its_power(lab: Lab) -> None:
    (machine,) = lab.machines
    power.switch_on(lab.machines, print)
    (machine.directory / "disk").rename(machine.directory / "other")
    with pytest.raises(UserError, match="has no disk that forgets: its lab is from an older version"):
        power.cut(lab, [NAME])
    assert nspawn.is_running(machine)


def said(machine: LabMachine, script: str) -> str:
    done = nspawn.run_in(machine, ["sh", "-c", script])
    assert done.returncode == 0, done.stderr
    return done.stdout
