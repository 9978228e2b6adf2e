"""When a pod runs the command, with a made-up Lease and command. tests/proof/test_one_manager.py has real ones."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from openstack.scripts.one_manager import state, turns


class Election:
    """Answers of a Lease, exit codes of the commands that the pod starts, and what the pod did, in this order."""

    def __init__(self, answers: list[bool | None], codes: list[int | None]) -> None:
        self.did: list[str] = []
        self.answers, self.codes = answers, codes
        self.signal: signal.Signals | None = None
        """The signal that the pod receives while it waits."""
        self.identity = "pod"
        self.renewed = self.answered = state.now()

    def take(self, _until: float) -> bool:
        answer = self.answers.pop(0)
        self.did.append(f"takes: {answer}")
        if answer is None:
            raise OSError("no route to host")
        self.renewed = state.now()
        return answer

    def release(self) -> None:
        self.did.append("releases")

    def start(self, command: list[str], _deadline: float) -> Command:
        self.did.append(f"starts {command[0]}")
        return Command(self.did, self.codes.pop(0))

    def wait(self, _signals: object, _seconds: float) -> SimpleNamespace | None:
        return SimpleNamespace(si_signo=self.signal) if self.signal else None


class Command:
    """A command that runs until it is killed, or has ended already."""

    def __init__(self, did: list[str], code: int | None) -> None:
        self._did, self.code = did, code

    def extend(self, _deadline: float) -> None: ...

    def kill(self) -> bool:
        self._did.append("kills")
        return True


Run = Callable[..., list[str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Returns a function that runs the program, checks its exit code, and returns what it did."""
    monkeypatch.setattr(state, "_STATE", tmp_path / "state")
    monkeypatch.setattr(turns, "adopt", lambda: None)

    def program(election: Election, code: int) -> list[str]:
        monkeypatch.setattr(turns, "Lease", lambda: election)
        monkeypatch.setattr(turns, "Guarded", election.start)
        monkeypatch.setattr(turns.signal, "sigtimedwait", election.wait)
        assert turns.Turns(["manager"]).run() == code
        return election.did

    return program


def test_the_command_starts_when_the_pod_has_the_lease(run: Run) -> None:
    """Neither beside the pod that holds it, nor without an answer."""
    did = run(Election([False, None, True], [5]), 5)
    assert did == ["takes: False", "takes: None", "takes: True", "starts manager", "kills", "releases"]


def test_a_pod_that_lost_the_lease_kills_the_command_and_waits_again(run: Run) -> None:
    did = run(Election([True, True, False, False, True], [None, 0]), 0)
    once = ["takes: True", "starts manager", "takes: True", "takes: False", "kills"]
    assert did == [*once, "takes: False", "takes: True", "starts manager", "kills", "releases"]


def test_a_pod_that_ends_while_it_waits_starts_nothing(run: Run) -> None:
    election = Election([False], [])
    election.signal = signal.SIGTERM
    assert run(election, 0) == ["takes: False"]
