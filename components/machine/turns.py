"""Orders machines with members of the same quorum, so that they are changed one after the other.

A machine's steps and restarts declare which quorums they disrupt. Dependencies between the machines' resources make a
target change one machine at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from components.machine.parts import Parts


class Turns:
    """Remembers the last machine created for each quorum."""

    def __init__(self) -> None:
        self._last: dict[str, pulumi.Resource] = {}

    def before(self, parts: Parts) -> Sequence[pulumi.Resource]:
        """Returns the machines that a machine with these parts depends on."""
        found = [self._last[name] for name in parts.quorums if name in self._last]
        return list(dict.fromkeys(found))

    def add(self, parts: Parts, machine: pulumi.Resource) -> None:
        """Makes later machines with members of the same quorums depend on this one."""
        self._last |= dict.fromkeys(parts.quorums, machine)
