"""Tests of reading source documents: sentences and their numbers, and the faults of a paraphrase."""

from __future__ import annotations

import pytest

from policy.requirements import Norm, Part
from tests.policy.requirements.seeds import Reading, Sentence, copied, faults, losses, sentences

DOCUMENT = """1.1 Placement

Members should run on 3 servers. Load balancers help,
when needed. A proxy must be placed
in front of the members.

1.1.1 Tables

Name	Description	Required
host	Path that should be mounted

```
# Make sure that this is not a sentence.
```

- Nodes are large (e.g. `ctl01`).
- Ensure that nodes have disks
"""

TITLES = """Problem

Servers should be few.

Criteria:

Members should survive. Racks need power.
"""

CHECK = Sentence("5.5.9", 5, "Check that quorum for etcd cluster is satisfied.")
PARTITION = Sentence("5.3.12", 10, "The RabbitMQ cluster needs fencing to exclude split brain and preserve a quorum.")


def _reading(*norms: tuple[str, int, str]) -> Reading:
    listed = tuple(Norm(section, (number,), says, (), "") for section, number, says in norms)
    return Reading(Part(("009",), ("1",), listed), "009", tuple(sentences(DOCUMENT)))


def test_sentences_have_their_section_and_number() -> None:
    assert list(sentences(DOCUMENT)) == [
        Sentence("1.1", 1, "Members should run on 3 servers."),
        Sentence("1.1", 2, "Load balancers help, when needed."),
        Sentence("1.1", 3, "A proxy must be placed in front of the members."),
        Sentence("1.1.1", 1, "host\tPath that should be mounted"),
        Sentence("1.1.1", 2, "Nodes are large (e.g. `ctl01`)."),
        Sentence("1.1.1", 3, "Ensure that nodes have disks"),
    ]


def test_titles_are_the_sections_of_a_document_without_numbers() -> None:
    assert list(sentences(TITLES, {"Problem", "Criteria"})) == [
        Sentence("Problem", 1, "Servers should be few."),
        Sentence("Criteria", 1, "Members should survive."),
        Sentence("Criteria", 2, "Racks need power."),
    ]


def test_a_missing_requirement_is_named() -> None:
    reading = _reading(
        ("1.1", 1, "3 servers should run the members"),
        ("1.1.1", 1, "the path should be mounted"),
        ("1.1.1", 3, "nodes have disks"),
    )
    assert reading.unfounded() == []
    assert reading.missing() == ["009, 1.1 (3): A proxy must be placed in front of the members."]


def test_a_paraphrase_of_another_sentence_is_named() -> None:
    assert _reading(("1.1", 3, "load balancers help")).unfounded() == [
        "009, 1.1 (3): load balancers help: shares 0% of its words with the sentence"
    ]
    assert _reading(("1.1", 9, "members run")).unfounded() == ["009, 1.1 (9): members run: no such sentence"]


@pytest.mark.parametrize(
    ("says", "sentence", "expected"),
    [
        ("the etcd cluster satisfies its quorum", CHECK, []),
        ("[static validation should] check that the etcd cluster satisfies its quorum", CHECK, []),
        ("check that the quorum of 5 etcd members is satisfied", CHECK, ["adds 5"]),
        ("check that the Galera quorum for cluster is satisfied", CHECK, ["adds galera"]),
        ("RabbitMQ needs fencing and 3 disruption budgets preserve a quorum", PARTITION, ["adds 3"]),
        (
            "a disruption budget lets a node drain finish without a loss of quorum",
            PARTITION,
            ["shares 11% of its words with the sentence"],
        ),
    ],
)
def test_what_a_paraphrase_adds_is_a_fault(says: str, sentence: Sentence, expected: list[str]) -> None:
    assert faults(says, sentence) == expected


def test_what_a_paraphrase_drops_is_a_loss() -> None:
    assert losses("check that the cluster satisfies its quorum", CHECK) == ["etcd"]
    assert losses("check that the etcd cluster satisfies its quorum", CHECK) == []


def test_copied_words_in_a_row_are_counted() -> None:
    assert copied("check that quorum for etcd cluster is satisfied", CHECK) == 8
    assert copied("the quorum of etcd is checked", CHECK) == 1
