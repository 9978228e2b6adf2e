"""Tests of the lines that a run shows while it works."""

from __future__ import annotations

from dataclasses import dataclass

import contract
from commands.run.run_progress import RunProgress
from tests.commands.run.events import begins, ends, failed, finished, message, started, urn

DEPLOYMENT, JOB = "kubernetes:apps/v1:Deployment", "kubernetes:batch/v1:Job"
REASON = "[1/2] Waiting for app ReplicaSet be marked available\n(0/3 Pods available)\n"


@dataclass
class Clock:
    """A clock that a test sets."""

    now: float = 0

    def __call__(self) -> float:
        return self.now


def progress(verb: str, clock: Clock, expected: int = 0) -> RunProgress:
    return RunProgress(verb, "dev", expected, clock)


def test_a_preview_counts_what_it_has_seen() -> None:
    clock = Clock()
    run = progress("preview", clock)
    assert run.lines() == ["Previewing dev: starting Pulumi and the program, 0.0 s"]
    clock.now = 3
    run.take(begins())
    for operation in ("create", "same"):
        run.take(started(operation, DEPLOYMENT, operation, planned=True))
        run.take(finished(operation, DEPLOYMENT, operation, planned=True))
    run.take(started("create", contract.PROJECT, "cloud-nova", custom=False, planned=True))
    run.take(finished("create", contract.PROJECT, "cloud-nova", custom=False, planned=True))
    assert run.lines() == ["Previewing dev: 3 resources, 1 changes, 3.0 s"]
    run.take(ends(is_preview=True))
    assert (run.expected, run.times) == (1, {"preview": 3})


def test_an_update_shows_what_it_waits_for_with_its_reason_and_time() -> None:
    clock = Clock()
    run = progress("up", clock, expected=9)
    run.take(begins())
    for number in range(6):
        clock.now = number
        run.take(started("create", DEPLOYMENT, f"cloud-api{number}"))
    run.take(message("info", REASON, urn(DEPLOYMENT, "cloud-api1"), is_status=True))
    run.take(message("debug", "a secret", urn(DEPLOYMENT, "cloud-api1")))
    run.take(finished("create", DEPLOYMENT, "cloud-api0"))
    run.take(failed("create", DEPLOYMENT, "cloud-api2"))
    clock.now = 6.5
    assert run.lines() == [
        "Updating dev: 2 of 9 resources, 6.5 s; waiting for 3",
        "  Deployment nova/api1, 5.5 s: [1/2] Waiting for app ReplicaSet be marked available (0/3 Pods available)",
        "  Deployment nova/api3, 3.5 s",
        "  Deployment nova/api4, 2.5 s",
    ], "api5 is in progress for less than two seconds"


def test_at_most_five_are_listed() -> None:
    clock = Clock()
    run = progress("up", clock, expected=9)
    run.take(begins())
    for number in range(7):
        run.take(started("create", JOB, f"cloud-{number}"))
    clock.now = 60
    lines = run.lines()
    assert lines[0] == "Updating dev: 0 of 9 resources, 1 min 00 s; waiting for 7"
    assert len(lines) == 6


def test_a_destroy_expects_what_its_preview_has_found() -> None:
    clock = Clock()
    run = progress("destroy", clock)
    run.take(begins())
    for number in range(3):
        run.take(started("delete", JOB, f"cloud-{number}", planned=True))
        run.take(finished("delete", JOB, f"cloud-{number}", planned=True))
    clock.now = 4
    run.take(ends(is_preview=True))
    run.take(begins())
    run.take(started("delete", JOB, "cloud-1"))
    run.take(finished("delete", JOB, "cloud-1"))
    clock.now = 5
    assert run.lines() == ["Destroying dev: 1 of 3 resources, 1.0 s"]
    run.take(ends())
    assert run.times == {"preview": 4, "destroy": 1}


def test_an_interrupt_tells_what_it_waits_for() -> None:
    run = progress("up", Clock(), expected=9)
    run.take(begins())
    run.take(started("create", JOB, "cloud-1"))
    run.interrupt()
    assert run.lines() == ["Interrupted; ending 1 operations in progress, 0.0 s"]
