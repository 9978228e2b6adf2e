"""`quorate restore etcd`: what it asks before it changes anything, its exit codes, and a step that fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from blueprint.plan.nodes import Node
from cluster.pod_exec import CommandOutput
from commands.live import restore_command
from commands.live.restore_command import restore
from commands.live.restore_request import RestoreRequest
from console.errors import UserError
from tests.operations.maintenance.small_cloud import PLAN
from tests.stacks import ROOT

EMPTY = "state failed\n"
COPIED = f"{EMPTY}copy 20261129T120000Z 700 1048576\n"


@dataclass
class Machines:
    """Machines that tell what they have, and note what is done."""

    have: dict[str, str] = field(default_factory=lambda: {"master1": COPIED, "master2": EMPTY, "master3": EMPTY})
    fails: str = ""
    """Machine and command that fails."""
    did: list[str] = field(default_factory=list[str])

    def run(self, node: Node, script: str, _seconds: float) -> CommandOutput:
        command = script.split("\n", 1)[0].removeprefix("COMMAND=")
        if command == "look":
            return CommandOutput(self.have[node.name], "", 0)
        self.did.append(f"{node.name} {command if script.startswith('COMMAND=') else 'restart'}")
        return CommandOutput("said so\n", "", 1 if self.did[-1] == self.fails else 0)


def test_the_plan_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    machines = Machines()
    assert restore(PLAN, "live", RestoreRequest("etcd", plan=True), machines.run) == 0
    assert machines.did == []
    assert "  4. master1: make this member the only one, with the copy 20261129T120000Z\n" in capsys.readouterr().out


def test_without_the_name_of_the_stack_nothing_is_changed() -> None:
    machines = Machines()
    with pytest.raises(UserError, match=r"Nothing was changed\. To do this, add --confirm live"):
        restore(PLAN, "live", RestoreRequest("etcd"), machines.run)
    assert machines.did == []


def test_the_others_join_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    machines = Machines()
    assert restore(PLAN, "live", RestoreRequest("etcd", confirm="live"), machines.run) == 0
    names = ("master1", "master2", "master3")
    assert machines.did == [
        *(f"{name} stop" for name in names),
        "master1 begin",
        "master2 join",
        "master3 join",
        *(f"{name} restart" for name in names),
        "master1 end",
    ]
    said = capsys.readouterr().out
    assert "etcd of live runs with 3 of 3 members." in said
    assert "      said so\n" in said


def test_a_step_that_fails_ends_the_run() -> None:
    machines = Machines(fails="master2 join")
    with pytest.raises(UserError, match=r"Step 5 failed on master2 \(exit code 1\). Run the same command again"):
        restore(PLAN, "live", RestoreRequest("etcd", confirm="live"), machines.run)
    assert machines.did[-1] == "master2 join"


def test_a_refusal_is_an_error_and_of_a_plan_the_code_3(capsys: pytest.CaptureFixture[str]) -> None:
    machines = Machines(dict.fromkeys(("master1", "master2", "master3"), "state active\ndata 9 -\nvotes\n"))
    assert restore(PLAN, "live", RestoreRequest("etcd", plan=True), machines.run) == 3
    assert "etcd has a majority (master1, master2, master3 answer): nothing is lost" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"(?s)etcd is not restored:.*Nothing was changed"):
        restore(PLAN, "live", RestoreRequest("etcd", confirm="live"), machines.run)


def test_a_bare_machine_and_its_api_server_are_left_out() -> None:
    machines = Machines({"master1": COPIED, "master2": "state bare\n", "master3": EMPTY})
    restore(PLAN, "live", RestoreRequest("etcd", confirm="live"), machines.run)
    assert not [each for each in machines.did if each.startswith("master2")]


@pytest.mark.parametrize(
    ("stack", "what", "said"),
    [
        ("dev", "galera", "galera cannot be restored by this command: write one of etcd, rabbitmq, mysqld, ceph-mon"),
        ("dev", "mysql", r"mysql cannot be restored by this command \(did you mean 'mysqld'\?\)"),
        ("dev", "etcd", "dev is rendered: it has nothing that can be reached"),
        ("dev", "mysqld", "dev is rendered: it has nothing that can be reached"),
    ],
)
def test_what_has_no_machines_is_refused(stack: str, what: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        restore_command.run(Path(ROOT), stack, RestoreRequest(what, plan=True))
