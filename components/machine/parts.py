"""Files of a machine, and steps that run on the machine in order.

Plain data, the same for every target. `components/machine/directory.py` writes it as a directory, from which `apply.sh`
configures the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components import templates

_PATH = re.compile(r"(/[A-Za-z0-9@_-][A-Za-z0-9@._-]*)+")
"""An absolute path without characters that need quoting in a shell or in the manifest."""
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_OWNER = re.compile(r"[a-z_][a-z0-9_-]*:[a-z_][a-z0-9_-]*")

ROOT = "root:root"


@dataclass(frozen=True)
class Quorum:
    """A quorum that has a member on the machine, with the commands that check it.

    Both commands are POSIX shell. `may_stop` succeeds if the other members keep a majority, else it prints why not.
    `is_back` succeeds if this machine's member is healthy.
    """

    name: str
    may_stop: str
    is_back: str


@dataclass(frozen=True)
class Unit:
    """A systemd unit that restarts if a file changes, and the quorum that it is a member of."""

    name: str
    disrupts: Quorum | None = None


@dataclass(frozen=True)
class File:
    """A file of a machine. `content` is a template (templates.py), or the text of a secret file, as an Output.

    Raises ValueError for a path that is not absolute and plain, and for a secret file that others may read.
    """

    path: str
    content: str | pulumi.Output[str]
    owner: str = ROOT
    """User and group as `user:group`. Both must exist on the machine already, since files are written before steps."""
    mode: int = 0o644
    secret: bool = False
    restarts: Unit | None = None
    """The unit to restart when the file changes, if it is running; a step starts it."""

    def __post_init__(self) -> None:
        if not _PATH.fullmatch(self.path) or "/.." in self.path:
            raise ValueError(f"{self.path!r} is not a plain absolute path")
        if not _OWNER.fullmatch(self.owner):
            raise ValueError(f"owner {self.owner!r} of {self.path} is not user:group")
        if self.secret and self.mode & 0o007:
            raise ValueError(f"{self.path} is secret and has mode {self.mode:04o}; expected none for others")
        if not self.secret and not isinstance(self.content, str):
            raise ValueError(f"{self.path} has content that is known later; expected a secret file")


@dataclass(frozen=True)
class Step:
    """A command on a machine, in POSIX shell; `$ROOT` precedes every absolute path of the machine.

    `check` succeeds if nothing is left to do, and changes nothing. `apply` does the work and is idempotent.
    Raises ValueError for a name that is not lower-case words joined by hyphens.
    """

    name: str
    does: str
    """A description in one line, written as a comment of the script."""
    check: str
    apply: str
    after: tuple[str, ...] = ()
    """Names of the machine's steps that must run before this one."""
    disrupts: Quorum | None = None
    """The quorum whose local member `apply` stops."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is not a valid name of a step; expected words joined by hyphens")


@dataclass(frozen=True)
class Parts:
    """Files and steps of a machine, from one or more modules."""

    files: tuple[File, ...] = ()
    steps: tuple[Step, ...] = ()

    def __add__(self, other: Parts) -> Parts:
        return Parts(self.files + other.files, self.steps + other.steps)

    @property
    def plain_files(self) -> Mapping[str, str]:
        """Templates of the files that are not secret, by path."""
        return {file.path: file.content for file in self.files if isinstance(file.content, str) and not file.secret}

    @property
    def secret_files(self) -> Mapping[str, str | pulumi.Output[str]]:
        """Contents of the secret files, by path."""
        return {file.path: file.content for file in self.files if file.secret}

    @property
    def units(self) -> tuple[Unit, ...]:
        """Units to restart when files change, each once."""
        return tuple({file.restarts.name: file.restarts for file in self.files if file.restarts}.values())

    @property
    def quorums(self) -> Mapping[str, Quorum]:
        """Quorums whose local member is stopped by a step or a restart, by name."""
        found = [each.disrupts for each in (*self.steps, *self.units) if each.disrupts]
        return {quorum.name: quorum for quorum in found}

    def ordered_steps(self) -> tuple[Step, ...]:
        """Returns the steps in the order in which they run: each after those in its `after`, otherwise as given.

        Raises ValueError for a duplicate or unknown name, and for a cycle.
        """
        names = [step.name for step in self.steps]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"several steps are named {', '.join(doubled)}")
        waiting, done = list(self.steps), list[Step]()
        while waiting:
            ready = _first_ready(waiting, {step.name for step in done})
            if ready is None:
                raise ValueError(f"no order of the steps {', '.join(step.name for step in waiting)} respects `after`")
            waiting.remove(ready)
            done.append(ready)
        return tuple(done)


def _first_ready(steps: Sequence[Step], done: Iterable[str]) -> Step | None:
    return next((step for step in steps if set(step.after) <= set(done)), None)


def filled(parts: Parts, variables: Mapping[str, str]) -> dict[str, str]:
    """Returns the texts of one machine's files, without secrets. Raises KeyError for a placeholder without a value."""
    return templates.fill(parts.plain_files, variables)
