"""`quorate maintenance --do`: reboots and commands on machines that are out, in batches, killed after every change."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import yaml

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from cluster.pod_exec import CommandOutput
from commands import stack
from commands.live import maintenance_command
from commands.live.maintenance_request import MaintenanceRequest
from commands.stack import ValidStack
from commands.trials.lab_stack import with_host_keys
from console.errors import UserError
from contract import OPERATION
from formats import ssh_key
from operations import operation_lease
from operations.maintenance import machine_command, measured
from tests.operations.maintenance.small_cloud import PLAN, Killed, SmallCloud, load_as, make_live
from tests.stacks import ROOT, STACKS, parsed

LOAD = stack.load
UPGRADE = "apt-get -y upgrade"


def reachable(name: str = "dev") -> ValidStack:
    """A stack with a host key of every machine."""
    written = yaml.safe_load(STACKS[name].read_text(encoding="utf-8"))["config"]
    config = {key.removeprefix("quorate:"): value for key, value in written.items()}
    found = plan(parsed(config))
    keys = {node.name: ssh_key.derived(node.name).public for node in found.machines}
    config["servers"] = with_host_keys(config["servers"], found.settings, keys)
    return replace(LOAD(ROOT, "dev"), settings=parsed(config))


STACK = reachable()


class Machines:
    """Machines that reboot and run commands, of a small cloud."""

    def __init__(self, cloud: SmallCloud) -> None:
        self.cloud = cloud
        self.boots = {node.name: 1 for node in cloud.plan.machines}
        self.away: dict[str, int] = {}
        """How many looks at a machine that reboots get no answer."""
        self.failing: dict[str, str] = {}
        """What a failed command prints, by machine."""
        self.unreachable: set[str] = set()

    @contextmanager
    def shell(self, _plan: Plan) -> Generator[machine_command.Shell]:
        yield self.run

    def run(self, node: Node, script: str, _seconds: float) -> CommandOutput:
        name = node.name
        if name in self.unreachable:
            return CommandOutput("", "it refuses the login of root", None)
        if self.away.get(name):
            self.away[name] -= 1
            return CommandOutput("", "it does not answer", None)
        if "boot_id" in script:
            return CommandOutput(f"boot-{self.boots[name]}\n", "", 0)
        self.cloud.changed(f"{script} on {name}")
        if script.startswith("systemctl "):
            if script.endswith("reboot"):
                self.boots[name] += 1
                self.away[name] = 2
            else:
                self.unreachable.add(name)
            return CommandOutput("", "Connection closed", None)
        if name in self.failing:
            return CommandOutput(f"{self.failing[name]}\n", "", 100)
        return CommandOutput("2 upgraded\n", "", 0)


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> SmallCloud:
    return reach(monkeypatch, SmallCloud()).cloud


def reach(monkeypatch: pytest.MonkeyPatch, cloud: SmallCloud, found: ValidStack = STACK) -> Machines:
    """Makes a stack live, with this cloud as its cluster; returns its machines."""
    machines = Machines(cloud)
    make_live(monkeypatch, cloud, found)
    monkeypatch.setattr(maintenance_command, "machine_shell", machines.shell)
    monkeypatch.setattr(machine_command, "PAUSE", 0.0)
    return machines


def maintain(name: str = "", **values: Any) -> int:
    return maintenance_command.run(ROOT, "dev", MaintenanceRequest(name, **values))


def whole(cloud: SmallCloud) -> bool:
    closed = any(node["spec"].get("unschedulable") for node in cloud.nodes.values())
    return not closed and not cloud.leases and {each["status"] for each in cloud.services.values()} == {"enabled"}


def test_a_server_is_rebooted_when_it_is_empty_and_comes_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machines = reach(monkeypatch, SmallCloud())
    cloud = machines.cloud
    assert maintain("virt1", do="reboot", plan=True) == 0
    planned = capsys.readouterr().out.splitlines()
    assert "Then it is brought back; --end does so from any of these steps:" in planned
    assert f"      took: {measured.REBOOT}" in planned
    assert maintain("virt1", do="reboot") == 0
    done = capsys.readouterr().out.splitlines()
    assert [line for line in done if line[:2].strip().isdigit() and line not in planned] == []
    assert done[-1] == "virt1 is back after reboot, and everything on it is whole."
    assert {name for name, boots in machines.boots.items() if boots == 2} == {"virt1"}
    reboot = cloud.changes.index("systemctl reboot on virt1")
    assert max(index for index, change in enumerate(cloud.changes) if change.startswith("evict")) < reboot
    assert cloud.changes.index("enable virt1") > reboot
    assert whole(cloud)


def test_a_server_is_powered_off_and_held(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    machines = reach(monkeypatch, SmallCloud())
    assert maintain("virt1", do="poweroff", plan=True) == 0
    planned = capsys.readouterr().out.splitlines()
    assert "The end (--end), from any of these steps:" in planned
    assert maintain("virt1", do="poweroff") == 0
    done = capsys.readouterr().out.splitlines()
    assert [line for line in done if line[:2].strip().isdigit() and line not in planned] == []
    assert done[-1].startswith("virt1 is out, and no login there succeeds. Power it on again, then: quorate ")
    assert machines.unreachable == {"virt1"}
    assert machines.cloud.nodes["virt1"]["spec"]["unschedulable"]
    assert maintain("virt1", do="poweroff") == 0, "again, for the lost terminal"
    assert machines.cloud.changes.count("systemctl poweroff on virt1") == 1
    machines.unreachable.clear()
    assert maintain("virt1", end=True) == 0
    assert whole(machines.cloud)


def test_a_machine_that_does_not_power_off_stays_out(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = reach(monkeypatch, SmallCloud())
    monkeypatch.setattr(machine_command, "LIMIT", 0.05)

    def stays(_node: Node, _script: str, _seconds: float) -> CommandOutput:
        return CommandOutput("boot-1\n", "", 0)

    monkeypatch.setattr(machines, "run", stays)
    with pytest.raises(UserError, match=r"messaging1 still answers within .*; look at its console"):
        maintain("messaging1", do="poweroff")
    assert machines.cloud.nodes["messaging1"]["spec"]["unschedulable"]


def test_a_pool_is_powered_off_batch_by_batch(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machines = reach(monkeypatch, SmallCloud())
    for name in ("virt1", "virt2", "virt3"):
        assert maintain(pool="compute", do="poweroff") == 0
        assert machines.unreachable == {name}
        assert f"Out, and no login there succeeds: {name}. Then: " in capsys.readouterr().out
        machines.unreachable.clear()
        assert maintain(pool="compute", end=True) == 0
    assert whole(machines.cloud)


def test_a_command_prints_what_the_machine_said(cloud: SmallCloud, capsys: pytest.CaptureFixture[str]) -> None:
    assert maintain("messaging1", do=UPGRADE) == 0
    assert "    2 upgraded\nmessaging1: apt-get -y upgrade has ended (" in capsys.readouterr().out
    assert cloud.changes.count(f"{UPGRADE} on messaging1") == 1


@pytest.mark.parametrize("command", ["reboot", "poweroff", UPGRADE])
def test_a_run_that_is_killed_after_any_change_goes_on(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    machines = reach(monkeypatch, SmallCloud())
    maintain("messaging1", do=command)
    script = f"{command} on messaging1" if command == UPGRADE else f"systemctl {command} on messaging1"
    ran = machines.cloud.changes.index(script) + 1
    for after in range(1, len(machines.cloud.changes)):
        again = reach(monkeypatch, SmallCloud())
        again.cloud.kill_after = after
        with pytest.raises(Killed):
            maintain("messaging1", do=command)
        again.cloud.kill_after = None
        again.cloud.forget_holder()
        assert maintain("messaging1", do=command) == 0
        # Only a run that was killed before it could note the command's end runs the command twice; a reboot is seen.
        twice = command == UPGRADE and after == ran
        assert again.cloud.changes.count(script) == 1 + twice, f"killed after {again.cloud.changes[:after]}"
        if command == "poweroff":
            again.unreachable.clear()
            maintain("messaging1", end=True)
        assert whole(again.cloud)


def test_the_quorums_are_asked_again_before_the_command(cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    evict = maintenance_command.Maintenance._evict  # pyright: ignore[reportPrivateUsage]

    def lost_meanwhile(self: Any, node: str) -> None:
        evict(self, node)
        cloud.lost["rabbitmq-1"] = "it was stopped"

    monkeypatch.setattr("operations.maintenance.out_and_back.SETTLE", 0.05)
    monkeypatch.setattr(maintenance_command.Maintenance, "_evict", lost_meanwhile)
    with pytest.raises(UserError, match="No command runs on messaging1, because rabbitmq has no majority now"):
        maintain("messaging1", do="reboot")
    assert not any("reboot" in change for change in cloud.changes)


def test_a_quorum_that_answers_late_does_not_stop_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machines = reach(monkeypatch, SmallCloud())
    evict = maintenance_command.Maintenance._evict  # pyright: ignore[reportPrivateUsage]

    def silent_meanwhile(self: Any, node: str) -> None:
        evict(self, node)
        machines.cloud.lost["rabbitmq-1"] = "no answer within 15 s"

    def answer(_seconds: float) -> None:
        machines.cloud.lost.pop("rabbitmq-1", None)

    monkeypatch.setattr(maintenance_command.Maintenance, "_evict", silent_meanwhile)
    monkeypatch.setattr("operations.maintenance.out_and_back.time.sleep", answer)
    assert maintain("messaging1", do=UPGRADE) == 0
    assert "waits: rabbitmq has no majority\n" in capsys.readouterr().out
    assert whole(machines.cloud)


def test_a_quorum_of_a_single_member_stops_if_it_may(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = reachable("three-servers")
    cloud = reach(monkeypatch, SmallCloud(plan(found.settings)), found).cloud
    name = cloud.homes["elasticsearch-kibana-0"]
    option = "--admit-stop elasticsearch-kibana"
    refusal = f"elasticsearch-kibana has no other member; `maintenance {option}` lets it stop meanwhile"
    assert maintain(name, do="reboot", plan=True) == 3
    assert f"  - {refusal}\n" in capsys.readouterr().out
    with pytest.raises(UserError, match=refusal):
        maintain(name, do="reboot")
    assert whole(cloud)
    stops = ("elasticsearch-kibana",)
    assert maintain(name, do="reboot", stops=stops, plan=True) == 0
    assert "elasticsearch-kibana stops until its only member is back" in capsys.readouterr().out
    # A run that goes on knows from the Lease what may stop.
    cloud.kill_after = len(cloud.changes) + 5
    with pytest.raises(Killed):
        maintain(name, do="reboot", stops=stops)
    cloud.kill_after = None
    cloud.forget_holder()
    assert operation_lease.command(operation_lease.CloudOperation(name, do="reboot", stops=stops), "dev") == (
        f"quorate maintenance {name} --do reboot {option} --stack dev"
    )
    assert maintain(name, do="reboot") == 0
    assert "evict elasticsearch-kibana-0" in cloud.changes
    assert whole(cloud)


def test_a_command_that_fails_leaves_the_machine_out(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = reach(monkeypatch, SmallCloud())
    machines.failing["messaging1"] = "E: dpkg was interrupted"
    with pytest.raises(UserError) as failed:
        maintain("messaging1", do=UPGRADE)
    assert str(failed.value).startswith(
        "apt-get -y upgrade failed on messaging1 (exit code 100):\n    E: dpkg was interrupted"
    )
    assert machines.cloud.nodes["messaging1"]["spec"]["unschedulable"]
    machines.failing.clear()
    assert maintain("messaging1", do=UPGRADE) == 0
    assert whole(machines.cloud)


def test_a_machine_without_a_login_is_not_rebooted(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = reach(monkeypatch, SmallCloud())
    machines.unreachable.add("messaging1")
    with pytest.raises(UserError, match="messaging1 is not rebooted, because no login there succeeds: it refuses"):
        maintain("messaging1", do="reboot")


def test_a_machine_that_does_not_boot_stays_out(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = reach(monkeypatch, SmallCloud())
    machines.away["messaging1"] = 0
    monkeypatch.setattr(machine_command, "LIMIT", 0.05)
    run = machines.run

    def never(node: Node, script: str, seconds: float) -> CommandOutput:
        if script == "systemctl reboot":
            machines.unreachable.add(node.name)
        return run(node, script, seconds)

    monkeypatch.setattr(machines, "run", never)
    with pytest.raises(UserError, match=r"messaging1 has not booted anew within .*; look at its console\. it refuses"):
        maintain("messaging1", do="reboot")
    assert machines.cloud.nodes["messaging1"]["spec"]["unschedulable"]


def test_a_pool_is_worked_through_batch_after_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = reach(monkeypatch, SmallCloud())
    assert maintain(pool="compute", do="reboot") == 0
    ran = [change for change in machines.cloud.changes if "reboot" in change]
    assert ran == [f"systemctl reboot on virt{number}" for number in (1, 2, 3)]
    back = [change for change in machines.cloud.changes if change.startswith(("enable", "systemctl"))]
    assert back == [
        each for number in (1, 2, 3) for each in (f"systemctl reboot on virt{number}", f"enable virt{number}")
    ]
    assert whole(machines.cloud)


def test_a_pool_stops_at_too_many_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = reach(monkeypatch, SmallCloud())
    machines.failing = {"virt1": "E: no space left", "virt2": "E: no space left"}
    with pytest.raises(UserError, match="2 of pool compute have failed, and --max-failed admits 1") as stopped:
        maintain(pool="compute", max_failed=1, do=UPGRADE)
    assert "E: no space left" in str(stopped.value)
    assert not any("virt3" in change for change in machines.cloud.changes)
    assert maintain(pool="compute", abort=True) == 1
    assert whole(machines.cloud)


def test_another_command_waits_for_the_first_one(cloud: SmallCloud) -> None:
    cloud.kill_after = 6
    with pytest.raises(Killed):
        maintain("messaging1", do=UPGRADE)
    cloud.kill_after = None
    cloud.forget_holder()
    written = json.loads(cloud.leases[operation_lease.NAME]["metadata"]["annotations"][OPERATION])
    assert written["do"] == UPGRADE
    with pytest.raises(UserError) as refused:
        maintain("messaging1", do="reboot")
    assert (
        "It runs `apt-get -y upgrade`. Nothing was changed.\nGo on with that: `quorate maintenance messaging1 --do "
        "'apt-get -y upgrade' --stack dev`" in str(refused.value)
    )
    assert maintain("messaging1") == 0, "held instead"
    assert maintain("messaging1", do="reboot") == 0, "and rebooted then"
    assert whole(cloud)


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({"end": True}, "use it without --hold, --end and --abort"),
        ({"hold": "cordon"}, "use it without --hold, --end and --abort"),
        ({"do": "reboot\nhalt"}, "needs a command of one line, `reboot` or `poweroff`"),
        ({"do": " "}, "needs a command of one line, `reboot` or `poweroff`"),
    ],
)
@pytest.mark.usefixtures("cloud")
def test_requests_that_no_run_can_do(request_: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        maintain("messaging1", **({"do": "reboot"} | request_))


@pytest.mark.usefixtures("cloud")
def test_a_server_without_a_host_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    load_as(monkeypatch, replace(LOAD(ROOT, "dev"), settings=PLAN.settings))
    with pytest.raises(UserError, match="--do logs in to virt1, and the stack file has no hostKey of it"):
        maintain("virt1", do="reboot")
