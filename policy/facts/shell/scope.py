"""The state of a shell, and the interface that runs its programs."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from tree_sitter import Node

from policy.facts.shell.calls import HERE, Call
from policy.facts.shell.flow import Checked, Exits
from policy.facts.shell.syntax import DEFAULTS, UNKNOWN, Unreadable

DEEPEST = 12
"""Limit of nested calls of scripts and functions. No known script comes near it."""


@dataclass
class Scope:
    """The state of a shell: host, directory, variables, functions and options."""

    host: str = HERE
    directory: str = ""
    variables: dict[str, str] = field(default_factory=lambda: dict(DEFAULTS))
    arguments: tuple[str, ...] | None = None
    """Positional parameters; None if they are unknown."""
    functions: dict[str, Node] = field(default_factory=dict[str, Node])
    errexit: bool = False
    pipefail: bool = False
    stdin: str | None = None
    """Standard input of the script; None if there is none."""
    depth: int = 0
    exits: list[Exits] = field(default_factory=list[Exits])
    returns: list[Exits] = field(default_factory=list[Exits])
    breaks: list[Checked] = field(default_factory=list[Checked])

    def below(self, **changes: object) -> Scope:
        """Returns the scope of a subshell, whose assignments do not affect this one."""
        fresh = replace(self, variables=dict(self.variables), depth=self.depth + 1, exits=[], returns=[], breaks=[])
        for name, value in changes.items():
            setattr(fresh, name, value)
        if fresh.depth > DEEPEST:
            raise Unreadable("its scripts call each other too deeply")
        return fresh

    def absolute(self, path: str) -> str:
        """The absolute path if the directory is known; otherwise the relative path."""
        if path.startswith("~/"):
            path = DEFAULTS["HOME"] + path[1:]
        joined = posixpath.join(self.directory, path)
        return posixpath.normpath(joined) if joined else joined

    def variable(self, name: str) -> str:
        """The value of a variable or of a positional parameter, UNKNOWN if it is not known."""
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
    """Interface of script.py for statements.py."""

    calls: list[Call]

    def call(self, words: Sequence[str], scope: Scope, checked: Checked, text: str | None = None) -> Exits:
        """Follows a call of a program, builtin, function or script. `text`: its standard input."""
        ...

    def words(self, nodes: Sequence[Node], scope: Scope, checked: Checked) -> list[str]:
        """Expands words. A variable with white space expands to several words."""
        ...

    def text(self, node: Node, scope: Scope, checked: Checked) -> str:
        """Expands one word, without splitting it."""
        ...

    def write(self, path: str, text: str, scope: Scope, checked: Checked, appends: bool) -> None:
        """Records a file that the script writes."""
        ...
