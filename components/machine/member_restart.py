"""The question that a machine asks before it restarts its member of a quorum.

`apply.sh` asks it (`ask_quorum`) before it restarts a unit or runs a step that disrupts the quorum, and waits until the
member is back before it goes on.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MemberQuorum:
    """A quorum that has a member on the machine, with the commands that check it.

    Both commands are POSIX shell. `may_stop` succeeds if the other members keep a majority, else it prints why not.
    `is_back` succeeds if this machine's member is healthy.
    """

    name: str
    may_stop: str
    is_back: str
