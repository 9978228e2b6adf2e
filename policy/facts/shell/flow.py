"""After which statements a quorum check has succeeded: the little of data flow that shell text needs.

A statement is entered with a `bool`: whether a check has succeeded on every way there. It is left by success or by
failure, each with its own; None means that the statement never ends that way.
"""

from __future__ import annotations

from dataclasses import dataclass

Checked = bool | None


def join(*ways: Checked) -> Checked:
    """What holds where several ways meet: a check must have succeeded on each that is possible."""
    possible = [way for way in ways if way is not None]
    return all(possible) if possible else None


@dataclass(frozen=True)
class Exits:
    """How a statement is left."""

    success: Checked
    failure: Checked
    ignored: Checked = None
    """A failure that does not end a script under `set -e`: that of all but the last part of an and-or list."""

    @property
    def failed(self) -> Checked:
        """Failure of either kind."""
        return join(self.failure, self.ignored)

    @property
    def inverted(self) -> Exits:
        """`! statement`, which `set -e` never ends."""
        return Exits(self.failed, None, self.success)

    def then(self, errexit: bool) -> Checked:
        """With what the next statement of a sequence is entered."""
        return join(self.success, self.ignored, None if errexit else self.failure)

    def merged(self, other: Exits) -> Exits:
        """Either of two branches."""
        return Exits(
            join(self.success, other.success), join(self.failure, other.failure), join(self.ignored, other.ignored)
        )


NEVER = Exits(None, None)
"""A statement that no script gets beyond, such as `exit`."""


def plain(checked: Checked) -> Exits:
    """A program that is not a check."""
    return Exits(checked, checked)


def check(checked: Checked) -> Exits:
    """A quorum check."""
    return NEVER if checked is None else Exits(True, checked)
