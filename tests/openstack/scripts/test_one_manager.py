"""When cinder-volume takes turns, and what its probes answer. tests/proof/test_one_manager.py has the turns."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from openstack.scripts.one_manager import __main__ as program
from openstack.scripts.one_manager import state
from openstack.scripts.one_manager.lease import DEADLINE, DURATION, PERIOD
from openstack.scripts.one_manager.turns import GRACE, KILL
from tests.projects import PROCESSES
from tests.stacks import ROOT

CINDER = PROCESSES["cinder-volume"]


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("[DEFAULT]\nenabled_backends = ceph\n[ceph]\nbackend_host = ceph\n", True),
        ("[DEFAULT]\nenabled_backends = lvm, ceph\n[ceph]\nbackend_host = ceph\n", True),
        ("[DEFAULT]\nenabled_backends = lvm\n[lvm]\n[ceph]\nbackend_host = ceph\n", False),
        ("[DEFAULT]\nenabled_backends = ceph\n[ceph]\nbackend_host =\n", False),
        ("[DEFAULT]\nenabled_backends = absent\n", False),
        ("", False),
    ],
)
def test_only_instances_with_a_common_host_take_turns(
    text: str, shares: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cinder.conf"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setattr(program, "CONFIGURATION", str(file))
    assert program.shares_host() is shares


def test_an_instance_with_a_host_of_its_own_runs_at_once(tmp_path: Path) -> None:
    """It needs neither a Lease nor the API server, and its probes go on to look at its connection."""
    (tmp_path / "cinder.conf").write_text("[DEFAULT]\nenabled_backends = lvm\n", encoding="utf-8")
    (tmp_path / "healthcheck_port").write_text('#!/bin/sh\ntest "$*" = "cinder-volume 5672"\n', encoding="utf-8")
    (tmp_path / "healthcheck_port").chmod(0o755)
    environment = {
        "CINDER_CONFIGURATION": str(tmp_path / "cinder.conf"),
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "openstack/scripts"),
        "TMPDIR": str(tmp_path),
    }
    for words in (["run", "sh", "-c", "exit 5"], ["ready"], ["alive"]):
        code = 5 if words[0] == "run" else 0
        command = [sys.executable, "-m", "one_manager", *words]
        assert subprocess.run(command, env=environment, check=False).returncode == code


@pytest.fixture
def probes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lets the probes read a state of this test, and gives them a check of connections that fails."""
    monkeypatch.setattr(state, "_STATE", tmp_path / "state")
    monkeypatch.setattr(state, "_CONNECTED", tmp_path / "connected")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    check = tmp_path / "healthcheck_port"
    check.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    check.chmod(0o755)
    return check


def written(*, age: float = 1, answered: float = 1, active: float | None = None) -> None:
    """Writes a state; all times in seconds ago."""
    now = state.now()
    state.write(at=now - age, answered=now - answered, active=None if active is None else now - active)


@pytest.mark.usefixtures("probes")
def test_a_waiting_pod_is_ready_while_it_could_take_over() -> None:
    written()
    assert (program.main(["ready"]), program.main(["alive"])) == (0, 0)
    written(answered=program.STALE + 1)
    assert (program.main(["ready"]), program.main(["alive"])) == ("no answer of the API server", 0)


def test_an_active_pod_is_ready_while_it_is_connected(probes: Path) -> None:
    written(active=20)
    assert program.main(["ready"]) == "the command is not connected to RabbitMQ"
    probes.write_text("#!/bin/sh\nexit 0\n", encoding="ascii")
    assert program.main(["ready"]) == 0


def test_a_command_that_never_connects_is_restarted_and_one_that_did_is_not(probes: Path) -> None:
    """A failure of RabbitMQ must not restart it."""
    written(active=program.CONNECT - 10)
    assert program.main(["alive"]) == 0
    written(active=program.CONNECT + 10)
    assert program.main(["alive"]) == "the command has never connected to RabbitMQ"
    probes.write_text("#!/bin/sh\nexit 0\n", encoding="ascii")
    assert program.main(["ready"]) == 0
    probes.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    assert program.main(["alive"]) == 0
    time.sleep(0.01)
    written(active=program.CONNECT + 10)  # another start
    assert program.main(["alive"]) == "the command has never connected to RabbitMQ"


@pytest.mark.usefixtures("probes")
@pytest.mark.parametrize("kind", ["ready", "alive"])
@pytest.mark.parametrize("active", [None, 20.0])
def test_a_program_that_hangs_is_restarted(kind: str, active: float | None) -> None:
    written(age=program.STALE + 1, active=active)
    assert program.main([kind]) == "no sign of life for 60 s"


def test_the_command_is_dead_before_another_pod_may_take_the_lease() -> None:
    """With Kubernetes' durations, which the pods have."""
    assert (DURATION, DEADLINE, PERIOD) == (15, 10, 2)
    assert KILL == 13
    assert CINDER.grace > GRACE
    assert not CINDER.containers[0].environment
