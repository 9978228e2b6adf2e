"""The stand-in for pulumi-command on the real engine, with a real sshd.

With the official provider 1.2.1 in its place, the same tests pass; the messages of failed connections differ.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests import sshd
from tests.engine.conftest import Done, Project
from tests.sshd import Agent
from trials.services.testbed import ServiceMachine

PROGRAM = """
import json, pulumi
from pulumi_command import remote

given = json.load(open("given.json"))
proxy = remote.ProxyConnectionArgs(**given["proxy"]) if given["proxy"] else None
connection = remote.ConnectionArgs(**given["connection"], proxy=proxy)
copied = remote.CopyToRemote(
    "copied", connection=connection, source=pulumi.FileArchive("tree"), remote_path="places/trees"
)
stdin = pulumi.Output.secret(given["stdin"])
options = pulumi.ResourceOptions(depends_on=[copied])
command = remote.Command("command", connection=connection, stdin=stdin, opts=options, **given["command"])
pulumi.export("stdout", command.stdout)
"""
SECRET = "the-secret-on-standard-input"  # noqa: S105 - of this test


@pytest.fixture(scope="module")
def machines(agent: Agent) -> Generator[dict[str, ServiceMachine]]:
    with sshd.machines() as around:
        for name in ("machine", "jump"):
            found = around.add(name)
            found.write("/root/.ssh/authorized_keys", agent.public_key, owner="root", mode="0600")
            sshd.start(found)
        yield around.machines


@pytest.fixture(scope="module")
def machine(machines: dict[str, ServiceMachine]) -> ServiceMachine:
    return machines["machine"]


@dataclass(frozen=True)
class Remote:
    """A stack that copies a directory to the machine and runs a command there."""

    project: Project
    machine: ServiceMachine
    command: dict[str, Any]
    stdin: str = SECRET
    host_key: str = ""
    proxy: dict[str, Any] | None = None
    dials: int = 0

    def run(self, *words: str) -> Done:
        connection = {
            "host": self.machine.address,
            "host_key": self.host_key or sshd.host_key(self.machine),
            "dial_error_limit": self.dials,
        }
        given = {"connection": connection, "proxy": self.proxy, "stdin": self.stdin, "command": self.command}
        (self.project.directory / "given.json").write_text(json.dumps(given))
        return self.project.run(*words)

    def up(self) -> Done:
        done = self.run("up", "--yes", "--skip-preview")
        assert done.code == 0, done.output
        return done

    def log(self) -> str:
        return self.machine.run(["cat", "/root/log"])


@pytest.fixture
def stack(tmp_path: Path, machine: ServiceMachine, agent: Agent, engine: dict[str, str]) -> Remote:
    (tmp_path / "Pulumi.yaml").write_text("name: quorate\nruntime: python\n")
    (tmp_path / "__main__.py").write_text(PROGRAM)
    (tmp_path / "tree" / "below").mkdir(parents=True)
    (tmp_path / "tree" / "below" / "file").write_text("first")
    (tmp_path / "state").mkdir()
    machine.run(["rm", "-rf", "/root/log", "/root/places"])
    variables = {"PULUMI_BACKEND_URL": (tmp_path / "state").as_uri(), "SSH_AUTH_SOCK": str(agent.socket)}
    inside = (f"--target={machine.pid}", "--net")
    project = Project(tmp_path, "test", engine | variables, ("nsenter", *inside))
    assert project.run("stack", "init").code == 0
    return Remote(project, machine, {"create": "cat >>log; echo created"})


def test_a_command_runs_once_and_again_after_a_change(stack: Remote) -> None:
    stack.up()
    assert stack.log() == SECRET
    assert stack.machine.run(["cat", "/root/places/trees/tree/below/file"]) == "first"
    assert stack.up().changes() == {}
    assert stack.log() == SECRET
    changed = replace(stack, stdin="|second")
    assert changed.run("preview").changes() == {"update": {"command"}}
    assert stack.log() == SECRET
    assert changed.up().changes() == {"update": {"command"}}
    assert stack.log() == f"{SECRET}|second"
    (stack.project.directory / "tree" / "below" / "file").write_text("second")
    assert changed.up().changes() == {"update": {"copied"}}
    assert stack.machine.run(["cat", "/root/places/trees/tree/below/file"]) == "second"


def test_standard_input_is_a_secret_in_the_state_and_in_no_output(stack: Remote) -> None:
    done = stack.up()
    assert SECRET not in done.output
    assert SECRET not in stack.project.state_file.read_text(encoding="utf-8")
    (made,) = [each for each in stack.project.state().values() if each["type"] == "command:remote:Command"]
    assert made["outputs"]["stdout"] == "created"


def test_update_and_delete_have_their_own_commands(stack: Remote) -> None:
    """The server does not accept variables, so that the last output is not in the environment."""
    command = {
        "create": "echo created",
        "update": 'echo "updated $PULUMI_COMMAND_STDOUT" | tee -a log',
        "delete": 'echo "deleted $PULUMI_COMMAND_STDOUT" >>log',
    }
    replace(stack, command=command).up()
    replace(stack, command=command, stdin="other").up()
    assert replace(stack, command=command).run("destroy", "--yes").code == 0
    assert stack.log().splitlines() == ["updated ", "deleted "]


def test_changed_triggers_replace_a_command_although_it_has_an_update(stack: Remote) -> None:
    command: dict[str, Any] = {"create": "echo created >>log", "update": "echo updated >>log", "triggers": ["first"]}
    replace(stack, command=command).up()
    done = replace(stack, command=command | {"triggers": ["second"]}).up()
    assert done.changes() == {each: {"command"} for each in ("create-replacement", "replace", "delete-replaced")}
    assert stack.log() == "created\ncreated\n"


def test_a_command_without_create_and_update_keeps_its_output(stack: Remote) -> None:
    stack.up()
    done = replace(stack, command={"delete": "echo deleted >>log"}).up()
    assert done.changes() == {"update": {"command"}}
    assert stack.log() == SECRET
    (made,) = [each for each in stack.project.state().values() if each["type"] == "command:remote:Command"]
    assert made["outputs"]["stdout"] == "created"


def test_a_copy_is_repeated_only_for_another_source(stack: Remote) -> None:
    stack.up()
    stack.machine.run(["rm", "-r", "/root/places"])
    done = replace(stack, dials=1).up()
    assert done.changes() == {"update": {"copied", "command"}}
    assert "places" not in stack.machine.run(["ls", "/root"])


def test_a_failed_command_is_an_error_with_its_output_and_runs_again(stack: Remote) -> None:
    failing = replace(stack, command={"create": "echo why; exit 3"})
    done = failing.run("up", "--yes", "--skip-preview")
    assert done.code
    assert "Process exited with status 3" in done.output
    assert "why" in done.output
    stack.up()
    assert stack.log() == SECRET


def test_another_host_key_is_refused_before_anything_is_sent(stack: Remote, agent: Agent) -> None:
    done = replace(stack, host_key=agent.public_key).run("up", "--yes", "--skip-preview")
    assert done.code
    assert re.search("Host key verification failed|host key mismatch", done.output)
    assert stack.machine.run(["ls", "/root"]) == ""


def test_no_login_without_the_agent(stack: Remote) -> None:
    environment = stack.project.environment | {"SSH_AUTH_SOCK": os.devnull}
    done = replace(stack, project=replace(stack.project, environment=environment)).run("up", "--yes", "--skip-preview")
    assert done.code
    assert re.search("Permission denied|dial unix /dev/null", done.output)


def test_a_jump_host_has_its_own_host_key(stack: Remote, machines: dict[str, ServiceMachine]) -> None:
    jump = machines["jump"]
    right = {"host": jump.address, "host_key": sshd.host_key(jump), "dial_error_limit": 0}
    wrong = right | {"host_key": sshd.host_key(stack.machine)}
    done = replace(stack, proxy=wrong).run("up", "--yes", "--skip-preview")
    assert done.code
    assert stack.machine.run(["ls", "/root"]) == ""
    replace(stack, proxy=right).up()
    assert stack.log() == SECRET
