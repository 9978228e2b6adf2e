"""The sentences of the source documents, and which of them policy/requirements states.

The documents are not part of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from policy.requirements import Norm, Part

NORMATIVE = re.compile(
    r"\b(should|shall|must|mandatory|recommended|requires?|required|needs?|needed|prohibited|make sure|ha(?:s|ve) to"
    r"|(?:is|it's) necessary|supposed to)\b|^ensure\b",
    re.IGNORECASE,
)
"""What marks a sentence as a requirement."""

DESCRIPTIVE = re.compile(
    r"(?:if|as|when|where) (?:needed|required)|capacity increase is required|when need arises|needed parameters"
    r"|without (?:the )?needs?\b|(?:all|the|chose|setting|handle all) (?:needed|required)|required (?:by|for) (?:via)?"
    r"|you need to run|should a monitor|we should see support|images, required|\tRequires a Load",
    re.IGNORECASE,
)
"""The same words in sentences that require nothing."""

FOUND = 0.8
"""The share of a paraphrase's words that its sentence contains, at least: a word or two may differ."""

_HEADING = re.compile(r"(\d(?:\.\d+)+) [A-Za-z\[][^\t]*")
_ITEM = re.compile(r"^\s*(?:[•*]|-|\d+\.|\d+\))\s+")
_RULER = re.compile(r"[=\-`\s]*")
_END = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!ex\.)(?<=[.!?;])\s+(?=[A-Z*`\"(“])")
_FILLER = frozenset(
    re.findall(r"\w+", "a an the of to in on at by for from with and or is are be it its this that as so if table")
)


@dataclass(frozen=True)
class Sentence:
    """A sentence of a document."""

    section: str
    """The section's number; empty in documents without numbers."""
    text: str

    @property
    def normative(self) -> bool:
        """Whether it requires something, as far as its words show."""
        return NORMATIVE.search(DESCRIPTIVE.sub("", self.text)) is not None


def sentences(document: str, *, numbered: bool) -> Iterator[Sentence]:
    """The sentences of a document, in order, without listings (between code fences) and heads of tables."""
    section = ""
    paragraph: list[str] = []
    fenced = False
    for written in [*document.splitlines(), ""]:
        line = "" if "\t" in written and "Description" in written else written.rstrip()
        fenced ^= line.startswith("```")
        heading = _HEADING.fullmatch(line) if numbered and not fenced else None
        if fenced or heading or _RULER.fullmatch(line) or _ITEM.match(line) or "\t" in line:
            yield from _split(section, paragraph)
            paragraph = []
        if heading:
            section = heading[1]
        elif not fenced and not _RULER.fullmatch(line):
            paragraph.append(_ITEM.sub("", line, count=1).strip())


def _split(section: str, paragraph: Sequence[str]) -> Iterator[Sentence]:
    return (Sentence(section, each.strip()) for each in _END.split(" ".join(paragraph)) if each.strip())


def words(text: str) -> frozenset[str]:
    """The words of a text, without fillers and without their endings (the first six letters); figures stay whole."""
    found = re.findall(r"[a-z0-9]+", text.lower())
    return frozenset(each if each.isdigit() else each[:6] for each in found if each not in _FILLER)


def stating(says: str, candidates: Iterable[Sentence]) -> list[Sentence]:
    """The sentences that a paraphrase states: those that share the most of its words and all of its figures."""
    said = words(says)
    figures = {each for each in said if each.isdigit()}
    shares = [(len(said & words(each.text)) / len(said), each) for each in candidates]
    best = max((share for share, _ in shares), default=0.0)
    return [each for share, each in shares if share == best >= FOUND and figures <= words(each.text)]


@dataclass(frozen=True)
class Reading:
    """A part of the requirements beside the sentences of one document that it covers."""

    part: Part
    document: str
    sentences: tuple[Sentence, ...]

    def of(self, section: str) -> list[Sentence]:
        """The sentences of a section; of the whole document where it has no numbers."""
        return [each for each in self.sentences if each.section in ("", section)]

    def unfounded(self) -> list[str]:
        """The requirements that state no sentence of their section."""
        return [
            f"{self.document}, {section}: {norm.says}"
            for norm in self.part.norms
            for section in norm.sections
            if not stating(norm.says, self.of(section))
        ]

    def missing(self) -> list[str]:
        """The sentences that require something and that no requirement states."""
        stated = {(each.section, each.text) for norm in self.part.norms for each in self._stated(norm)}
        return [
            f"{self.document}, {each.section}: {each.text}"
            for each in self.sentences
            if each.normative and (each.section, each.text) not in stated
        ]

    def _stated(self, norm: Norm) -> Iterator[Sentence]:
        for section in norm.sections:
            yield from stating(norm.says, self.of(section))


def readings(folder: Path, parts: Iterable[Part]) -> Iterator[Reading]:
    """Every part with its sentences. FileNotFoundError names a document that the folder does not contain."""
    for part in parts:
        for document in part.documents:
            if document == "project":
                continue
            text = _document(folder, document).read_text(encoding="utf-8")
            covered = (each for each in sentences(text, numbered=bool(part.sections)))
            yield Reading(part, document, tuple(each for each in covered if part.covers(document, each.section)))


def _document(folder: Path, document: str) -> Path:
    found = sorted(folder.glob(f"{document}*.txt"))
    if not found:
        raise FileNotFoundError(f"no {document}*.txt in {folder}")
    return found[0]
