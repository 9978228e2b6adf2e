"""Interprets shell builtins, without running them: those that change the state of the shell, such as cd, or end it."""
# ruff: noqa: ARG001 - all builtins have the same signature

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from policy.shell.flow import NEVER, Checked, Exits, plain
from policy.shell.scope import ShellScope
from policy.shell.syntax import DEFAULTS, UNKNOWN, is_known

Run = Callable[[str, ShellScope, Checked], Exits]
"""Function that interprets shell text in a scope and returns how the text can end (`Script.run`)."""


def _cd(run: Run, words: Sequence[str], scope: ShellScope, checked: Checked) -> Exits:
    scope.directory = scope.absolute(words[-1]) if words else DEFAULTS["HOME"]
    return plain(checked)


def _set(run: Run, words: Sequence[str], scope: ShellScope, checked: Checked) -> Exits:
    for index, word in enumerate(words):
        if word.startswith("-") and "e" in word[1:] and not word.startswith("--"):
            scope.errexit = True
        if word.startswith("+") and "e" in word[1:]:
            scope.errexit = False
        if word == "errexit" and index and words[index - 1] == "-o":
            scope.errexit = True
        scope.pipefail |= word == "pipefail"
    if "--" in words:
        scope.arguments = tuple(words[words.index("--") + 1 :])
    return plain(checked)


def _exit(run: Run, words: Sequence[str], scope: ShellScope, checked: Checked) -> Exits:
    scope.exits.append(_status(words, checked))
    return NEVER


def _return(run: Run, words: Sequence[str], scope: ShellScope, checked: Checked) -> Exits:
    scope.returns.append(_status(words, checked))
    return NEVER


def _status(words: Sequence[str], checked: Checked) -> Exits:
    if not words or not is_known(words[0]):
        return plain(checked)
    return Exits(checked, None) if words[0] == "0" else Exits(None, checked)


def _break(run: Run, words: Sequence[str], scope: ShellScope, checked: Checked) -> Exits:
    scope.breaks.append(checked)
    return NEVER


def _eval(run: Run, words: Sequence[str], scope: ShellScope, checked: Checked) -> Exits:
    return run(" ".join(words), replace(scope, depth=scope.depth + 1), checked)


def _trap(run: Run, words: Sequence[str], scope: ShellScope, checked: Checked) -> Exits:
    if len(words) > 1 and words[0] not in ("-", ""):
        run(words[0], scope.below(), checked)
    return plain(checked)


def _read(run: Run, words: Sequence[str], scope: ShellScope, checked: Checked) -> Exits:
    for word in words:
        if not word.startswith("-"):
            scope.variables[word] = UNKNOWN
    return plain(checked)


def _true(run: Run, words: Sequence[str], scope: ShellScope, checked: Checked) -> Exits:
    return Exits(checked, None)


def _false(run: Run, words: Sequence[str], scope: ShellScope, checked: Checked) -> Exits:
    return Exits(None, checked)


BUILTINS: Mapping[str, Callable[[Run, Sequence[str], ShellScope, Checked], Exits]] = {
    "cd": _cd,
    "pushd": _cd,
    "set": _set,
    "exit": _exit,
    "return": _return,
    "break": _break,
    "eval": _eval,
    "trap": _trap,
    "read": _read,
    "true": _true,
    ":": _true,
    "false": _false,
}
