"""Checks the limits of waivers. `quorate check` and the policy pack enforce the same limits with the same messages.

This module does not import pydantic, because the policy pack loads it only if a stack has waivers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from formats.waiver import Waiver

LONGEST_TERM = 180
"""Maximum number of days from today to the last day of a waiver."""
LEAST_LITERAL = 3
"""Minimum number of consecutive letters or digits in a waiver's pattern of resource names."""


def today() -> date:
    """Returns the current date in UTC, with which the last day of a waiver is compared."""
    return datetime.now(UTC).date()


@dataclass(frozen=True)
class Refusal:
    """A limit that a waiver exceeds, in words of a message."""

    key: str
    """The key of the waiver whose value exceeds the limit: resource, expires or approvedBy."""
    actual: str
    expected: str


def refusals(waiver: Waiver, on: date) -> Iterator[Refusal]:
    """Yields the limits that a waiver exceeds on the day `on`."""
    literal = re.sub(r"\[[^\]]*\]|[*?]", " ", waiver.resource)
    if literal != waiver.resource and not re.search(rf"[A-Za-z0-9]{{{LEAST_LITERAL}}}", literal):
        yield Refusal(
            "resource",
            f"the pattern '{waiver.resource}' matches resources of any kind",
            f"a resource's name, or a pattern with at least {LEAST_LITERAL} letters or digits in a row",
        )
    latest = on + timedelta(days=LONGEST_TERM)
    if waiver.expires > latest:
        actual = f"{waiver.expires} is {(waiver.expires - on).days} days from today"
        yield Refusal("expires", actual, f"{latest} or earlier ({LONGEST_TERM} days)")
    if waiver.approved_by and is_same_person(waiver.owner, waiver.approved_by):
        yield Refusal("approvedBy", f"'{waiver.approved_by}' is the owner as well", "a second person")


def is_same_person(one: str, other: str) -> bool:
    """Whether two names are equal except for case and spaces."""
    return one.casefold().split() == other.casefold().split()
