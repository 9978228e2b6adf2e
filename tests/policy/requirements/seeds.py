"""The sentences of the source documents, and which of them policy/requirements states.

The documents are not part of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from policy.requirements import PROJECT, Norm, Part

NORMATIVE = re.compile(
    r"\b(should|shall|must|mandatory|recommended|requires?|required|needs?|needed|prohibited|make sure|ha(?:s|ve) to"
    r"|(?:is|it's) necessary|supposed to)\b|^ensure\b",
    re.IGNORECASE,
)
"""Words that mark a sentence of a source document as a requirement."""

DESCRIPTIVE = re.compile(
    r"(?:if|as|when|where) (?:needed|required)|capacity increase is required|when need arises|needed parameters"
    r"|without (?:the )?needs?\b|(?:all|the|chose|setting|handle all) (?:needed|required)|required (?:by|for) (?:via)?"
    r"|you need to run|should a monitor|we should see support|images, required|\tRequires a Load",
    re.IGNORECASE,
)
"""Phrases with words such as `must` in sentences that require nothing."""

SHARED = 0.5
"""Minimum share of a paraphrase's words that its source sentence must contain."""

COPIED = 8
"""Maximum number of consecutive words that a paraphrase may copy from its source sentence."""

NAMES = frozenset(
    re.findall(
        r"\w+",
        "ceph conductor dhcp elasticsearch etcd galera horizon influxdb keystone kubedns kubelet kubernetes libvirt "
        "metadata minion monitor mysql mysqld neutron nginx nova osd pause_minority proxysql quorum rabbitmq radosgw "
        "scheduler",
    )
)
"""Products and key terms. A paraphrase has the same of them as its sentence: none more, none less."""

_NUMBERS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}
_HEADING = re.compile(r"(\d(?:\.\d+)+) [A-Za-z\[][^\t]*")
_ITEM = re.compile(r"^\s*(?:[•*]|-|\d+\.|\d+\))\s+")
_RULER = re.compile(r"[=\-`\s]*")
_END = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!ex\.)(?<=[.!?;])\s+(?=[A-Z*`\"(“])")
_CONTEXT = re.compile(r"\[[^\]]*\]")
_FILLER = frozenset(
    re.findall(r"\w+", "a an the of to in on at by for from with and or is are be it its this that as so if table")
)


@dataclass(frozen=True)
class Sentence:
    """A sentence of a source document."""

    section: str
    """The section's number, or its title in documents without numbers."""
    number: int
    """Number of the sentence in its section, from 1. Each list item and table row begins a sentence; listings do not
    count."""
    text: str

    @property
    def normative(self) -> bool:
        """Whether the sentence contains a word that marks a requirement."""
        return NORMATIVE.search(DESCRIPTIVE.sub("", self.text)) is not None


def sentences(document: str, titles: Collection[str] = ()) -> Iterator[Sentence]:
    """The sentences of a document, in order, without listings (between code fences) and heads of tables.

    `titles` are the titles of the sections of a document without section numbers.
    """
    section = ""
    count = 0
    paragraph: list[str] = []
    fenced = False
    for written in [*document.splitlines(), ""]:
        line = "" if "\t" in written and "Description" in written else written.rstrip()
        fenced ^= line.startswith("```")
        heading = None if fenced else _heading(line, titles)
        if fenced or heading or _RULER.fullmatch(line) or _ITEM.match(line) or "\t" in line:
            for count, text in enumerate(_split(paragraph), start=count + 1):  # noqa: B020 - goes on counting
                yield Sentence(section, count, text)
            paragraph = []
        if heading:
            section, count = heading, 0
        elif not fenced and not _RULER.fullmatch(line):
            paragraph.append(_ITEM.sub("", line, count=1).strip())


def _heading(line: str, titles: Collection[str]) -> str | None:
    if titles:
        return line.removesuffix(":") if line.removesuffix(":") in titles else None
    numbered = _HEADING.fullmatch(line)
    return numbered[1] if numbered else None


def _split(paragraph: Sequence[str]) -> list[str]:
    return [each.strip() for each in _END.split(" ".join(paragraph)) if each.strip()]


def tokens(text: str) -> list[str]:
    """The words of a text, in order: lower case, numbers as figures."""
    found: list[str] = re.findall(r"[a-z0-9_]+", text.lower())
    return [_NUMBERS.get(each, each) for each in found]


def words(text: str) -> frozenset[str]:
    """The words of a text, without fillers and without their endings (the first six letters); figures stay whole."""
    found = (each for each in tokens(text) if each not in _FILLER)
    return frozenset(each if _is_figure(each) else each[:6] for each in found)


def _is_figure(word: str) -> bool:
    return any(each.isdigit() for each in word)


def _figures(text: str) -> frozenset[str]:
    return frozenset(each for each in tokens(text) if _is_figure(each))


def _names(text: str) -> frozenset[str]:
    return frozenset(each.removesuffix("s") for each in tokens(text)) & frozenset(
        each.removesuffix("s") for each in NAMES
    )


def faults(says: str, sentence: Sentence) -> list[str]:
    """Returns the faults of a paraphrase: added key terms or figures, or too few words of its source sentence.

    Text in square brackets is ignored.
    """
    own = _CONTEXT.sub(" ", says)
    added = (_figures(own) - _figures(sentence.text)) | (_names(own) - _names(sentence.text))
    found = [f"adds {', '.join(sorted(added))}"] if added else []
    share = len(words(own) & words(sentence.text)) / max(len(words(own)), 1)
    return found if share >= SHARED else [*found, f"shares {share:.0%} of its words with the sentence"]


def losses(says: str, sentence: Sentence) -> list[str]:
    """Returns the figures and names of a source sentence that a paraphrase lacks."""
    return sorted((_figures(sentence.text) - _figures(says)) | (_names(sentence.text) - _names(says)))


def copied(says: str, sentence: Sentence) -> int:
    """Returns the longest run of words that a paraphrase copies from its source sentence."""
    ours, theirs = tokens(says), tokens(sentence.text)
    runs = SequenceMatcher(None, ours, theirs, autojunk=False)
    return runs.find_longest_match(0, len(ours), 0, len(theirs)).size


@dataclass(frozen=True)
class Reading:
    """A part of the requirements beside the sentences of one document that it covers."""

    part: Part
    document: str
    sentences: tuple[Sentence, ...]

    def sentence(self, section: str, number: int) -> Sentence | None:
        """A sentence by its number; the last one if the section's heading occurs several times."""
        found = [each for each in self.sentences if (each.section, each.number) == (section, number)]
        return found[-1] if found else None

    def located(self) -> Iterator[tuple[str, Norm, Sentence | None]]:
        """Yields every requirement with each of its source sentences, and the sentence's position."""
        for norm in self.part.norms:
            for section, number in zip(norm.sections, norm.sentences, strict=True):
                yield f"{self.document}, {section} ({number})", norm, self.sentence(section, number)

    def unfounded(self) -> list[str]:
        """Returns the requirements whose text does not agree with their source sentence."""
        return [
            f"{where}: {norm.says}: {'; '.join(wrong)}"
            for where, norm, sentence in self.located()
            if (wrong := faults(norm.says, sentence) if sentence else ["no such sentence"])
        ]

    def missing(self) -> list[str]:
        """Returns the requiring sentences of the source documents that no requirement states."""
        stated = {(each.section, each.text) for _, _, each in self.located() if each}
        return [
            f"{self.document}, {each.section} ({each.number}): {each.text}"
            for each in self.sentences
            if each.normative and (each.section, each.text) not in stated
        ]


def readings(folder: Path, parts: Iterable[Part]) -> Iterator[Reading]:
    """Every part with its sentences. FileNotFoundError names a document that the folder does not contain.

    Of several documents with one text, the first is read.
    """
    for part in parts:
        document = part.documents[0]
        if document != PROJECT:
            titles = () if part.sections else {section for norm in part.norms for section in norm.sections}
            covered = (
                each for each in sentences(text(folder, document), titles) if part.covers(document, each.section)
            )
            yield Reading(part, document, tuple(covered))


def text(folder: Path, document: str) -> str:
    """The text of a document. FileNotFoundError if the folder does not contain it."""
    found = sorted(folder.glob(f"{document}*.txt"))
    if not found:
        raise FileNotFoundError(f"no {document}*.txt in {folder}")
    return found[0].read_text(encoding="utf-8")
