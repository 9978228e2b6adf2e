"""`make review`: what continuous integration does with a pull request, on any machine.

For each stack: both sides previewed once with the policy pack, their difference in words, and an audit of each by the
same rules, so that what the pull request breaks stands apart from what was broken before. Every stack is reviewed, even
where an earlier one could not be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from changes.summary import to_markdown
from commands import difference
from commands.base import Base
from commands.difference import Sides
from commands.events import Account
from toolchain.engine import Engine
from toolchain.progress import UserError

MARK = "<!-- quorate review of {stack} -->"
"""First line of a stack's part, by which a comment is found again."""
CHANGES, RULES = 40_000, 15_000
"""Characters: together they fit a comment of 65,536."""

Report = Callable[[str, Account, Path], int]
"""Writes the audit of a run into a directory; its exit code is the verdict."""


@dataclass(frozen=True)
class Reviewed:
    """A stack's review."""

    stack: str
    text: str
    code: int


def review(root: Path, engine: Engine, base: Base, names: Sequence[str], report: Report) -> int:
    """Reviews stacks and writes build/review.md; the gravest exit code of all."""
    done: list[Reviewed] = []
    for name in names:
        print(f"\n— {name} —", flush=True)
        reviewed = _review(root, engine, base, name, report)
        _write(root / "build" / name / "review.md", reviewed.text)
        done.append(reviewed)
    _write(root / "build" / "review.md", "\n".join(each.text for each in done))
    print("\nThe whole review: build/review.md")
    return max((each.code for each in done), default=0)


def _review(root: Path, engine: Engine, base: Base, name: str, report: Report) -> Reviewed:
    mark = MARK.format(stack=name)
    try:
        sides = difference.compare(root, engine, base, name, str(root / "policy"))
    except UserError as trouble:
        print(trouble, flush=True)
        return Reviewed(name, f"{mark}\n## `{name}` was not reviewed\n\n```text\n{trouble}\n```\n", 1)
    place = Path("build") / name
    difference.write(sides, root / place / "diff")
    difference.tell(sides, place / "diff")
    audit = place / "audit"
    code = max(sides.code, _audited(sides, name, report, audit))
    text = "\n".join([mark, to_markdown(sides.comparison, CHANGES), *_rules(root / audit), ""])
    return Reviewed(name, text, code)


def _audited(sides: Sides, name: str, report: Report, directory: Path) -> int:
    """Both audits; the code is the head's. The base's says what was broken before."""
    if sides.before.account:
        print("\nThe base, by the same rules:", flush=True)
        report(name, sides.before.account, directory / "base")
    assert sides.after.account is not None  # noqa: S101 - else nothing was compared
    print("\nThe working tree:", flush=True)
    return report(name, sides.after.account, directory)


def _rules(directory: Path) -> Iterator[str]:
    """The audit beside the base's."""
    now, before = _broken(directory), _broken(directory / "base")
    verdict = _findings(directory).get("summary", {}).get("verdict", "not there")
    yield f"### Rules: audit {'passed' if verdict == 'pass' else 'failed' if verdict == 'fail' else verdict}"
    room = RULES
    for title, keys in (
        ("Newly broken", now.keys() - before.keys()),
        ("No longer broken", before.keys() - now.keys()),
        ("Broken before, and still", now.keys() & before.keys()),
    ):
        if keys:
            yield f"\n{title}:\n"
        for number, key in enumerate(sorted(keys)):
            line = f"- `{key[0]}`: {_plain((now.get(key) or before[key])['message'])}"
            room -= len(line)
            if room < 0:
                yield f"- … {len(keys) - number} more in findings.json"
                break
            yield line
    if not now and not before:
        yield "\nNo rule is broken."


Broken = dict[tuple[str, str], dict[str, Any]]


def _broken(directory: Path) -> Broken:
    """Findings that violate a rule, by rule and resource."""
    found = cast("list[dict[str, Any]]", _findings(directory).get("findings", []))
    return {(each["rule"], each["resource"]): each for each in found if each["verdict"] in ("fail", "notEvaluated")}


def _findings(directory: Path) -> dict[str, Any]:
    file = directory / "findings.json"
    return cast("dict[str, Any]", json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def _plain(text: str) -> str:
    return " ".join(text.replace("<", "&lt;").replace(">", "&gt;").split())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
