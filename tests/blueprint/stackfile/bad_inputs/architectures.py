"""Bad inputs: invalid architecture files of a user."""

from __future__ import annotations

import os

from blueprint.architecture.loader import FOLDER
from tests.blueprint.stackfile.bad_inputs.case import Bad

TEXT = (FOLDER / "100.yaml").read_text(encoding="utf-8")


def own(old: str, new: str, said: str) -> Bad:
    """Returns a bad input: the file of architecture 100 with one change, and its message."""
    assert old in TEXT
    return Bad(TEXT.replace(old, new, 1), f"own.yaml{said}", "architecture")


CASES = {
    "a named pipe": Bad(os.mkfifo, 'own.yaml: cannot be read: it is a named pipe; write "100", "300"', "architecture"),
    "a page": Bad("<html>\n", "own.yaml: is not a mapping", "architecture"),
    "two documents": Bad("a: 1\n---\nb: 2\n", "own.yaml: is not valid YAML: holds several documents", "architecture"),
    "a list of itself": Bad("a: &a [*a]\n", "own.yaml: is not valid YAML: an alias contains itself", "architecture"),
    "minutes": own("computes: 100", "computes: 1:30", ": line"),
    "an octal number": own("computes: 100", "computes: 0100", ": line"),
    "a number without an end": own("computes: 100", "computes: .inf", ": line"),
    "computes as text": own("computes: 100", "computes: many", ", computes: 'many' does not fit; write a whole number"),
    "computes as a list": own(
        "computes: 100", "computes: [1]", ", computes: a list does not fit; write a whole number"
    ),
    "a switch": own("computes: 100", "computes: yes", ": line"),
    "no name": own('name: "100"', 'name: ""', ", name: '' does not fit; write at least 1 character"),
    "an invisible name": own('name: "100"', 'name: "1\\u200b"', ": line"),
    "an unknown key": own("computes: 100", "computes: 100\nspeed: 1", ", speed: is not known; leave it out, or write"),
    "a key twice": own("computes: 100", "computes: 100\ncomputes: 100", ": line"),
    "a secret": own(
        "computes: 100", "computes: 'mysql://u:hunter2@x'", ", computes: a value that holds a secret does not"
    ),
}
