"""Helpers that join names and form plurals in messages."""

from __future__ import annotations

from collections.abc import Collection


def join_names(names: Collection[str], most: int = 5) -> str:
    """Joins names in sorted order. If there are more than `most`, counts the others: "a, b, c and 97 more"."""
    ordered = sorted(names)
    if len(ordered) <= most:
        return ", ".join(ordered)
    return f"{', '.join(ordered[:most])} and {len(ordered) - most} more"


def pluralize(number: int, thing: str) -> str:
    """Returns a number with a noun in singular or plural: "1 node", "3 nodes"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
