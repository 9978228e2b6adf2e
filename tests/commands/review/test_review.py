"""The review of several stacks, with fake previews: the files that it writes, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from changes.change import Change, ChangeKind, Phase, Risk
from changes.summary import Comparison
from commands.engine.event_pipe import RunSummary
from commands.engine.operation import PACK
from commands.review import difference, review
from commands.review.base import Base
from commands.review.difference import Previewed, Sides
from console.errors import UserError
from toolchain.engine import Engine

BASE = Base("main", "0123456789ab")
ENGINE = cast("Engine", None)
"""The engine, which the fake previews do not start."""
ROLLS = Change(ChangeKind.MEMBERS_ROLLED, Phase.ROLL, "rolls quorum rabbitmq", ("urn",), level=Risk.RISKY)
GONE = Change(ChangeKind.MEMBERS_LEAVE, Phase.REMOVE, "removes the whole quorum", ("urn",), level=Risk.FORBIDDEN)


def sides(stack: str, change: Change) -> Sides:
    before, after = Previewed(RunSummary(lines=["base"])), Previewed(RunSummary(lines=["head"]))
    return Sides(before, after, Comparison(stack, "main", BASE.commit, "head", (change,)), "--- a\n+++ b\n")


def finding(rule: str, verdict: str, message: str) -> dict[str, Any]:
    return {"rule": rule, "resource": "urn", "verdict": verdict, "message": message}


FINDINGS = {
    "base": [finding("old-rule", "fail", "was wrong"), finding("both-rule", "fail", "still wrong")],
    "head": [finding("new-rule", "notEvaluated", "<b>broke</b>"), finding("both-rule", "fail", "still wrong")],
}


def report(_name: str, summary: RunSummary, directory: Path) -> int:
    """A fake audit, which fails for the working tree and passes for the base."""
    (side,) = summary.lines
    directory.mkdir(parents=True, exist_ok=True)
    document = {"summary": {"verdict": "fail"}, "findings": FINDINGS[side]}
    (directory / "findings.json").write_text(json.dumps(document), encoding="utf-8")
    return 1 if side == "head" else 0


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone in which only the stacks `good` and `grave` can be previewed."""
    known = {"good": ROLLS, "grave": GONE}

    def compare(_root: Path, _engine: Engine, _base: Base, name: str, pack: str | None = None) -> Sides:
        assert pack == str(tmp_path / PACK)
        if name not in known:
            raise UserError(f"The base (main) of {name} cannot be previewed:\n  it is broken")
        return sides(name, known[name])

    monkeypatch.setattr(difference, "compare", compare)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_stack_is_reviewed_though_one_cannot_be(root: Path) -> None:
    assert review.review_stacks(root, ENGINE, BASE, ["broken", "good"], report) == 1
    text = (root / "build" / "review.md").read_text(encoding="utf-8")
    assert text.splitlines()[0] == "<!-- quorate review of broken -->"
    assert "## `broken` was not reviewed" in text
    assert "it is broken" in text
    assert "<b>risky</b>: rolls quorum rabbitmq" in text
    own = (root / "build" / "good" / "review.md").read_text(encoding="utf-8")
    assert own.startswith("<!-- quorate review of good -->\n")
    assert own in text


def test_what_the_change_breaks_stands_apart_from_what_was_broken(root: Path) -> None:
    review.review_stacks(root, ENGINE, BASE, ["good"], report)
    text = (root / "build" / "good" / "review.md").read_text(encoding="utf-8")
    rules = text[text.index("### Rules: audit failed") :]
    assert rules.splitlines()[1:] == [
        "",
        "Newly broken:",
        "",
        "- `new-rule`: &lt;b&gt;broke&lt;/b&gt;",
        "",
        "No longer broken:",
        "",
        "- `old-rule`: was wrong",
        "",
        "Broken before, and still:",
        "",
        "- `both-rule`: still wrong",
    ]


HOSTILE = "```\n@everyone ![x](https://evil.example/x.png) <!-- quorate review of good --> \x1b[2J"


def test_an_error_with_backticks_stays_in_its_block(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def compare(*_: object) -> Sides:
        raise UserError(HOSTILE * 3000)

    monkeypatch.setattr(difference, "compare", compare)
    review.review_stacks(root, ENGINE, BASE, ["good"], report)
    text = (root / "build" / "good" / "review.md").read_text(encoding="utf-8")
    assert len(text) < 65_536
    assert "more characters)" in text
    block = text[text.index("````text") :].strip()
    assert block.endswith("\n````")
    assert "````" not in block[4:-4]
    assert "\x1b" not in text
    assert "\x1b" not in capsys.readouterr().out


def test_a_finding_has_no_effect_on_the_comment(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FINDINGS, "head", [finding("new-rule", "fail", HOSTILE)])
    review.review_stacks(root, ENGINE, BASE, ["good"], report)
    text = (root / "build" / "good" / "review.md").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("- `new-rule`")]
    for effect in ("```", "@everyone", "![", "https://", "<!--", "\x1b"):
        assert effect not in line


def test_a_forbidden_change_is_the_gravest_end(root: Path) -> None:
    assert review.review_stacks(root, ENGINE, BASE, ["grave", "broken", "good"], report) == 3
    assert (root / "build" / "grave" / "diff" / "tree.diff").read_text(encoding="utf-8") == "--- a\n+++ b\n"


def test_a_stack_s_part_fits_a_comment(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [Change(ChangeKind.OTHER, Phase.ROLL, f"changes {'x' * 300} {number}", ("urn",)) for number in range(500)]
    monkeypatch.setitem(FINDINGS, "head", [finding(f"rule-{number}", "fail", "y" * 300) for number in range(500)])
    full = Sides(
        Previewed(None), Previewed(RunSummary(lines=["head"])), Comparison("good", "main", "0", "h", tuple(many)), ""
    )

    def compare(*_: object) -> Sides:
        return full

    monkeypatch.setattr(difference, "compare", compare)
    review.review_stacks(root, ENGINE, BASE, ["good"], report)
    text = (root / "build" / "good" / "review.md").read_text(encoding="utf-8")
    assert len(text) < 65_536
    assert "more changes in changes.json" in text
    assert "more in findings.json" in text


def test_servers_whose_loss_is_not_survived_are_named(tmp_path: Path) -> None:
    """New ones are marked; a report without losses, as of an audit that failed, has no such section."""
    lost = {"name": "mysqld", "quorum": "mysqld", "lost": 2, "left": 1, "needs": 2, "stands": False, "elsewhere": False}
    now = {"losses": [{"servers": ["s1", "s2"], "lost": [lost]}, {"servers": ["s3"], "lost": []}]}
    before = {"losses": [{"servers": ["s1"], "lost": [lost]}]}
    (tmp_path / "base").mkdir()
    (tmp_path / "findings.json").write_text(json.dumps(now), encoding="utf-8")
    (tmp_path / "base" / "findings.json").write_text(json.dumps(before), encoding="utf-8")
    told = "\n".join(review._losses(tmp_path))  # pyright: ignore[reportPrivateUsage]
    assert "- s1: mysqld keeps 1, needs 2" in told
    assert "- s2 (new): mysqld keeps 1, needs 2" in told
    assert "s3" not in told
    (tmp_path / "findings.json").write_text(json.dumps({"losses": [{"servers": ["s3"], "lost": []}]}), encoding="utf-8")
    assert "any one of 1 servers fails" in "\n".join(review._losses(tmp_path))  # pyright: ignore[reportPrivateUsage]
    (tmp_path / "findings.json").write_text("{}", encoding="utf-8")
    assert list(review._losses(tmp_path)) == []  # pyright: ignore[reportPrivateUsage]
