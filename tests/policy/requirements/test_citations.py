"""Citations of source document 004 in programs, data and pages: the section exists, and it has what is cited of it.

tests/policy/requirements/test_source_documents.py checks the sources of rules and requirements, sentence by sentence.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from files import yaml_reader
from tests.policy.requirements.seeds import sentences, text, tokens

FOLDER = os.environ.get("QUORATE_SEEDS", "")
ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = "004"

pytestmark = pytest.mark.skipif(
    not FOLDER, reason="the source documents are not part of the repository; set QUORATE_SEEDS to their folder"
)

_SECTION = r"\d\.\d+(?:\.\d+)?"
_CITATION = re.compile(rf"\b004,? (?:section )?({_SECTION}(?:(?:,| and|, and) {_SECTION})*)")
_QUOTED = re.compile(rf"\b004, ({_SECTION}) \(['‘]([^'’]{{8,}})['’]\)")
_WRITTEN = ("*.py", "*.yaml", "*.md", "*.sh", "*.j2", "*.xml")
HALF = 0.5
"""Minimum share of the words of a row's source that its section must contain."""


@cache
def sections() -> Mapping[str, str]:
    """The sections of the document, each with its words."""
    found: dict[str, list[str]] = {}
    for each in sentences(text(Path(FOLDER), DOCUMENT)):
        found.setdefault(each.section, []).append(each.text)
    return {number: " ".join(tokens(" ".join(texts))) for number, texts in found.items()}


@cache
def _texts() -> Mapping[str, str]:
    listed = subprocess.run(["git", "ls-files", *_WRITTEN], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    here = Path(__file__).relative_to(ROOT).as_posix()
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in listed.splitlines() if name != here}


def _cited() -> Iterator[tuple[str, str]]:
    for name, content in _texts().items():
        for match in _CITATION.finditer(content):
            line = content.count("\n", 0, match.start()) + 1
            yield from ((f"{name}:{line}", number) for number in re.findall(_SECTION, match[1]))


def _of_rows() -> Iterator[tuple[str, str, str]]:
    for file in sorted((ROOT / "blueprint" / "architecture").glob("*.yaml")):
        document: dict[str, Any] = yaml_reader.load(file.read_text(encoding="utf-8"))  # pyright: ignore[reportAssignmentType]
        for row in document["rows"]:
            for source in row["sources"]:
                if source["seed"] == DOCUMENT:
                    yield f"{file.name}, {row['row']}", str(source["section"]), source["says"]


def test_a_cited_section_exists() -> None:
    cited = list(_cited())
    assert len(cited) > 200
    assert [each for each in cited if not any(f"{known}.".startswith(f"{each[1]}.") for known in sections())] == []


def test_words_in_quotation_marks_are_in_their_section() -> None:
    quoted = [(name, *match) for name, content in _texts().items() for match in _QUOTED.findall(content)]
    assert quoted
    assert [each for each in quoted if " ".join(tokens(each[2])) not in sections()[each[1]]] == []


def test_the_source_of_a_row_is_in_its_section() -> None:
    """Most words of the paraphrase are in the section."""
    wrong: list[str] = []
    for where, number, says in _of_rows():
        own, there = tokens(says), set(sections()[number].split())
        share = sum(each in there for each in own) / len(own)
        if share < HALF:
            wrong.append(f"{where}: {number}: {share:.0%} of '{says}'")
    assert wrong == []
