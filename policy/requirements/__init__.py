"""Reads the requirements of the source documents, each with the rules that evaluate it or why there is no rule.

The data are YAML files, one for each part of a document (004-5.5.yaml, …):

    documents: ["004"]            # several if they contain the same text
    sections: ["5.3", "5.4"]      # the sections in the file, with all subsections; default: the whole document
    norms:
      - {section: "5.4.12", sentence: 10, says: a paraphrase of one sentence, rule: rabbitmq-size}
      - {section: "5.3.6 and 5.4.6", sentence: [6, 7], says: a sentence of both sections, rule: instances-match-row}
      - {section: "5.4.10", sentence: 3, says: a paraphrase of one sentence, why_not: why no rule evaluates it,
         read: 2026-11-28, waits_for: Ironic}

`sentence` is the number of the sentence in its section. Every subheading, list item and table row without a full stop
counts as a sentence; listings and the heads of option tables do not count. In a paraphrase, text in square brackets is
context from the sentences around it.

`read` is the day on which the reason was last compared with the program, and `waits_for` the part in docs/not-built.md
without which there is nothing to evaluate. A test fails if that page no longer lists the part: then the part is built.

The document `project` contains what Quorate requires beyond the source documents, and `why`.

`python -m policy.catalogue` writes docs/rules-not-made.md from these files. Tests check both directions: an entry names
existing rules, and a rule is named by an entry of each section that it cites. Where the source documents are at hand,
tests/policy/requirements/test_requirements.py checks that every entry states a sentence of its section, and that no
requirement is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, cast

from files import yaml_reader

FOLDER = Path(__file__).parent
PROJECT = "project"

DOCUMENTS = {
    "000": "Reduced footprint (specification of OpenStack Fuel, as merged)",
    "001": "Reduced footprint (the same specification before its review)",
    "002": "TripleO Deploy Cloud Hypervisor Type (specification of TripleO)",
    "003": "TripleO Deploy Cloud Hypervisor Type (another copy of 002)",
    "004": "CCP Documentation (Fuel-CCP, release of 15 November 2017)",
    PROJECT: "Requirements of Quorate itself",
}
"""The titles of the documents, by the name that sources cite."""


@dataclass(frozen=True)
class Norm:
    """A requirement: one sentence of a source document, or of Quorate's own requirements."""

    section: str
    """The section's number or title; "5.3.6 and 5.4.6" for a sentence that is in both sections."""
    sentences: tuple[int, ...]
    """The number of the sentence in each of the sections, from 1."""
    says: str
    """A paraphrase of the sentence."""
    rules: tuple[str, ...]
    """Ids of the rules that evaluate the requirement."""
    why_not: str
    """Why no rule evaluates the requirement; "" if a rule does."""
    read: date | None = None
    """The day on which `why_not` was last compared with the program; None if a rule evaluates the requirement."""
    waits_for: str = ""
    """The part of docs/not-built.md without which no rule has anything to evaluate; "" for none."""
    why: str = ""
    """Why Quorate itself adds the requirement; "" for a sentence of a source document."""

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections that contain the sentence."""
        return tuple(self.section.split(" and ")) if self.section[0].isdigit() else (self.section,)


@dataclass(frozen=True)
class Part:
    """The requirements in one file: of one or more documents, or of some of their sections."""

    documents: tuple[str, ...]
    sections: tuple[str, ...]
    """Numbers of the sections; empty for whole documents."""
    norms: tuple[Norm, ...]

    @property
    def title(self) -> str:
        """Heading of the part: its documents and sections."""
        documents = " and ".join(self.documents)
        return f"{documents}, {' and '.join(self.sections)}" if self.sections else documents

    def covers(self, document: str, section: str) -> bool:
        """Whether a section belongs to the part."""
        if document not in self.documents:
            return False
        return not self.sections or any(section == each or section.startswith(f"{each}.") for each in self.sections)


def parts() -> Iterator[Part]:
    """Yields the contents of each file with requirements, in the order of the file names.

    Raises ValueError, which names the file and the entry, if an entry is incomplete.
    """
    for path in sorted(FOLDER.glob("*.yaml")):
        document = cast("dict[str, Any]", yaml_reader.load(path.read_text(encoding="utf-8")))
        norms = tuple(_norm(path.name, each) for each in document["norms"])
        yield Part(tuple(document["documents"]), tuple(document.get("sections", ())), norms)


def _norm(file: str, written: dict[str, Any]) -> Norm:
    where = f"{file}, {written.get('section')}: {written.get('says')}"
    if unknown := written.keys() - {"section", "sentence", "says", "rule", "why_not", "read", "waits_for", "why"}:
        known = "section, sentence, says and rule, or why_not, read and waits_for"
        raise ValueError(f"{where}: unknown {', '.join(sorted(unknown))}; write {known}")
    if not written.get("section") or not written.get("says") or ("rule" in written) == ("why_not" in written):
        raise ValueError(f"{where}: write section, says and one of rule and why_not")
    read: object = written.get("read")
    if ("why_not" in written) != isinstance(read, date):
        raise ValueError(f"{where}: write read, the day on which a reason was last read, beside why_not and only there")
    rule: str | list[str] = written.get("rule", [])
    sentence: int | list[int] = written.get("sentence", [])
    return Norm(
        section=str(written["section"]),
        sentences=(sentence,) if isinstance(sentence, int) else tuple(sentence),
        says=written["says"],
        rules=(rule,) if isinstance(rule, str) else tuple(rule),
        why_not=written.get("why_not", ""),
        read=read if isinstance(read, date) else None,
        waits_for=written.get("waits_for", ""),
        why=written.get("why", ""),
    )


@cache
def _by_sentence() -> dict[tuple[str, str, int], Norm]:
    return {
        (document, section, number): norm
        for part in parts()
        for norm in part.norms
        for document in part.documents
        for section, number in zip(norm.sections, norm.sentences, strict=True)
    }


def requirement(document: str, section: str, sentence: int) -> Norm:
    """Returns the requirement in a sentence of a document. Raises LookupError if no file lists it."""
    try:
        return _by_sentence()[document, section, sentence]
    except KeyError:
        raise LookupError(f"no requirement of document {document}, section {section}, sentence {sentence}") from None
