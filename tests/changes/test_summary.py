"""Tests of a difference's views: JSON by its schema, a comment of limited length, and terminal output."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from changes.change import Change, ChangeKind, Phase, Risk
from changes.summary import MOST, Comparison, to_json, to_markdown, to_text
from tests.changes.test_changes import CASES, Case
from tests.changes.worlds import compared

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "changes.schema.json").read_text(encoding="utf-8"))


def comparison(*changes: Change, is_new: bool = False) -> Comparison:
    return Comparison("dev", "main", "0123456789ab", "fedcba987654", changes, is_new, ("a note",))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.about)
def test_every_change_is_valid_by_the_schema(case: Case) -> None:
    document = json.loads(to_json(comparison(*compared(case.before, case.after))))
    jsonschema.validate(document, SCHEMA)


def test_the_schema_knows_every_type_and_no_other() -> None:
    properties = SCHEMA["properties"]["changes"]["items"]["properties"]
    assert properties["kind"]["enum"] == [str(kind) for kind in ChangeKind]
    assert properties["phase"]["enum"] == [phase.name.lower() for phase in Phase]
    assert SCHEMA["$defs"]["level"]["enum"] == [str(level) for level in Risk]


def test_a_comment_fits_and_counts_what_is_left_out() -> None:
    many = [
        Change(ChangeKind.OTHER, Phase.ROLL, f"changes {'x' * 200} {number:04}", ("urn",)) for number in range(1000)
    ]
    text = to_markdown(comparison(*many))
    shown = sum(f" {number:04}" in text for number in range(1000))
    assert len(text) <= MOST
    assert text.endswith(f"{1000 - shown} more changes in changes.json.\n")


def test_markdown_is_not_steered_by_names() -> None:
    text = to_markdown(
        comparison(Change(ChangeKind.OTHER, Phase.ROLL, "changes <script>`x`</details>", ("urn",), ("<b>",)))
    )
    assert "<script>" not in text
    assert text.count("</details>") == 1


def test_the_screen_tells_order_risk_and_row() -> None:
    change = Change(
        ChangeKind.COUNT_CHANGED, Phase.ADD, "more", ("u",), ("one", "two"), ("whole",), "lost", Risk.RISKY, "row"
    )
    assert to_text(comparison(change)).splitlines() == [
        "dev: 1 change (1 risky).",
        "note: a note",
        "",
        "2. Add machines and services",
        "  [risky] more",
        "      from: row",
        "      before: whole",
        "      1. one",
        "      2. two",
        "      risk: lost",
    ]


def test_a_new_stack_is_said_to_be_new() -> None:
    assert comparison(is_new=True).verdict == "dev is a new stack: main has no file of it."
