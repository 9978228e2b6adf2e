"""Helper that joins names in messages."""

from __future__ import annotations

from collections.abc import Collection

from text.quoting import first_of


def join_names(names: Collection[str], most: int = 5) -> str:
    """Joins names in sorted order. If there are more than `most`, counts the others: "a, b, c and 97 more"."""
    return first_of(sorted(names), most)
