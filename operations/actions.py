"""The actions of a stack: tasks of its services that an operator can start, such as a backup or a restoration.

An action is either a CronJob of the stack, or one of the Jobs that `up` runs, which may run again.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from blueprint.plan.plan import Plan
from openstack import project_definitions
from openstack.config.wiring import ENVIRONMENT, Wiring, wiring
from openstack.definition import JobDefinition, Requirement


@dataclass(frozen=True)
class Action:
    """A task of a stack's services that an operator can start with `quorate action`, such as a database backup."""

    name: str
    kind: Literal["cronjob", "job"]
    says: str
    """Purpose of the action, as `quorate action` lists it."""
    quorums: tuple[str, ...]
    """The quorums of the stack that the action uses, such as mysqld; `requires` is checked for each of them."""
    requires: Requirement | Literal["majority"]
    """State of the members of `quorums` that the action needs: a value of definition.Requirement, or `majority` (a
    majority is ready) for a Job that `up` runs too."""


def of_plan(planned: Plan) -> Iterator[Action]:
    """Yields the actions of a plan: for each project its CronJobs, then the Jobs that `up` runs, in order."""
    around = wiring(planned, ENVIRONMENT)
    for project in project_definitions.of_plan(planned):
        for each in project.actions(around):
            when = f" (at {each.schedule} UTC)" if each.schedule else ""
            yield Action(each.job.name, "cronjob", each.purpose + when, _quorums(each.job, around), each.requires)
        for job in project.jobs(around):
            says = f"Run again: {textwrap.shorten(job.command, 80)}"
            yield Action(job.name, "job", says, _quorums(job, around), "majority")


def _quorums(job: JobDefinition, around: Wiring) -> tuple[str, ...]:
    return tuple(filter(around.has, job.quorums))
