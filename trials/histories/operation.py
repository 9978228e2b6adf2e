"""Operations of clients: what was asked, when, and what is known of the answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

Outcome = Literal["ok", "no", "unknown"]
"""`ok`: done. `no`: certainly not done. `unknown`: the client has no answer, and it may be done at any later time."""


@dataclass(frozen=True)
class ClientOperation:
    """An operation of a client, from its invocation to its completion."""

    process: int
    """The client. A client has one operation at a time."""
    action: str
    value: Any
    """What the operation writes, and for `ok` what it has read: JSON, whose form each checker defines."""
    invoked: float
    """Seconds of the clock of the client's machine."""
    completed: float
    outcome: Outcome


def parse(lines: Iterable[str]) -> list[ClientOperation]:
    """Returns the operations of a client's log, in the order of their invocations: one JSON object a line.

    An operation may have two lines, one when it begins, with an unknown outcome, and one when it is completed: a client
    that is killed leaves the first. Other lines are ignored, so that a client may print errors too.
    """
    found: dict[tuple[int, float], ClientOperation] = {}
    for line in lines:
        if line.startswith("{") and line.endswith("}\n"):
            each = ClientOperation(**cast("dict[str, Any]", json.loads(line)))
            found[each.process, each.invoked] = each
    return sorted(found.values(), key=lambda each: each.invoked)


@dataclass(frozen=True)
class Anomaly:
    """What a history contains and must not contain."""

    name: str
    """As Elle or Jepsen name it, such as G1a or lost."""
    example: str
    """One occurrence, for a reader."""
    count: int = 1

    def __str__(self) -> str:
        return f"{self.name} ({self.count}): {self.example}"
