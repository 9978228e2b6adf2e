"""The official language host's proxy in front of the policy pack changes no verdict.

The built engine has the same proxy (docs/adr/0029-language-host.md). Without it, the engine talks to the pack itself.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from policy.engine import record
from tests.engine.clones import Clone
from tests.stacks import STACKS

WAYS = ("the official host's", "none")
"""Values of QUORATE_POLICY_PROXY: with the proxy, and without it."""


def judged(clone: Clone, verb: str) -> record.Record:
    """Returns the verdicts of a command that audits."""
    report = clone.build / "audit"
    shutil.rmtree(report, ignore_errors=True)
    done = clone.run(verb)
    found = record.read(report / record.FILE)
    assert found, done.output
    return found


def verdicts(found: record.Record) -> list[tuple[str, str, list[str]]]:
    """Returns every verdict by rule, in an order that does not depend on the order of the resources."""
    return [(each.rule, each.enforcement, sorted(map(str, each.verdicts))) for each in found.rules]


@pytest.mark.parametrize(
    ("stack", "profile", "verb"),
    [
        ("dev", "lab", "audit"),
        ("prod", "production", "audit"),
        ("one-server", "lab", "audit"),
        ("one-server", "lab", "up"),
    ],
)
@pytest.mark.usefixtures("engine")
def test_verdicts_are_the_same(
    stack: str, profile: str, verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[record.Record] = []
    for way in WAYS:
        monkeypatch.setenv("QUORATE_POLICY_PROXY", way)
        found.append(judged(Clone.make(tmp_path / way, stack, STACKS[stack]), verb))
    proxied, direct = found
    assert proxied.profile == profile
    assert verdicts(proxied) == verdicts(direct)
    assert replace(proxied, rules=()) == replace(direct, rules=())
