"""The record of a handover in a clone: whether this clone is in charge of its stacks, or another machine's is.

Commands that change a stack read it, and so does the program, which the Pulumi CLI starts without any command.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from console.errors import UserError
from files import atomic

FILE = Path("build", ".state", "handover.json")
"""The record, relative to the clone: beside the states, which `make clean` keeps."""
COPYING, LOCKED, GIVEN, INCOMING, IN_CHARGE = "copying", "locked", "given", "incoming", "in charge"
"""What a clone is: the source of a first pass, which stays in use; the source of the last pass; the source once it was
handed over; a destination that is not complete; in charge, after a handover to it or one that was aborted."""


@dataclass(frozen=True)
class HandoverRecord:
    """What a clone knows of its handover."""

    id: str
    """The same in all clones that were handed over to each other."""
    phase: str
    other: str
    """The clone on the other machine, as HOST:DIRECTORY; of a destination, as the source calls itself."""
    by: str
    """Who began it: user and machine."""
    since: str

    @property
    def is_under_way(self) -> bool:
        """Whether this clone is the source of a handover that has not ended."""
        return self.phase in (COPYING, LOCKED)

    @property
    def refusal(self) -> str:
        """Why this clone changes no stack now, and what to do; "" if it may."""
        began = f"{self.by} began it at {self.since}"
        if self.phase == LOCKED:
            return (
                f"This clone is being handed over to {self.other}, whose last pass copies it: {began}.\n"
                f"`quorate handover {self.other}` goes on, `quorate handover --abort` ends it."
            )
        if self.phase == GIVEN:
            return (
                f"This clone was handed over to {self.other}: {began}. Run the command there.\n"
                "The way back is `quorate handover` on that machine (docs/handover.md)."
            )
        if self.phase == INCOMING:
            return (
                f"This clone is a copy of {self.other}, which is in charge until its handover has ended: {began}.\n"
                "The same `quorate handover` on that machine goes on."
            )
        return ""

    def to_json(self) -> str:
        """Returns the content of the file."""
        return json.dumps(asdict(self), indent=2) + "\n"


def read(root: Path) -> HandoverRecord | None:
    """Returns the record of a clone; None if it has none. Raises UserError if the record is damaged."""
    try:
        return parse((root / FILE).read_text(encoding="utf-8", errors="replace"))
    except FileNotFoundError:
        return None
    except ValueError:
        raise UserError(
            f"{FILE} is damaged, so it is not known whether this clone is in charge of its stacks. Nothing was run.\n"
            "If no other machine is, remove the file."
        ) from None


def parse(text: str) -> HandoverRecord:
    """Returns the record in the content of a file. Raises ValueError if it is none."""
    try:
        found = HandoverRecord(**json.loads(text))
    except TypeError:
        raise ValueError("other fields") from None
    if found.phase not in (COPYING, LOCKED, GIVEN, INCOMING, IN_CHARGE):
        raise ValueError("another phase")
    return found


def write(root: Path, record: HandoverRecord) -> None:
    """Writes the record of a clone, readable by its owner only."""
    atomic.write_private(root / FILE, record.to_json())


def require_in_charge(root: Path) -> None:
    """Raises UserError if this clone may not change its stacks, because it was handed over, or is not complete."""
    known = read(root)
    if known and (refusal := known.refusal):
        raise UserError(f"{refusal}\nNothing was changed.")
