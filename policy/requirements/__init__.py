"""The requirements of the source documents: each sentence with the rules that evaluate it, or the reason for none.

Data, a file for each part of a document (004-5.5.yaml, …):

    documents: ["004"]            # several where they contain one text
    sections: ["5.3", "5.4"]      # what the file covers, with all subsections; the whole document if left out
    norms:
      - {section: "5.4.12", says: a paraphrase of one sentence, rule: rabbitmq-size}
      - {section: "5.3.6 and 5.4.6", says: a sentence of both sections, rule: [instances-match-row, services-apart]}
      - {section: "5.4.10", says: a paraphrase of one sentence, why_not: the reason why no rule evaluates it}

The document `project` contains what Quorate requires beyond the source documents.

`python -m policy.catalogue` writes docs/rules-not-made.md from these files. Tests check both directions: an entry names
existing rules, and a rule is named by an entry of each section that it cites. Where the source documents are at hand,
tests/policy/test_seeds.py checks that every entry states a sentence of its section, and that no requirement is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from files import yaml_reader

FOLDER = Path(__file__).parent

DOCUMENTS = {
    "000": "Reduced footprint (specification of OpenStack Fuel, as merged)",
    "001": "Reduced footprint (the same specification before its review)",
    "002": "TripleO Deploy Cloud Hypervisor Type (specification of TripleO)",
    "003": "TripleO Deploy Cloud Hypervisor Type (another copy of 002)",
    "004": "CCP Documentation (Fuel-CCP, release of 15 November 2017)",
    "project": "Requirements of Quorate itself",
}
"""The titles of the documents, by the name that sources cite."""


@dataclass(frozen=True)
class Norm:
    """A sentence that requires something."""

    section: str
    """The section's number or title; "5.3.6 and 5.4.6" for a sentence of both."""
    says: str
    """A paraphrase of that sentence."""
    rules: tuple[str, ...]
    """Ids of the rules that evaluate it."""
    why_not: str
    """Why no rule evaluates it; empty if one does."""

    @property
    def sections(self) -> tuple[str, ...]:
        """Each section that contains the sentence."""
        return tuple(self.section.split(" and ")) if self.section[0].isdigit() else (self.section,)


@dataclass(frozen=True)
class Part:
    """The requirements of one or more documents, or of some of their sections."""

    documents: tuple[str, ...]
    sections: tuple[str, ...]
    """Numbers of the sections; empty for whole documents."""
    norms: tuple[Norm, ...]

    @property
    def title(self) -> str:
        """The documents and the sections."""
        documents = " and ".join(self.documents)
        return f"{documents}, {' and '.join(self.sections)}" if self.sections else documents

    def covers(self, document: str, section: str) -> bool:
        """Whether a section belongs to the part."""
        if document not in self.documents:
            return False
        return not self.sections or any(section == each or section.startswith(f"{each}.") for each in self.sections)


def parts() -> Iterator[Part]:
    """Every part, in the order of the file names. ValueError names the file and the incomplete entry."""
    for path in sorted(FOLDER.glob("*.yaml")):
        document = cast("dict[str, Any]", yaml_reader.load(path.read_text(encoding="utf-8")))
        norms = tuple(_norm(path.name, each) for each in document["norms"])
        yield Part(tuple(document["documents"]), tuple(document.get("sections", ())), norms)


def _norm(file: str, written: dict[str, Any]) -> Norm:
    where = f"{file}, {written.get('section')}: {written.get('says')}"
    if unknown := written.keys() - {"section", "says", "rule", "why_not"}:
        raise ValueError(f"{where}: unknown {', '.join(sorted(unknown))}; write section, says and rule or why_not")
    if not written.get("section") or not written.get("says") or ("rule" in written) == ("why_not" in written):
        raise ValueError(f"{where}: write section, says and one of rule and why_not")
    rule: str | list[str] = written.get("rule", [])
    return Norm(
        section=str(written["section"]),
        says=written["says"],
        rules=(rule,) if isinstance(rule, str) else tuple(rule),
        why_not=written.get("why_not", ""),
    )
