"""What a machine is given: files at paths of the machine, and steps that are run on it in order.

Plain data, the same for every target. `components/machine/directory.py` lays it out as a directory, `apply.sh` brings a
machine to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components import templates

_PATH = re.compile(r"(/[A-Za-z0-9@_-][A-Za-z0-9@._-]*)+")
"""Absolute, with nothing in it that a shell or the manifest would have to quote."""
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_OWNER = re.compile(r"[a-z_][a-z0-9_-]*:[a-z_][a-z0-9_-]*")

ROOT = "root:root"


@dataclass(frozen=True)
class Quorum:
    """Members that decide by majority, and how a machine that carries a member asks about it.

    Both commands are POSIX shell. `may_stop` succeeds if the others keep a majority without this machine's member, and
    otherwise prints why not. `is_back` succeeds once the member is healthy again.
    """

    name: str
    may_stop: str
    is_back: str


@dataclass(frozen=True)
class Unit:
    """A systemd unit that a file restarts, and the quorum whose member it is."""

    name: str
    disrupts: Quorum | None = None


@dataclass(frozen=True)
class File:
    """A file of a machine. `content` is a template (templates.py); of a secret file it is the text, as an Output.

    Raises ValueError for a path that is not absolute and plain, and for a secret that others may read.
    """

    path: str
    content: str | pulumi.Output[str]
    owner: str = ROOT
    """User and group as `user:group`. Files come before steps: both must exist on the machine by then."""
    mode: int = 0o644
    secret: bool = False
    restarts: Unit | None = None
    """Restarted after the file changed, if it runs; starting it is a step's part."""

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
    """Something done on a machine, in POSIX shell; `$ROOT` precedes every absolute path of the machine.

    `check` succeeds when nothing is left to do, and changes nothing. `apply` does it; run twice, it does no harm.
    Raises ValueError for a name that is not lower-case words joined by hyphens.
    """

    name: str
    does: str
    """One line for the reader of the script."""
    check: str
    apply: str
    after: tuple[str, ...] = ()
    """Names of steps of the same machine."""
    disrupts: Quorum | None = None
    """The quorum whose member on this machine `apply` stops."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is not a valid name of a step; expected words joined by hyphens")


@dataclass(frozen=True)
class Parts:
    """Files and steps of a machine, of all components that contribute to it."""

    files: tuple[File, ...] = ()
    steps: tuple[Step, ...] = ()

    def __add__(self, other: Parts) -> Parts:
        return Parts(self.files + other.files, self.steps + other.steps)

    @property
    def plain_files(self) -> Mapping[str, str]:
        """Templates of the files without a secret, by path."""
        return {file.path: file.content for file in self.files if isinstance(file.content, str) and not file.secret}

    @property
    def secret_files(self) -> Mapping[str, str | pulumi.Output[str]]:
        """Contents of the secret files, by path."""
        return {file.path: file.content for file in self.files if file.secret}

    @property
    def units(self) -> tuple[Unit, ...]:
        """Units that files restart, each once."""
        return tuple({file.restarts.name: file.restarts for file in self.files if file.restarts}.values())

    @property
    def quorums(self) -> Mapping[str, Quorum]:
        """Quorums whose members steps and restarts stop, by name."""
        found = [each.disrupts for each in (*self.steps, *self.units) if each.disrupts]
        return {quorum.name: quorum for quorum in found}

    def ordered_steps(self) -> tuple[Step, ...]:
        """Steps in the order in which they are run: each after those that it names, otherwise as they were given.

        Raises ValueError for a name that is given twice or that is not there, and for a circle.
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
    """Texts of the files of one machine, without secrets. Raises KeyError for a place that nothing fills."""
    return templates.fill(parts.plain_files, variables)
