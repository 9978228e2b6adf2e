"""Reasons why a requirement has no rule: dated, and about parts that docs/not-built.md still lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from policy import requirements
from policy.catalogue import RULES
from policy.requirements import Norm, parts

NOT_BUILT = (Path(__file__).resolve().parents[3] / "docs" / "not-built.md").read_text(encoding="utf-8")
LISTED = re.findall(r"^\| ([^|]+?) \|", NOT_BUILT, re.M)
"""The first cells of the tables of docs/not-built.md: the parts that are not built."""

REASONS = [norm for part in parts() for norm in part.norms if norm.why_not]
SAYS_SO = re.compile(r"\byet\b|\bnot (?:been )?built\b|does not build|\bwill\b|is configured")
"""Words of a reason that something is missing today, which the next release may have."""


def _where(norm: Norm) -> str:
    return f"{norm.section}: {norm.says}: {norm.why_not}"


def test_a_reason_waits_for_a_part_that_is_not_built() -> None:
    assert [_where(each) for each in REASONS if each.waits_for and each.waits_for not in LISTED] == []


def test_a_reason_that_speaks_of_a_missing_part_names_it() -> None:
    assert [_where(each) for each in REASONS if SAYS_SO.search(each.why_not) and not each.waits_for] == []


def test_a_reason_that_names_a_rule_names_one_that_exists() -> None:
    """Ids are the words with hyphens that rules have; other hyphenated words are not ids of three parts."""
    ids = {rule.id for rule in RULES}
    alike = {"-".join(each.split("-")[:2]) for each in ids}
    for norm in REASONS:
        for word in re.findall(r"\b[a-z]+(?:-[a-z]+){2,}\b", norm.why_not):
            assert word in ids or "-".join(word.split("-")[:2]) not in alike, f"{_where(norm)}: no rule {word}"


def test_every_reason_has_the_day_of_its_last_reading() -> None:
    assert all(each.read for each in REASONS)
    assert not any(norm.read for part in parts() for norm in part.norms if norm.rules)


def test_a_reason_without_a_day_is_refused() -> None:
    entry = {"section": "1.1", "sentence": 1, "says": "members should run", "why_not": "Ironic is not built."}
    with pytest.raises(ValueError, match="write read, the day"):
        requirements._norm("x.yaml", entry)  # pyright: ignore[reportPrivateUsage]
