"""What commands of pods do to members of quorums, read as shell text: containers of Jobs, init containers and hooks.

A container may run any program, so one that cannot be read is not reported. What an image does by itself is not known.
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
    """The commands that a workload's pods run once: all of a Job, and what runs at each start of any other pod."""

    workload: Workload

    @property
    def resource(self) -> Resource:
        """The workload."""
        return self.workload.resource

    @property
    def title(self) -> str:
        """What a message calls it."""
        return self.workload.title

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """What they do that a quorum's member may not survive. A pod that starts may restart its own member."""
        found = (effect for words in self._commands() for effect in _effects(words))
        return tuple(effect for effect in found if effect.does != STOPS or not self.workload.is_long_running)

    @property
    def disrupts(self) -> str:
        """The first effect without a quorum check, in words; empty if there is none."""
        return next((effect.does for effect in self.effects if not effect.checked), "")

    def _commands(self) -> Iterator[tuple[str, ...]]:
        """The preStop hook is not among them: it may end what runs in its own pod."""
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
