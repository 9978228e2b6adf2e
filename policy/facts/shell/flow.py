"""Data flow analysis: at which statements of a shell text a quorum check has succeeded.

The state before a statement is a `bool`: whether a check has succeeded on every path to the statement. A statement has
one state after success and one after failure; None means that the statement never ends that way.
"""

from __future__ import annotations

from dataclasses import dataclass

Checked = bool | None


def join(*ways: Checked) -> Checked:
    """The state where several paths meet: a check must have succeeded on every possible path."""
    possible = [way for way in ways if way is not None]
    return all(possible) if possible else None


@dataclass(frozen=True)
class Exits:
    """The states after a statement."""

    success: Checked
    failure: Checked
    ignored: Checked = None
    """After a failure that `set -e` ignores: in any part of an and-or list but the last."""

    @property
    def failed(self) -> Checked:
        """The state after a failure of either kind."""
        return join(self.failure, self.ignored)

    @property
    def inverted(self) -> Exits:
        """The states after `! statement`, whose failure `set -e` ignores."""
        return Exits(self.failed, None, self.success)

    def then(self, errexit: bool) -> Checked:
        """The state before the next statement of a sequence."""
        return join(self.success, self.ignored, None if errexit else self.failure)

    def merged(self, other: Exits) -> Exits:
        """The states after either of two branches."""
        return Exits(
            join(self.success, other.success), join(self.failure, other.failure), join(self.ignored, other.ignored)
        )


NEVER = Exits(None, None)
"""The states after a statement that never completes, such as `exit`."""


def plain(checked: Checked) -> Exits:
    """The states after a program that is not a quorum check."""
    return Exits(checked, checked)


def check(checked: Checked) -> Exits:
    """The states after a quorum check."""
    return NEVER if checked is None else Exits(True, checked)
