"""Numbers with nouns."""

from __future__ import annotations


def pluralize(number: int, thing: str) -> str:
    """Returns a number with a noun in singular or plural: "1 node", "3 nodes"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
