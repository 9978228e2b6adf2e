"""The verdict on real services, and what is written when they cannot run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proof.services import run as services
from proof.services.lab import Pod, Unavailable
from proof.services.report import Proof, document

GOOD = Proof("Galera: kill -9 of one member", 40, 38, 0, 12.5)


@pytest.mark.parametrize(
    ("proof", "holds"),
    [
        (GOOD, True),
        (Proof("lost", 40, 38, 1, 12.5), False),
        (Proof("nothing acknowledged", 40, 0, 0, 12.5), False),
        (Proof("wrong", 40, 38, 0, 12.5, failure="the members have different transfers"), False),
    ],
)
def test_a_proof_holds_if_writes_were_acknowledged_and_none_is_lost(proof: Proof, holds: bool) -> None:
    assert proof.holds == holds
    assert document([GOOD, proof])["verdict"] == ("pass" if holds else "fail")


def test_a_machine_without_a_lab_is_no_pass(tmp_path: Path) -> None:
    def no_root() -> Path:
        raise Unavailable("needs root")

    assert not services.run(no_root, {"mysqld": Pod({}, {})}, tmp_path, heavy=False, say=print)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report == {"verdict": "skipped", "proofs": [], "skipped": ["mysqld: needs root"]}
