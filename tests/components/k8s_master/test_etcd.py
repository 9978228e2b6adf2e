"""The steps that start a member of etcd and let it join, with programs that only take notes.

tests/proof/test_etcd_members.py does the same with real members.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components.k8s_master import etcd
from components.templates import fill
from doctor.checks import accepted
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.stacks import STACKS

MASTERS = plan(load_file(STACKS["dev"])).masters
FIRST, SECOND, THIRD = MASTERS
NONE = "exit 1\n"


def listed(*addresses: str) -> str:
    """An etcdctl whose cluster has members at these addresses."""
    lines = [f"8e9e05c5, started, m, https://{each}:2380, https://{each}:2379, false" for each in addresses]
    return "\n".join(("cat <<'END'", *lines, "END\n"))


@dataclass
class Machine:
    """The third master, with programs that take notes."""

    root: Path

    def prepare(
        self, etcdctl: str, *, state: str = "inactive", has_data: bool = False, version: str = "3.6.16"
    ) -> None:
        """Writes the files and programs. `etcdctl`: its commands. `state`: that of etcd's unit. `version`: etcd's."""
        for path, text in fill(etcd.parts(THIRD, MASTERS, CERTIFICATES).plain_files, {}).items():
            (self.root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path[1:]).write_text(text)
        (self.root / "var/lib/etcd" / ("member" if has_data else "")).mkdir(parents=True)
        programs = {
            "etcd": f"echo 'etcd Version: {version}'\n",
            "etcdctl": etcdctl,
            "kubectl": "exit 1\n",
            "systemctl": f'[ "$1" = is-active ] && {{ echo {state}; exit 3; }}\necho "$*" >>"$ROOT/log"\n',
        }
        for name, text in programs.items():
            (self.root / "bin").mkdir(exist_ok=True)
            (self.root / "bin" / name).write_text(f"#!/bin/sh\n{text}")
            (self.root / "bin" / name).chmod(0o755)

    def run(self, name: str, part: str) -> int:
        """Runs the check or the commands of a step. Returns the exit code."""
        return self.result(name, part).returncode

    def result(self, name: str, part: str) -> subprocess.CompletedProcess[str]:
        """Runs the check or the commands of a step."""
        steps = etcd.parts(THIRD, MASTERS, CERTIFICATES).steps
        (step,) = (each for each in steps if each.name == name)
        text = step.check if part == "check" else step.apply
        environment = {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "ROOT": str(self.root)}
        return subprocess.run(
            ["sh", "-euc", text], env=environment, check=False, timeout=60, capture_output=True, text=True
        )

    @property
    def has_started(self) -> bool:
        """Whether etcd's unit was started."""
        log = self.root / "log"
        return log.exists() and "start --no-block etcd.service" in log.read_text()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(("state", "is_started"), [("active", True), ("activating", True), ("failed", False)])
def test_a_member_that_waits_for_the_others_is_started(machine: Machine, state: str, *, is_started: bool) -> None:
    """Otherwise `apply` fails on the first master, before the step that says what to do."""
    machine.prepare(NONE, state=state)
    assert (machine.run("start-etcd", "check") == 0) is is_started


def test_a_member_of_a_new_cluster_starts(machine: Machine) -> None:
    machine.prepare(NONE)
    assert machine.run("start-etcd", "check") == 1
    assert machine.run("start-etcd", "apply") == 0
    assert machine.has_started
    assert (machine.root / "etc/etcd/start.env").read_text() == "ETCD_INITIAL_CLUSTER_STATE=new\n"


@pytest.mark.parametrize("others", [(FIRST, SECOND), MASTERS], ids=["it is unknown", "it is a member"])
def test_an_empty_machine_beside_a_cluster_starts_in_the_next_step(machine: Machine, others: list[etcd.Node]) -> None:
    machine.prepare(listed(*(each.address for each in others)))
    assert machine.run("start-etcd", "check") == 0
    assert machine.run("start-etcd", "apply") == 0
    assert not machine.has_started
    assert not (machine.root / "etc/etcd/start.env").exists()


def test_a_member_with_data_starts_whatever_the_others_say(machine: Machine) -> None:
    machine.prepare(listed(FIRST.address), has_data=True)
    assert machine.run("start-etcd", "apply") == 0
    assert machine.has_started
    assert not (machine.root / "etc/etcd/start.env").exists()


@pytest.mark.parametrize(
    ("version", "may_run"),
    [
        ("3.4.23", False),
        ("3.5.16", False),
        ("3.5.25", False),
        ("3.5.26", True),
        ("3.5.30", True),
        ("3.6.0", True),
        ("3.6.16", True),
        ("3.7.3", True),
        ("3.10.1", True),
        ("3.5.26-rc.1", False),
        ("2.3.8", False),
        ("4.0.0", False),
        ("", False),
    ],
)
def test_apply_and_the_doctor_accept_the_same_versions_of_etcd(
    machine: Machine, version: str, *, may_run: bool
) -> None:
    machine.prepare(NONE, version=version)
    assert (machine.run("require-etcd-version", "check") == 0, accepted(version)) == (may_run, may_run)


def test_the_version_to_install_is_named(machine: Machine) -> None:
    machine.prepare(NONE, version="3.5.16")
    said = machine.result("require-etcd-version", "apply").stderr
    assert said == "etcd on this machine is 3.5.16: install 3.6, or 3.5.26 or later of 3.5\n"
    (machine.root / "bin" / "etcd").write_text("#!/bin/sh\nexit 127\n")
    assert "etcd on this machine is not there: install 3.6" in machine.result("require-etcd-version", "apply").stderr


def test_a_machine_joins_no_cluster_with_a_member_that_loses_its_members_in_3_6(machine: Machine) -> None:
    status = """case $* in *"endpoint status"*) echo '"Version" : "3.5.16"'; exit ;; esac\n"""
    machine.prepare(status + listed(FIRST.address, SECOND.address))
    done = machine.result("join-etcd", "apply")
    assert done.returncode == 1
    assert (
        "member m runs etcd 3.5.16: before a member joins, install 3.6, or 3.5.26 or later of 3.5 there" in done.stderr
    )
    assert "added" not in done.stdout
