"""The state of a shell while its text is interpreted, and the interface by which statements call programs."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from tree_sitter import Node

from policy.shell.calls import HERE, Call
from policy.shell.flow import Checked, Exits
from policy.shell.syntax import DEFAULTS, UNKNOWN, Unreadable

DEEPEST = 12
"""Maximum depth of nested calls of scripts and functions; deeper shell text is Unreadable."""


@dataclass
class ShellScope:
    """The state of a shell while its text is interpreted: host, directory, variables, functions and options."""

    host: str = HERE
    directory: str = ""
    variables: dict[str, str] = field(default_factory=lambda: dict(DEFAULTS))
    arguments: tuple[str, ...] | None = None
    """Positional parameters ($1, $2, …) of the script or function; None if they are unknown."""
    functions: dict[str, Node] = field(default_factory=dict[str, Node])
    errexit: bool = False
    pipefail: bool = False
    stdin: str | None = None
    """Standard input of the script; None if there is none."""
    depth: int = 0
    exits: list[Exits] = field(default_factory=list[Exits])
    returns: list[Exits] = field(default_factory=list[Exits])
    breaks: list[Checked] = field(default_factory=list[Checked])

    def below(self, **changes: object) -> ShellScope:
        """Returns the scope of a subshell, whose assignments do not affect this scope. `changes`: fields that differ.

        Raises Unreadable if the calls are nested too deeply.
        """
        fresh = replace(self, variables=dict(self.variables), depth=self.depth + 1, exits=[], returns=[], breaks=[])
        for name, value in changes.items():
            setattr(fresh, name, value)
        if fresh.depth > DEEPEST:
            raise Unreadable("its scripts call each other too deeply")
        return fresh

    def absolute(self, path: str) -> str:
        """Returns `path` as an absolute path if the working directory is known; otherwise as a relative path."""
        if path.startswith("~/"):
            path = DEFAULTS["HOME"] + path[1:]
        joined = posixpath.join(self.directory, path)
        return posixpath.normpath(joined) if joined else joined

    def variable(self, name: str) -> str:
        """Returns the value of a variable or of a positional parameter; UNKNOWN if the value is not known."""
        if name in ("@", "*"):
            return UNKNOWN if self.arguments is None else " ".join(self.arguments)
        if name.isdigit() and name != "0":
            arguments = self.arguments
            if arguments is None:
                return UNKNOWN
            return arguments[int(name) - 1] if int(name) <= len(arguments) else ""
        if name == "!":
            return "$!"  # a process that the script started
        if name == "PWD":
            return self.directory or UNKNOWN
        return self.variables.get(name, UNKNOWN)


class Shell(Protocol):
    """The interface of `Script` (script.py) that statements.py uses to interpret the parts of a statement."""

    calls: list[Call]

    def call(self, words: Sequence[str], scope: ShellScope, checked: Checked, text: str | None = None) -> Exits:
        """Interprets a call of a program, builtin, function or script, without running it. Returns how it can end.

        `words`: the name and its arguments. `text`: standard input of the call, None if unknown.
        """
        ...

    def words(self, nodes: Sequence[Node], scope: ShellScope, checked: Checked) -> list[str]:
        """Expands the words of a command line. A variable whose value has white space expands to several words."""
        ...

    def text(self, node: Node, scope: ShellScope, checked: Checked) -> str:
        """Expands one word without splitting it at white space."""
        ...

    def write(self, path: str, text: str, scope: ShellScope, checked: Checked, appends: bool) -> None:
        """Records a file that the script writes."""
        ...
