"""The requirements and the sources of the rules against the source documents: none invented, bent or missing.

The documents are not part of the repository. Unless `QUORATE_SEEDS` names their folder, these tests are skipped:
`QUORATE_SEEDS=folder pytest tests/policy/requirements/test_source_documents.py`.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from policy.catalogue import RULES
from policy.requirements import PROJECT, parts
from policy.rule import RuleSource
from tests.policy.requirements.seeds import COPIED, Reading, copied, faults, losses, readings, sentences, text

FOLDER = os.environ.get("QUORATE_SEEDS", "")

pytestmark = pytest.mark.skipif(
    not FOLDER, reason="the source documents are not part of the repository; set QUORATE_SEEDS to their folder"
)

SOURCES = sorted({source for rule in RULES for source in rule.sources if source.seed != PROJECT}, key=str)


@cache
def _readings() -> list[Reading]:
    return list(readings(Path(FOLDER), parts()))


def test_every_requirement_states_its_sentence() -> None:
    assert [each for reading in _readings() for each in reading.unfounded()] == []


def test_no_requirement_of_the_documents_is_missing() -> None:
    assert [each for reading in _readings() for each in reading.missing()] == []


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_a_source_of_a_rule_is_one_sentence_faithfully_paraphrased(source: RuleSource) -> None:
    part = next(each for each in _readings() if each.part.covers(source.seed, source.section))
    sentence = part.sentence(source.section, source.sentence)
    assert sentence, "the section has no such sentence"
    assert faults(source.says, sentence) == [], sentence.text
    assert losses(source.says, sentence) == [], sentence.text
    assert copied(source.says, sentence) <= COPIED, sentence.text


def test_a_copy_requires_nothing_else() -> None:
    for part in parts():
        first, *copies = part.documents
        for copy in copies:
            known = {each.text for each in sentences(text(Path(FOLDER), first))}
            own = sentences(text(Path(FOLDER), copy))
            assert [each.text for each in own if each.normative and each.text not in known] == []
