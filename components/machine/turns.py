"""The order of machines that carry members of one quorum: each comes after the one before.

A machine's steps and restarts say which quorums they disrupt. Whatever a target does to such machines, it does to one
after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from components.machine.parts import Parts


class Turns:
    """The last machine of each quorum so far, in the order in which the components are created."""

    def __init__(self) -> None:
        self._last: dict[str, pulumi.Resource] = {}

    def before(self, parts: Parts) -> Sequence[pulumi.Resource]:
        """Machines that a machine with these parts depends on."""
        found = [self._last[name] for name in parts.quorums if name in self._last]
        return list(dict.fromkeys(found))

    def add(self, parts: Parts, machine: pulumi.Resource) -> None:
        """Makes later machines with members of the same quorums depend on this one."""
        self._last |= dict.fromkeys(parts.quorums, machine)
