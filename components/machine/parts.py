"""Files of a machine, and steps that run on the machine in order.

These parts of a machine are plain data, the same for every target. `components/machine/directory.py` writes them as a
directory, from which `apply.sh` configures the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import pulumi

from components import templates
from components.machine.member_restart import MemberQuorum

_PATH = re.compile(r"(/[A-Za-z0-9@_-][A-Za-z0-9@._-]*)+")
"""Pattern of an absolute path without characters that need quoting in a shell or in the manifest."""
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_OWNER = re.compile(r"[a-z_][a-z0-9_-]*:[a-z_][a-z0-9_-]*")

ROOT = "root:root"
SecretText = str | pulumi.Output[str]
SecretTexts = pulumi.Output[Mapping[str, str]]
"""Texts of a secret file, by the name of the node."""


@dataclass(frozen=True)
class Unit:
    """A systemd unit that restarts when a file changes.

    `disrupts`: the quorum whose local member the unit runs, or None.
    """

    name: str
    disrupts: MemberQuorum | None = None


@dataclass(frozen=True)
class File:
    """A file of a machine. `content` is a template (templates.py) or, for a secret file, the text as an Output.

    If the nodes of a pool have different texts in a secret file, `content` is an Output of the texts by node name.

    Raises ValueError for a path that is relative or needs quoting, and for a secret file that all users may access.
    """

    path: str
    content: str | pulumi.Output[str] | pulumi.Output[Mapping[str, str]]
    owner: str = ROOT
    """User and group as `user:group`. They must exist before the steps run, because files are written before steps."""
    mode: int = 0o644
    secret: bool = False
    by_node: bool = False
    """Whether `content` has a text for each node."""
    restarts: Unit | None = None
    """The unit to restart when the file changes and the unit is running. A step starts the unit the first time."""

    def __post_init__(self) -> None:
        if not _PATH.fullmatch(self.path) or "/.." in self.path:
            raise ValueError(f"{self.path!r} is not a plain absolute path")
        if not _OWNER.fullmatch(self.owner):
            raise ValueError(f"owner {self.owner!r} of {self.path} is not user:group")
        if self.secret and self.mode & 0o007:
            raise ValueError(f"{self.path} is secret and has mode {self.mode:04o}; expected none for others")
        if self.by_node and not self.secret:
            raise ValueError(f"{self.path} differs between nodes; expected a secret file, or a template")
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
    disrupts: MemberQuorum | None = None
    """The quorum whose local member `apply` stops."""
    awaits_others: bool = False
    """Whether `apply` waits until other machines have run their earlier steps."""
    leave: str = ""
    """Commands that take the machine out of what the step did, when it leaves the stack; "" for none. Idempotent."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is not a valid name of a step; expected words joined by hyphens")


@dataclass(frozen=True)
class Question:
    """What is asked before the first file of the machine changes, since programs read some files again at once.

    `asks`: POSIX shell that succeeds if the files may change, else prints why not. `$HERE` is the machine's directory
    with the new files, `$SECRETS` that with the new secret files, and `$ROOT` precedes every path of the machine.
    """

    name: str
    does: str
    """A description in one line, written as a comment of the script."""
    asks: str


@dataclass(frozen=True)
class Parts:
    """Files, steps and questions of a machine. The parts that several modules define for it are added with `+`."""

    files: tuple[File, ...] = ()
    steps: tuple[Step, ...] = ()
    questions: tuple[Question, ...] = ()

    def __add__(self, other: Parts) -> Parts:
        return Parts(self.files + other.files, self.steps + other.steps, self.questions + other.questions)

    @property
    def plain_files(self) -> Mapping[str, str]:
        """Templates of the machine's files that are not secret, by path."""
        return {file.path: file.content for file in self.files if isinstance(file.content, str) and not file.secret}

    @property
    def secret_files(self) -> Mapping[str, SecretText]:
        """Contents of the secret files that are the same on all nodes of a pool, by path."""
        return {file.path: cast("SecretText", file.content) for file in self.files if file.secret and not file.by_node}

    @property
    def node_secret_files(self) -> Mapping[str, SecretTexts]:
        """Contents of the secret files that differ between the nodes of a pool, by path."""
        return {file.path: cast("SecretTexts", file.content) for file in self.files if file.by_node}

    @property
    def units(self) -> tuple[Unit, ...]:
        """Systemd units to restart when files of the machine change, without duplicates."""
        return tuple({file.restarts.name: file.restarts for file in self.files if file.restarts}.values())

    @property
    def quorums(self) -> Mapping[str, MemberQuorum]:
        """The quorums, by name, whose member on this machine is stopped by a step or by the restart of a unit."""
        found = [each.disrupts for each in (*self.steps, *self.units) if each.disrupts]
        return {quorum.name: quorum for quorum in found}

    @property
    def meeting(self) -> str | None:
        """Name of the first step that waits for other machines; None if there is none."""
        return next((step.name for step in self.ordered_steps() if step.awaits_others), None)

    def ordered_steps(self) -> tuple[Step, ...]:
        """Returns the steps in the order in which they run: each after the steps in its `after`, otherwise as given.

        Raises ValueError if steps have the same name, or if `after` has an unknown name or a cycle.
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
    """Returns the texts of a machine's files that are not secret, by path. `variables`: values of the placeholders.

    Raises KeyError for a placeholder without a value.
    """
    return templates.fill(parts.plain_files, variables)
