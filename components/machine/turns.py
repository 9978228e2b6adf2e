"""Orders the machines that have members of the same quorum, so that an update changes them one after the other.

A machine's steps and systemd units declare which quorums they disrupt. Each of these machines depends on the previous
machine with a member of the same quorum, so that Pulumi changes one machine at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from components.machine.parts import Parts


class Turns:
    """Remembers, for each quorum, the machine that was created last with a member of the quorum.

    `started`: the resources that start the quorums' members for the first time, which all machines with members wait
    for.
    """

    def __init__(self, started: Sequence[pulumi.Resource] = ()) -> None:
        self._started = started
        self._last: dict[str, pulumi.Resource] = {}

    def before(self, parts: Parts) -> Sequence[pulumi.Resource]:
        """Returns the resources on which a machine with these files and steps depends; [] if there are none."""
        if not parts.quorums:
            return []
        found = [self._last[name] for name in parts.quorums if name in self._last]
        return [*self._started, *dict.fromkeys(found)]

    def add(self, parts: Parts, machine: pulumi.Resource) -> None:
        """Makes later machines with members of the same quorums depend on `machine`, which consists of `parts`."""
        self._last |= dict.fromkeys(parts.quorums, machine)
