"""What the containers of Jobs and CronJobs do to members of quorums, read from their commands as shell text.

A container may run any program, so one that cannot be read is not reported. What an image does by itself is not known.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from policy.facts.kubernetes.workload import Workload
from policy.facts.properties import Properties
from policy.facts.resource import Resource
from policy.facts.shell.effects import Effect, effects
from policy.facts.shell.script import Script

JOB_TYPES = ("kubernetes:batch/v1:Job", "kubernetes:batch/v1:CronJob")


@dataclass(frozen=True)
class JobCommands:
    """The commands of a Job's or CronJob's containers."""

    workload: Workload

    @property
    def resource(self) -> Resource:
        """The Job."""
        return self.workload.resource

    @property
    def title(self) -> str:
        """What a message calls it."""
        return self.workload.title

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """What they do that a quorum's member may not survive."""
        pod = self.workload.pod
        containers = [*pod.at("initContainers").items(), *pod.at("containers").items()]
        return tuple(effect for each in containers for effect in _effects(each))

    @property
    def disrupts(self) -> str:
        """The first effect without a quorum check, in words; empty if there is none."""
        return next((effect.does for effect in self.effects if not effect.checked), "")


def _effects(container: Properties) -> Iterator[Effect]:
    words = [*container.at("command").words(), *container.at("args").words()]
    if words:
        script = Script({})
        script.run(shlex.join(words))
        yield from effects(script)


def job_commands(workloads: tuple[Workload, ...]) -> tuple[JobCommands, ...]:
    """The commands of every Job and CronJob."""
    return tuple(JobCommands(each) for each in workloads if each.kind in ("Job", "CronJob"))
