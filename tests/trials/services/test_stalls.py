"""What a trial notes while a member stalls: its states, the log that names it, and how long clients had no answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from trials.histories.operation import ClientOperation
from trials.services import cuts, memory, stalls
from trials.services.stalls import Stall, StalledService
from trials.services.testbed import Broken, ServiceMachine, ServiceTestbed


class FakeMachine:
    """A machine of which only name, address and log are used."""

    def __init__(self, directory: Path, name: str) -> None:
        self.name, self.address, self.log = name, "10.199.0.1", directory / name
        self.log.write_text("a-0.domain is down, long ago\n")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalls, "LENGTH", 1.5)
    monkeypatch.setattr(stalls, "SETTLE", 0.0)


def service(machines: list[FakeMachine], state: Callable[[], str], history: list[ClientOperation]) -> StalledService:
    members = cast("list[ServiceMachine]", machines)
    return StalledService(members, state, lambda: 0.0, lambda: 0.0, lambda: history, ["peer.0 "])


@pytest.mark.parametrize("line", ["a-0.domain is down", "lost connection to 10.199.0.1:2380", "peer.0 failed"])
def test_states_and_the_first_log_that_names_the_member_are_noted(tmp_path: Path, line: str) -> None:
    machines = [FakeMachine(tmp_path, name) for name in ("a-0", "a-1")]
    states = iter(["ready", "not ready"])

    def begin(_machine: ServiceMachine) -> None:
        machines[1].log.write_text(f"before it\na-0.domain votes\n{line}\n" * 9)

    stall = Stall(begin, lambda _machine: None)
    notes = stalls.stalled(service(machines, lambda: next(states, "not ready"), []), stall)
    assert notes[0] == "a-0"
    assert notes[1].endswith(": not ready")
    assert notes[2].endswith(f"a-1: {line}")


def test_a_member_that_no_log_names_is_said_to_be_so(tmp_path: Path) -> None:
    ended: list[str] = []
    stall = Stall(lambda _machine: None, lambda machine: ended.append(machine.name))
    machines = [FakeMachine(tmp_path, name) for name in ("a-0", "a-1")]
    now = time.monotonic()
    history = [
        ClientOperation(0, "write", 0, now - 3, now - 2, "ok"),
        ClientOperation(0, "write", 1, now + 0.5, now + 7.5, "ok"),
    ]
    notes = stalls.stalled(service(machines, lambda: "ready", history), stall)
    assert notes[:2] == ["a-0", "no log of the other members named it"]
    assert notes[2].startswith("nothing was acknowledged for 7.")
    assert notes[3] == "answers took 6.000 s longer, 7.0 times as long as before"
    assert ended == ["a-0"]


def test_a_fault_ends_even_if_the_probes_fail(tmp_path: Path) -> None:
    ended: list[str] = []
    states = iter(["ready"])

    def state() -> str:
        for each in states:
            return each
        raise TimeoutError

    stall = Stall(lambda _machine: None, lambda machine: ended.append(machine.name))
    with pytest.raises(TimeoutError):
        stall.hold(service([FakeMachine(tmp_path, "a-0")], state, []))
    assert ended == ["a-0"]


class ConfinedMachine:
    """A machine of which only memory and commands are used."""

    def __init__(self, used: int = 0) -> None:
        self.name, self.used = "a-0", used
        self.limits: list[int] = []
        self.commands: list[list[str]] = []

    def memory(self) -> int:
        return self.used

    def limit_memory(self, size: int) -> bool:
        self.limits.append(size)
        return not 0 < size < 1.03 * self.used

    def write(self, _path: str, _text: str) -> None:
        assert self.limits == [], "the machine of the clients has no limit"

    def background(self, command: list[str], _user: str) -> None:
        self.commands.append(command)

    def end_background(self) -> None:
        self.commands.clear()


def test_a_storm_begins_once_the_member_has_little_memory_left_and_ends_with_the_limit() -> None:
    member, clients = ConfinedMachine(1000), ConfinedMachine()
    stall = memory.storm("galera", cast("ServiceMachine", clients), {"members": []})
    stall.begin(cast("ServiceMachine", member))
    assert (member.limits, clients.commands) == ([1000, 1020, 1040], [["python3", "/storm.py", "galera"]])
    stall.end(cast("ServiceMachine", member))
    assert (member.limits, clients.commands) == ([1000, 1020, 1040, -1], [])


def test_a_member_outside_of_its_cgroup_is_not_limited() -> None:
    member = ConfinedMachine(0)
    with pytest.raises(Broken, match="a-0 uses no memory in its cgroup"):
        memory.storm("galera", cast("ServiceMachine", member), {}).begin(cast("ServiceMachine", member))
    assert member.limits == []


class Recorder:
    """A test bed that records the order of calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def cut_power(self, *names: str) -> None:
        self.calls.append(f"cut {' '.join(names)}")

    def start(self, *names: str) -> None:
        self.calls.append(f"start {' '.join(names)}")

    def wait_ready(self) -> float:
        self.calls.append("ready")
        return 3.0

    def more(self) -> float:
        self.calls.append("more")
        return 0.5


def test_a_minority_returns_after_the_others_went_on() -> None:
    bed = Recorder()
    testbed = cast("ServiceTestbed", bed)
    notes = cuts.cut(testbed, ["a-1"], start=bed.start, wait_ready=bed.wait_ready, more=bed.more)
    assert bed.calls == ["cut a-1", "more", "start a-1", "ready"]
    assert notes == ["a-1 lost power", "operations went on after 0.5 s", "all were ready 3 s later"]


def test_a_majority_returns_at_once() -> None:
    bed = Recorder()
    cuts.cut(cast("ServiceTestbed", bed), ["a-0", "a-1"], start=bed.start, wait_ready=bed.wait_ready)
    assert bed.calls == ["cut a-0 a-1", "start a-0 a-1", "ready"]


def test_members_are_chosen_at_random() -> None:
    chosen = {tuple(cuts.some("abc", 2)) for _ in range(100)}
    assert chosen == {("a", "b"), ("a", "c"), ("b", "c")}
