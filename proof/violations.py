"""What the proof has found wrong: one form for every check, naming the workload or node that it is about."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that does not hold."""

    check: str
    """The name of the check that failed."""
    subject: str
    """The workload, the node or the object."""
    message: str

    def __str__(self) -> str:
        return f"{self.check}: {self.subject}: {self.message}"
