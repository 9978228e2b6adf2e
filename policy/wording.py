"""Helpers that join names and form plurals in messages."""

from __future__ import annotations

from collections.abc import Collection

from text.quoting import first_of


def join_names(names: Collection[str], most: int = 5) -> str:
    """Joins names in sorted order. If there are more than `most`, counts the others: "a, b, c and 97 more"."""
    return first_of(sorted(names), most)


def pluralize(number: int, thing: str) -> str:
    """Returns a number with a noun in singular or plural: "1 node", "3 nodes"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
