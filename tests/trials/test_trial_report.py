"""The verdict on real services, and what is written when they cannot run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from trials.services import run as services
from trials.services.galera import GaleraCluster, contradictions
from trials.services.testbed import Broken, Unavailable
from trials.trial_report import Proof, document, in_turn

GOOD = Proof("Galera: kill -9 of one member", 40, 38, 0, 12.5)


@pytest.mark.parametrize(
    ("proof", "holds"),
    [
        (GOOD, True),
        (Proof("lost", 40, 38, 1, 12.5), False),
        (Proof("nothing acknowledged", 40, 0, 0, 12.5), False),
        (Proof("wrong", 40, 38, 0, 12.5, failure="the members have different transfers"), False),
        (Proof("no clients", 0, 0, 0, 12.5, has_writes=False), True),
    ],
)
def test_a_proof_holds_if_writes_were_acknowledged_and_none_is_lost(proof: Proof, holds: bool) -> None:
    assert proof.holds == holds
    assert document([GOOD, proof])["verdict"] == ("pass" if holds else "fail")


def test_a_machine_without_a_lab_is_no_pass(tmp_path: Path) -> None:
    def impossible() -> list[Proof]:
        raise Unavailable("needs root")

    assert not services.run({"Galera": impossible}, tmp_path, say=print)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report == {"verdict": "skipped", "proofs": [], "skipped": ["Galera: needs root"]}
    assert "- Galera: needs root" in (tmp_path / "report.md").read_text()


def test_a_command_that_hangs_fails_the_proof(tmp_path: Path) -> None:
    def hanging() -> list[Proof]:
        raise subprocess.TimeoutExpired("keystone-manage", 300)

    assert not services.run({"OpenStack": hanging}, tmp_path, say=print)
    assert "timed out after 300 seconds" in (tmp_path / "report.md").read_text()


def test_what_breaks_is_reported_beside_what_held_before(tmp_path: Path) -> None:
    def one_then_broken() -> Iterator[Proof]:
        yield GOOD
        raise Broken("the second member ended")

    assert not services.run({"Galera": one_then_broken, "RabbitMQ": lambda: [GOOD]}, tmp_path, say=print)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["verdict"] == "fail"
    assert [each["failure"] for each in report["proofs"]] == ["", "the second member ended", ""]
    assert "| 40 | 38 | 0 | 12 | yes |" in (tmp_path / "report.md").read_text()


class Members:
    """A fake Galera cluster whose members have given transfers and a given sum of money."""

    database = "bank"

    def __init__(self, held: dict[str, set[int]], total: int = 0) -> None:
        self.members = dict.fromkeys(held)
        self._held, self._total = held, total

    def sql(self, name: str, statement: str) -> str:
        rows = sorted(self._held[name]) if "number" in statement else [self._total]
        return "\n".join(str(row) for row in rows)


SAID = {0: "ok", 1: "no", 2: "unknown", 3: "ok"}


@pytest.mark.parametrize(
    ("held", "total", "lost", "wrong"),
    [
        ({"a": {0, 3}, "b": {0, 3}}, 0, 0, ""),
        ({"a": {0, 2, 3}, "b": {0, 2, 3}}, 0, 0, ""),  # what broke off may be there, or not
        ({"a": {0}, "b": {0}}, 0, 1, ""),
        ({"a": {0, 3}, "b": {0}}, 0, 1, "the members have different transfers"),
        ({"a": {0, 1, 3}, "b": {0, 1, 3}}, 0, 0, "a has 1 transfers that were rejected"),
        ({"a": {0, 3}, "b": {0, 3}}, 5, 0, "the accounts do not add up to 0: 5"),
    ],
)
def test_the_checker_finds_lost_rejected_and_different_transfers(
    held: dict[str, set[int]], total: int, lost: int, wrong: str
) -> None:
    found, texts = contradictions(cast("GaleraCluster", Members(held, total)), SAID)
    assert found == lost
    assert ("; ".join(texts).startswith(wrong)) if wrong else not texts


def test_failures_are_tried_in_turn_until_one_is_not_survived() -> None:
    def first() -> None:
        """One is killed."""

    def second() -> None:
        """All are killed."""

    tried: list[str] = []

    def trial(name: str, failure: Callable[[], None]) -> Proof:
        tried.append(name)
        return Proof(name, 9, 9, lost=1 if failure is second else 0, seconds=1, notes=(f"after {name}",))

    found = in_turn("Ceph", (first, second, first), trial, ["began"])
    assert tried == ["Ceph: One is killed", "Ceph: All are killed"]
    assert [each.notes for each in found] == [("began", f"after {tried[0]}"), (f"after {tried[1]}",)]
