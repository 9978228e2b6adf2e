"""`quorate review`: what CI runs on a pull request.

Previews each stack at the base (a commit) and in the working tree with the policy pack, and reports the changes. Audits
both previews by the same rules, so that new violations are listed separately from existing ones. An error in one stack
does not end the review of the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from changes.summary import to_markdown
from commands import build_directory, stack
from commands.engine.event_pipe import RunSummary
from commands.engine.operation import PACK, interrupted_by_termination
from commands.review import audit_report, difference
from commands.review import base as bases
from commands.review.base import Base
from commands.review.difference import Sides
from console.errors import UserError
from files import atomic
from text.quoting import COMMENT, bounded, fenced, in_markdown, printable
from toolchain.engine import Engine, installed

MARK = "<!-- quorate review of {stack} -->"
"""First line of a stack's section in review.md. By this line, the CI workflow finds its comment to update it."""
CHANGES, RULES, LOSSES = 40_000, 15_000, 4_000
"""Maximum length in characters of the sections on changes, rules and lost servers. All fit into a GitHub comment."""

Report = Callable[[str, RunSummary, Path], int]
"""Function that writes the audit of a stack's run into a directory and returns the audit's exit code."""


@dataclass(frozen=True)
class Reviewed:
    """The review of one stack: its Markdown and its exit code."""

    stack: str
    text: str
    code: int


def review(root: Path, name: str, ref: str) -> int:
    """Reviews the stack `name`, or every stack if `name` is `all`, against the commit of `ref`.

    Returns the exit code.
    """
    base = bases.find(root, ref)
    names = stack.names(root) if name == "all" else [name]
    for each in names:
        stack.find(root, each)

    def report(each: str, summary: RunSummary, directory: Path) -> int:
        return audit_report.write(root, stack.load(root, each), summary, directory)

    with interrupted_by_termination():
        return review_stacks(root, installed(root), base, names, report)


def review_stacks(root: Path, engine: Engine, base: Base, names: Sequence[str], report: Report) -> int:
    """Reviews stacks and writes build/review.md. Returns the highest exit code."""
    done: list[Reviewed] = []
    for name in names:
        print(f"\n— {name} —", flush=True)
        reviewed = _review(root, engine, base, name, report)
        atomic.write(build_directory.of_stack(root, name) / "review.md", reviewed.text)
        done.append(reviewed)
    atomic.write(root / "build" / "review.md", "\n".join(each.text for each in done))
    print("\nThe whole review: build/review.md")
    return max((each.code for each in done), default=0)


def _review(root: Path, engine: Engine, base: Base, name: str, report: Report) -> Reviewed:
    mark = MARK.format(stack=name)
    build_directory.of_stack(root, name)
    try:
        sides = difference.compare(root, engine, base, name, str(root / PACK))
    except UserError as trouble:
        print(printable(str(trouble)), flush=True)
        return Reviewed(name, f"{mark}\n## `{name}` was not reviewed\n\n{fenced(str(trouble), CHANGES)}\n", 1)
    place = Path("build") / name
    difference.write(sides, root / place / "diff")
    difference.show(sides, place / "diff")
    audit = place / "audit"
    code = max(sides.code, _audited(sides, name, report, audit))
    text = "\n".join([mark, to_markdown(sides.comparison, CHANGES), *_rules(root / audit), *_losses(root / audit), ""])
    return Reviewed(name, bounded(text, COMMENT, "The rest is in changes.json and findings.json."), code)


def _audited(sides: Sides, name: str, report: Report, directory: Path) -> int:
    """Audits the previews of base and working tree. Returns the exit code of the working tree's audit."""
    if sides.before.summary:
        print("\nAudit of the base, by the same rules:", flush=True)
        report(name, sides.before.summary, directory / "base")
    assert sides.after.summary is not None  # noqa: S101 - compare() raises otherwise
    print("\nAudit of the working tree:", flush=True)
    return report(name, sides.after.summary, directory)


def _rules(directory: Path) -> Iterator[str]:
    """Yields Markdown that compares the audit of the working tree with the audit of the base."""
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
            line = f"- `{key[0]}`: {in_markdown((now.get(key) or before[key])['message'])}"
            room -= len(line)
            if room < 0:
                yield f"- … {len(keys) - number} more in findings.json"
                break
            yield line
    if not now and not before:
        yield "\nNo rule is broken."


def _losses(directory: Path) -> Iterator[str]:
    """Yields Markdown about the servers whose failure costs a quorum its majority or a service its last instance."""
    report = _findings(directory)
    if not report.get("losses"):
        return
    now, before = _fatal(report), _fatal(_findings(directory / "base"))
    yield "\n### Loss of each server\n"
    if not now:
        count = sum(len(group["servers"]) for group in report["losses"])
        yield f"Every quorum keeps its majority, and every service an instance, when any one of {count} servers fails."
    room = LOSSES
    for number, (server, lost) in enumerate(now.items()):
        line = f"- {in_markdown(server)}{' (new)' * (lost != before.get(server))}: {in_markdown('; '.join(lost))}"
        room -= len(line)
        if room < 0:
            yield f"- … {len(now) - number} more in findings.json"
            break
        yield line


def _fatal(report: dict[str, Any]) -> dict[str, list[str]]:
    """Returns what does not survive the failure of each server, by the server's name."""
    found: dict[str, list[str]] = {}
    for group in report.get("losses", []):
        lost = [
            f"{each['name']} keeps {each['left']}, needs {each['needs']}"
            for each in group["lost"]
            if not each["stands"]
        ]
        found |= {server: lost for server in group["servers"] if lost}
    return found


Broken = dict[tuple[str, str], dict[str, Any]]


def _broken(directory: Path) -> Broken:
    """Reads findings.json of an audit. Returns the findings that failed or were not evaluated, by rule and resource."""
    found = cast("list[dict[str, Any]]", _findings(directory).get("findings", []))
    return {(each["rule"], each["resource"]): each for each in found if each["verdict"] in ("fail", "notEvaluated")}


def _findings(directory: Path) -> dict[str, Any]:
    file = directory / "findings.json"
    return cast("dict[str, Any]", json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}
