"""A record is read as it was written, and a wrong one is refused. tests/audit has records of whole stacks."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from formats.waiver import Waiver
from policy.engine.record import VERSION, Record, RuleRecord, RuleVerdict, read, write
from policy.facts.known_types import Coverage
from policy.facts.placement.placement_map import NodePlace, Placed, PlacementMap
from policy.facts.placement.worst_case import Spread
from policy.findings import Enforcement, Verdict

WAIVER = Waiver(rule="odd-quorum", resource="etcd", reason="a test", owner="ops", expires=date(2027, 1, 31))
PLACEMENT = PlacementMap(
    tuple(NodePlace(f"n{number}", f"s{number}", "r1", "controller") for number in range(6)),
    (
        Placed(
            resource="urn:etcd",
            name="etcd",
            service="etcd",
            row="",
            quorum="etcd",
            count=3,
            everywhere=False,
            apart=("rack", "host"),
            group="etcd, arbiter",
            between=("host",),
            spreads=(Spread("rack", 1, 3, rises=True, counts=("urn:etcd",), pods=3),),
            nodes=(0, 1, 2, 4),
        ),
    ),
    ("node n9: labels are not known",),
    {"zone": ("a", "b", "", "a", "b", "")},
)
RECORD = Record(
    (
        RuleRecord(
            "odd-quorum",
            Enforcement.MANDATORY,
            (
                RuleVerdict(Verdict.PASS, "urn:a", "3 members"),
                RuleVerdict(Verdict.WAIVED, "urn:b", "2 members", WAIVER),
            ),
        ),
    ),
    PLACEMENT,
    "production",
    "100",
    "2026-11-21",
    {"kubernetes:core/v1:Pod": Coverage(2, 1)},
)


def changed(path: Path, **values: Any) -> Path:
    """Writes the record to a file with other values."""
    write(RECORD, path)
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")
    return path


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.json"
    write(RECORD, path)
    assert read(path) == RECORD
    assert path.stat().st_mode & 0o777 == 0o600
    assert RECORD.by_rule == {"odd-quorum": RECORD.rules[0]}


def test_nodes_are_written_as_ranges() -> None:
    (placed,) = PLACEMENT.to_json()["placed"]
    assert placed["nodes"] == [[0, 2], [4, 4]]


def test_a_missing_record_is_none(tmp_path: Path) -> None:
    assert read(tmp_path / "verdicts.json") is None


def test_a_record_of_another_version_is_refused(tmp_path: Path) -> None:
    path = changed(tmp_path / "verdicts.json", version=VERSION - 1)
    with pytest.raises(ValueError, match=f"verdicts of version {VERSION - 1}; this program reads version {VERSION}"):
        read(path)


@pytest.mark.parametrize(
    ("verdict", "message"),
    [
        (["waived", "urn:a", "2 members"], "urn:a: verdict 'waived' without a waiver"),
        (["fail", "urn:a", "2 members", WAIVER.to_json()], "urn:a: verdict 'fail' with a waiver"),
    ],
)
def test_a_waiver_belongs_to_a_waived_failure(tmp_path: Path, verdict: list[object], message: str) -> None:
    rules = [{"rule": "odd-quorum", "enforcement": "mandatory", "verdicts": [verdict]}]
    path = changed(tmp_path / "verdicts.json", rules=rules)
    with pytest.raises(ValueError, match=message):
        read(path)
