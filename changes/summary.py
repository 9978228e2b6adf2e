"""Writes the comparison of two previews as JSON, as Markdown for a pull request, and as text for the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from changes.change import Change, Risk, worst
from text import quoting
from text.plural import pluralize

VERSION = 1
"""Version of changes.json, raised with every incompatible change of its format."""

MOST = 60_000
"""Maximum number of characters in changes.md. GitHub limits comments to 65,536."""


@dataclass(frozen=True)
class Comparison:
    """The changes of a stack between a base commit and the working tree."""

    stack: str
    base: str
    """The git reference that the user named, such as main."""
    commit: str
    head: str
    """The commit of the working tree, and whether the tree has uncommitted changes."""
    changes: tuple[Change, ...]
    is_new: bool = False
    """Whether the base commit does not contain the stack; then no changes are listed."""
    notes: tuple[str, ...] = ()

    @property
    def level(self) -> Risk:
        """The most severe level among the changes."""
        return worst(self.changes)

    @property
    def verdict(self) -> str:
        """The result of the comparison in a sentence."""
        if self.is_new:
            return f"{self.stack} is a new stack: {self.base} has no file of it."
        if not self.changes:
            return f"{self.stack}: nothing changes."
        said = [f"{sum(each.level is level for each in self.changes)} {level}" for level in reversed(Risk)]
        counts = ", ".join(text for text in said if not text.startswith("0 "))
        return f"{self.stack}: {pluralize(len(self.changes), 'change')} ({counts})."


def to_json(done: Comparison) -> str:
    """Returns the comparison in the format of changes.json (schemas/changes.schema.json)."""
    document: dict[str, Any] = {
        "version": VERSION,
        "stack": done.stack,
        "base": {"ref": done.base, "commit": done.commit},
        "head": done.head,
        "new": done.is_new,
        "level": done.level,
        "notes": list(done.notes),
        "changes": [each.to_json() for each in done.changes],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def to_text(done: Comparison) -> str:
    """Returns the changes as text for the terminal, in the order in which they must be made."""
    lines = [done.verdict, *(f"note: {note}" for note in done.notes)]
    for title, those in _phases(done.changes):
        lines += ["", title]
        for change in those:
            lines.append(f"  {_MARKS[change.level]}{change.says}")
            lines += [f"      {text}" for text in _told(change)]
    return quoting.printable("\n".join(lines) + "\n")


def to_markdown(done: Comparison, most: int = MOST) -> str:
    """Returns the changes as Markdown for a comment: one line for each change, with collapsed details.

    The comment has at most `most` characters. Changes that do not fit are counted.
    """
    names = f"{quoting.code(done.stack)} against {quoting.code(done.base)}"
    head = [f"## Changes of {names}", "", _escaped(done.verdict)]
    head += ["", *(f"- {_escaped(note)}" for note in done.notes)] if done.notes else []
    text, left = "\n".join(head), len(done.changes)
    for title, those in _phases(done.changes):
        heading = f"\n\n### {title}"
        for change in those:
            section = f"{heading}\n\n{_section(change)}"
            if len(text) + len(section) > most - 100:
                return f"{text}\n\n{pluralize(left, 'more change')} in changes.json.\n"
            text, heading, left = text + section, "", left - 1
    return text + "\n"


_MARKS = {Risk.PLAIN: "", Risk.RISKY: "[risky] ", Risk.FORBIDDEN: "[forbidden] "}


def _phases(changes: Sequence[Change]) -> Iterator[tuple[str, list[Change]]]:
    for phase, those in groupby(changes, key=lambda each: each.phase):
        yield f"{phase.value}. {phase.title}", list(those)


def _told(change: Change) -> Iterator[str]:
    if change.row:
        yield f"from: {change.row}"
    yield from (f"before: {check}" for check in change.checks)
    yield from (f"{number}. {step}" for number, step in enumerate(change.steps, start=1))
    if change.risk:
        yield f"risk: {change.risk}"


def _section(change: Change) -> str:
    summary = f"{'' if change.level is Risk.PLAIN else f'<b>{change.level}</b>: '}{_escaped(change.says)}"
    told = [f"- {_escaped(text)}" for text in _told(change)]
    if not told:
        return f"- {summary}"
    return "\n".join([f"<details><summary>{summary}</summary>", "", *told, "", "</details>"])


def _escaped(text: str) -> str:
    """Escapes text for Markdown and cuts it at 2000 characters, which is enough for a change with many names."""
    return quoting.in_markdown(text, 2000)
