"""Commands on machines, with the real OpenSSH client and server: as root, without input, and with their exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests import sshd
from tests.sshd import Agent, host_key
from tests.stacks import ROOT, server, write
from trials.services.testbed import ServiceMachine

USER = "engineer"
"""A user with sudo."""
RUN = """\
import json, pathlib, sys
from commands import stack
from commands.live.machine_shell import machine_shell
plan = stack.load(pathlib.Path.cwd(), "test").plan
node = next(each for each in plan.machines if each.name == sys.argv[1])
with machine_shell(plan) as run:
    done = run(node, sys.argv[2], float(sys.argv[3]))
print(json.dumps([done.text, done.errors, done.code]))
"""
"""Runs a script on a machine of the stack "test" of the working directory."""


@pytest.fixture(scope="module")
def machine(agent: Agent) -> Generator[ServiceMachine]:
    with sshd.machines() as around:
        made = around.add("master1")
        made.run(["useradd", "--create-home", "--password", "*", "--shell", "/bin/sh", USER])
        made.write(f"/home/{USER}/.ssh/authorized_keys", agent.public_key, owner=USER, mode="0600")
        made.write(f"/etc/sudoers.d/{USER}", f"{USER} ALL=(ALL) NOPASSWD: ALL\n", mode="0440")
        made.write("/etc/hosts", "127.0.0.1 localhost master1\n")  # sudo looks for its host
        sshd.start(made)
        yield made


@pytest.fixture
def run(tmp_path: Path, machine: ServiceMachine, agent: Agent) -> Any:
    def ask(
        script: str, name: str = "master1", seconds: float = 60, key: str = host_key(machine)
    ) -> tuple[str, str, Any]:
        roles = ["master", "controller", "storage", "compute"]
        servers = [server("master1", roles, machine.address, hostKey=key), server("cmp1", ["compute"], "10.255.0.9")]
        write(tmp_path, {"profile": "lab", "architecture": "100", "servers": servers, "ssh": {"user": USER}})
        inside = ["nsenter", f"--target={machine.pid}", "--net", sys.executable, "-c", RUN, name, script, str(seconds)]
        environment = os.environ | {"SSH_AUTH_SOCK": str(agent.socket), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            inside, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=True
        )
        text, errors, code = json.loads(done.stdout)
        return text, errors, code

    return ask


def test_a_script_runs_as_root_and_reads_nothing(run: Any) -> None:
    assert run('id -u; cat; echo "it\'s $((1 + 1))" >&2') == ("0\nit's 2\n", "", 0)


@pytest.mark.parametrize("code", [1, 100, 255])
def test_its_exit_code_is_known(run: Any, code: int) -> None:
    assert run(f"echo no; exit {code}") == ("no\n", "", code)


def test_a_script_that_does_not_end(run: Any) -> None:
    text, errors, code = run("sleep 60", seconds=2)
    assert (text, errors, code) == ("", "it did not end within 2 s", None)


def test_another_host_key_is_refused(run: Any) -> None:
    _, errors, code = run(
        "id -u", key="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
    )
    assert code is None
    assert "it has another host key than the stack file; compare hostKey with" in errors
