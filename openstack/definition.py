"""Definitions of OpenStack projects: the processes of their records, and the jobs of their Python modules as data.

The definitions do not depend on Kubernetes or Pulumi. Numbers of instances and nodes come from the plan instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from blueprint.openstack.projects.process_definition import ConfigurationFile, ProcessDefinition
from openstack.config.layers import Secret, WrittenFile

if TYPE_CHECKING:
    from openstack.config.wiring import Wiring


@dataclass(frozen=True, kw_only=True)
class ClaimMount:
    """Mount of a persistent volume in a job, by the name of the volume's claim."""

    name: str
    claim: str
    path: str
    read_only: bool = False


@dataclass(frozen=True, kw_only=True)
class JobDefinition:
    """A job that must complete before the processes of its project start. Its command must be idempotent."""

    name: str
    image: str
    user: str
    command: str
    """The command that Kolla's start script runs: words separated by spaces, no shell."""
    written: tuple[WrittenFile, ...] = ()
    """Files that only the job has."""
    files: tuple[ConfigurationFile, ...] = ()
    """Files that the job reads, its own and those of its project, with their paths."""
    environment: tuple[tuple[str, str], ...] = ()
    secrets: tuple[tuple[str, Secret], ...] = ()
    """Names of environment variables with the secret that each contains."""
    quorums: tuple[str, ...] = ()
    """Quorums of the plan, such as mysqld, without whose majority the job fails."""
    long_statements: bool = False
    """Whether a statement in the database may take any time: a change of a large table takes minutes."""


Requirement = Literal["whole", "stopped", "nothing"]
"""State of the members of the quorums that an action's job uses (`JobDefinition.quorums`), before it may run:

- whole: every member is ready;
- stopped: no member exists;
- nothing: any state.
"""


@dataclass(frozen=True, kw_only=True)
class ActionDefinition:
    """A job that runs on a schedule or when the operator requests it.

    It becomes a CronJob, which is suspended if the action has no schedule.
    """

    job: JobDefinition
    purpose: str
    """What the action does, in one line, as `quorate action` lists it."""
    requires: Requirement = "nothing"
    schedule: str | None = None
    """Schedule in cron's syntax, in UTC; None if the action runs only on request."""
    beside: str | None = None
    """The process of the project, by its name in the plan, on whose nodes the job runs; None for the first one."""
    tests: str = ""
    """The action whose backups this one restores to a scratch copy and compares; empty if it tests none."""
    copies: str = ""
    """The action whose backups this one puts into an object store; empty if it copies none."""
    mounts: tuple[ClaimMount, ...] = ()
    attempts: int = 1
    deadline: int
    """Seconds after which the action is stopped, all attempts included."""


Configure = Callable[["Wiring", str], tuple[WrittenFile, ...]]
"""Function that returns the configuration files of a project for the process or job with the given name. A file of the
stack file replaces the project's file of the same name."""


@dataclass(frozen=True, kw_only=True)
class ProjectDefinition:
    """An OpenStack project such as Nova: processes that share a database, a user, endpoints, jobs and secrets."""

    name: str
    processes: tuple[ProcessDefinition, ...]
    needs: tuple[str, ...] = ()
    """Projects that must run before this project's jobs and processes start."""
    configure: Configure = lambda _wiring, _name: ()
    jobs: Callable[[Wiring], tuple[JobDefinition, ...]] = lambda _wiring: ()
    """Function that returns the project's jobs, in the order in which they run."""
    actions: Callable[[Wiring], tuple[ActionDefinition, ...]] = lambda _wiring: ()
