"""Derives which commands in pods may stop quorum members: containers of Jobs, init containers and lifecycle hooks.

Commands are parsed as shell text and never run. Commands that cannot be parsed, or are inside an image, are ignored.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from policy.facts.kubernetes.configuration import command_line
from policy.facts.kubernetes.workload import Workload
from policy.properties import Properties
from policy.resource import Resource
from policy.shell.effects import Effect, effects
from policy.shell.effects_machine import STOPS
from policy.shell.script import Script


@dataclass(frozen=True)
class PodCommands:
    """Commands that a workload's pods run to completion: all commands of a Job; of other workloads those at start."""

    workload: Workload

    @property
    def resource(self) -> Resource:
        """The workload's resource."""
        return self.workload.resource

    @property
    def title(self) -> str:
        """The workload's name in messages."""
        return self.workload.title

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """Effects of the commands that may stop a quorum member or lose its data.

        In long-running pods, stopping a service is no such effect, because the service may be the pod's own program.
        """
        return tuple(effect for _, effect in self._effects)

    @property
    def disrupts(self) -> str:
        """Description of the first effect that no quorum check precedes, for messages; "" if there is none."""
        found = ((name, effect) for name, effect in self._effects if not effect.checked)
        return next((f"container {name} {effect.words}" for name, effect in found), "")

    @cached_property
    def _effects(self) -> tuple[tuple[str, Effect], ...]:
        """Each effect with the name of its container."""
        found = ((name, effect) for name, words in self._commands() for effect in _effects(words))
        return tuple(pair for pair in found if pair[1].does != STOPS or not self.workload.is_long_running)

    def _commands(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yields the commands that run to completion, each with its container's name."""
        pod = self.workload.pod
        yield from ((_name(each), command_line(each)) for each in pod.at("initContainers").items())
        for each in pod.at("containers").items():
            for hook in ("postStart", "preStop"):
                yield _name(each), each.at("lifecycle", hook, "exec", "command").words()
            if not self.workload.is_long_running:
                yield _name(each), command_line(each)


def _name(container: Properties) -> str:
    return container.at("name").text()


def _effects(words: Sequence[str]) -> list[Effect]:
    script = Script()
    script.run(shlex.join(words))
    return effects(script)


def pod_commands(workloads: Sequence[Workload]) -> tuple[PodCommands, ...]:
    """Returns the commands in the pods of each of these workloads."""
    return tuple(map(PodCommands, workloads))
