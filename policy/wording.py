"""Text helpers for rule messages."""

from __future__ import annotations

from collections.abc import Collection


def join_names(names: Collection[str], most: int = 5) -> str:
    """Sorted names, at most `most` of them: "a, b, c and 97 more"."""
    ordered = sorted(names)
    if len(ordered) <= most:
        return ", ".join(ordered)
    return f"{', '.join(ordered[:most])} and {len(ordered) - most} more"


def pluralize(number: int, thing: str) -> str:
    """A number of things: "1 node", "3 nodes"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
