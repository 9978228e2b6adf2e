"""What the README tells people to type is there, and what it points to exists."""

from __future__ import annotations

import re

import pytest

from tests.stacks import ROOT, STACKS

README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_every_make_command_is_a_target() -> None:
    named = set(re.findall(r"`?make ([a-z0-9]+)", README))
    assert {"up", "test", "preview", "audit", "destroy", "plan"} <= named
    assert named <= set(re.findall(r"^([a-z0-9]+):", MAKEFILE, re.MULTILINE))


def test_every_stack_that_it_names_is_shipped() -> None:
    listed = re.search(r"`STACK=` names .*?: ([^.]*)\.", README, re.DOTALL)
    assert listed
    assert set(re.findall(r"`(\w+)`", listed[1])) == set(STACKS)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_into_the_tree_leads_somewhere(path: object) -> None:
    document = ROOT / str(path)
    text = document.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    missing = [link for link in links if not (document.parent / link).exists()]
    assert missing == []
