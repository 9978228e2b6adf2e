"""CONTRIBUTING.md names files that exist, as many as each kind of change touches."""

from __future__ import annotations

import re

from tests.stacks import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FILES = {
    "service": 4,
    "rule": 5,
    "hypervisor": 4,
    "architecture": 5,
    "target": 4,
    "operation": 1,
}
"""Number of steps, each with one file at least, by what is added."""


def sections() -> dict[str, str]:
    parts = re.split(r"^## Add an? (\w+)\n", TEXT, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_each_change_touches_as_many_files_as_it_says() -> None:
    found = {name: len(re.findall(r"^\d+\. `", text, re.MULTILINE)) for name, text in sections().items()}
    assert found == FILES, "a change that touches more files than before needs a reason, and a change of this number"


def test_every_file_that_is_named_exists() -> None:
    named = set(re.findall(r"`([\w.-]+/[\w./-]+\.\w+|__main__\.py)`", TEXT))
    assert len(named) > 20
    assert not sorted(name for name in named if not (ROOT / name).is_file())
