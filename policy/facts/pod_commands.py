"""Effects of commands in pods on quorum members: containers of Jobs, init containers and lifecycle hooks.

Commands are read as shell text. A command that cannot be read, or that is inside an image, is not reported.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from policy.facts.kubernetes.configuration import command_line
from policy.facts.kubernetes.workload import Workload
from policy.facts.resource import Resource
from policy.facts.shell.effects import Effect, effects
from policy.facts.shell.effects_machine import STOPS
from policy.facts.shell.script import Script


@dataclass(frozen=True)
class PodCommands:
    """Commands that a workload's pods run to completion: all of a Job; of other workloads those at pod start."""

    workload: Workload

    @property
    def resource(self) -> Resource:
        """The workload."""
        return self.workload.resource

    @property
    def title(self) -> str:
        """Its name in messages."""
        return self.workload.title

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """Effects that may stop a member or lose data. Long-running pods may stop services, e.g. their own member."""
        found = (effect for words in self._commands() for effect in _effects(words))
        return tuple(effect for effect in found if effect.does != STOPS or not self.workload.is_long_running)

    @property
    def disrupts(self) -> str:
        """The first effect that no quorum check precedes, in words; empty if there is none."""
        return next((effect.does for effect in self.effects if not effect.checked), "")

    def _commands(self) -> Iterator[tuple[str, ...]]:
        """All commands except preStop hooks, which may stop the programs of their own pod."""
        pod = self.workload.pod
        yield from (command_line(each) for each in pod.at("initContainers").items())
        for each in pod.at("containers").items():
            yield each.at("lifecycle", "postStart", "exec", "command").words()
            if not self.workload.is_long_running:
                yield command_line(each)


def _effects(words: Sequence[str]) -> list[Effect]:
    script = Script()
    script.run(shlex.join(words))
    return effects(script)


def pod_commands(workloads: Sequence[Workload]) -> tuple[PodCommands, ...]:
    """The commands of every workload's pods."""
    return tuple(map(PodCommands, workloads))
