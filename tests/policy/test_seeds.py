"""How the source documents are read: sentences, and which requirement states which."""

from __future__ import annotations

import pytest

from policy.requirements import Norm, Part
from tests.policy.seeds import Reading, Sentence, sentences

DOCUMENT = """1.1 Placement

Members should run on 3 servers. Load balancers help,
when needed. A proxy must be placed
in front of the members.

1.1.1 Tables

Name	Description	Required
host	Path that should be mounted

```
# Make sure that this is no sentence.
```

- Nodes are large (e.g. `ctl01`).
- Ensure that nodes have disks
"""


def _reading(*says: str) -> Reading:
    norms = tuple(Norm("1.1" if "disk" not in each and "mount" not in each else "1.1.1", each, (), "") for each in says)
    return Reading(Part(("009",), ("1",), norms), "009", tuple(sentences(DOCUMENT, numbered=True)))


def test_sentences_have_their_section() -> None:
    assert list(sentences(DOCUMENT, numbered=True)) == [
        Sentence("1.1", "Members should run on 3 servers."),
        Sentence("1.1", "Load balancers help, when needed."),
        Sentence("1.1", "A proxy must be placed in front of the members."),
        Sentence("1.1.1", "host\tPath that should be mounted"),
        Sentence("1.1.1", "Nodes are large (e.g. `ctl01`)."),
        Sentence("1.1.1", "Ensure that nodes have disks"),
    ]


def test_a_missing_requirement_is_named() -> None:
    reading = _reading(
        "members should run on 3 servers", "a path that should be mounted", "ensure that nodes have disks"
    )
    assert reading.unfounded() == []
    assert reading.missing() == ["009, 1.1: A proxy must be placed in front of the members."]


@pytest.mark.parametrize(
    "says",
    [
        "members should run on 5 servers",  # another figure
        "members should run on 3 servers, a proxy must be placed in front of them",  # two sentences in one
        "members should never share a rack",  # invented
    ],
)
def test_an_unfaithful_paraphrase_is_named(says: str) -> None:
    assert _reading(says).unfounded() == [f"009, 1.1: {says}"]
