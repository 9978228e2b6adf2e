"""The finding: the form in which every check reports a failure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """A failed check."""

    check: str
    """The id of the check."""
    subject: str
    """The workload, the node or the object."""
    message: str

    def __str__(self) -> str:
        return f"{self.check}: {self.subject}: {self.message}"
