"""The requirements against the source documents: none invented, none missing.

The documents are not part of the repository. Unless `QUORATE_SEEDS` names their folder, conftest.py
ignores this file: `QUORATE_SEEDS=folder pytest tests/policy/test_source_documents.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

from policy.catalogue import RULES
from policy.requirements import parts
from tests.policy.seeds import Reading, readings, stating


def _readings() -> list[Reading]:
    return list(readings(Path(os.environ["QUORATE_SEEDS"]), parts()))


def test_every_requirement_states_a_sentence_of_its_section() -> None:
    assert [each for reading in _readings() for each in reading.unfounded()] == []


def test_no_requirement_of_the_documents_is_missing() -> None:
    assert [each for reading in _readings() for each in reading.missing()] == []


def test_every_source_of_a_rule_states_a_sentence_of_its_section() -> None:
    unfounded = [
        f"{rule.id}: {source}: {source.says}"
        for reading in _readings()
        for rule in RULES
        for source in rule.sources
        if source.seed == reading.document and reading.part.covers(source.seed, source.section)
        if not stating(source.says, reading.of(source.section))
    ]
    assert unfounded == []
