"""A waiver: its form in a stack file, in words, and in the files that carry it."""

from __future__ import annotations

import json
from datetime import date

import pytest
from pydantic import ValidationError

from formats.waiver import Waiver

WRITTEN = {
    "rule": "galera-size",
    "resource": "cloud-*",
    "reason": "a move",
    "owner": "Ada",
    "expires": "2027-01-31",
    "approvedBy": "Grace",
}


def test_it_comes_back_as_it_was_written() -> None:
    waiver = Waiver.from_json(WRITTEN)
    assert waiver.to_json() == WRITTEN
    assert waiver == Waiver.model_validate_json(json.dumps(WRITTEN))
    assert waiver.expires == date(2027, 1, 31)
    alone = {**WRITTEN, "approvedBy": ""}
    assert Waiver.from_json(alone).approved_by is None
    assert Waiver.from_json(alone).to_json() == alone


def test_its_words_name_who_approved_it_if_anybody_did() -> None:
    assert str(Waiver.from_json(WRITTEN)) == "waived until 2027-01-31 by Ada, approved by Grace (a move)"
    assert str(Waiver.from_json({**WRITTEN, "approvedBy": ""})) == "waived until 2027-01-31 by Ada (a move)"


@pytest.mark.parametrize(
    "change",
    [
        {"rule": "*"},
        {"owner": " "},
        {"reason": ""},
        {"expires": "soon"},
        {"until": "now"},
    ],
)
def test_another_form_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        Waiver.from_json({**WRITTEN, **change})


def test_it_counts_as_a_key_and_does_not_change() -> None:
    waiver = Waiver.from_json(WRITTEN)
    assert hash(waiver) == hash(Waiver.from_json(WRITTEN))
    with pytest.raises(ValidationError):
        waiver.owner = "Bob"  # pyright: ignore[reportAttributeAccessIssue]
