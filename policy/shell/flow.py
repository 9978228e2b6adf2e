"""Data flow analysis of shell text: before which statements a quorum check has succeeded.

The state before a statement is a `bool`: whether a quorum check has succeeded on every path to the statement. After a
statement there is one state for its success and one for its failure. None means that it cannot end in this way.
"""

from __future__ import annotations

from dataclasses import dataclass

Checked = bool | None


def join(*ways: Checked) -> Checked:
    """Returns the state where several paths meet: true if a quorum check has succeeded on every possible path.

    A path with the state None is not possible. Returns None if no path is possible.
    """
    possible = [way for way in ways if way is not None]
    return all(possible) if possible else None


@dataclass(frozen=True)
class Exits:
    """How a statement can end: for success and failure, whether a quorum check has succeeded by then; None: cannot."""

    success: Checked
    failure: Checked
    ignored: Checked = None
    """The state after a failure that `set -e` ignores: of any part but the last of a list with && or ||."""

    @property
    def failed(self) -> Checked:
        """The state after a failure, whether `set -e` ignores it or not."""
        return join(self.failure, self.ignored)

    @property
    def inverted(self) -> Exits:
        """The states after this statement negated with `!`. `set -e` ignores the failure of a negated statement."""
        return Exits(self.failed, None, self.success)

    def then(self, errexit: bool) -> Checked:
        """Returns the state before the next statement of a sequence.

        `errexit`: `set -e` applies, so failures end it.
        """
        return join(self.success, self.ignored, None if errexit else self.failure)

    def merged(self, other: Exits) -> Exits:
        """Returns the states after two branches that end as this and as `other`."""
        return Exits(
            join(self.success, other.success), join(self.failure, other.failure), join(self.ignored, other.ignored)
        )


NEVER = Exits(None, None)
"""The states after a statement that never completes, such as `exit`."""


def plain(checked: Checked) -> Exits:
    """Returns the states after a program that is not a quorum check. `checked`: the state before it."""
    return Exits(checked, checked)


def check(checked: Checked) -> Exits:
    """Returns the states after a quorum check: its success means that the quorum is healthy.

    `checked`: the state before.
    """
    return NEVER if checked is None else Exits(True, checked)
