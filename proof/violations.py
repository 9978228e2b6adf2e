"""Finding, the class in which every check of a proof reports a failure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Violation:
    """A failed check: the check, the object that violates it, and the message."""

    check: str
    """Id of the check, such as one-per-node."""
    subject: str
    """The workload, node or other object that violates the check, such as StatefulSet mysqld."""
    message: str

    def __str__(self) -> str:
        return f"{self.check}: {self.subject}: {self.message}"
