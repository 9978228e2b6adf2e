"""Interprets a shell script without running it, to find the programs that it starts, where, after which quorum checks.

Functions and other scripts are interpreted where the script calls them, and so are the programs that sudo, ssh, xargs
and the like run (wrappers.py). statements.py interprets the control flow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tree_sitter import Node

from policy.shell import checks, edits, wrappers
from policy.shell.builtin import BUILTINS
from policy.shell.calls import HERE, Call, Write, is_foreign, stands_for
from policy.shell.flow import Checked, Exits, check, plain
from policy.shell.scope import DEEPEST, ShellScope
from policy.shell.statements import run_shell, statement
from policy.shell.syntax import ASKED, UNKNOWN, Expander, Unreadable, is_known, parse

MOST_CALLS = 5000
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})


class Script:
    """The programs that a shell text runs, and the files that it writes."""

    def __init__(
        self,
        scripts: Mapping[str, str] | None = None,
        local: Callable[[str], str | None] | None = None,
        elsewhere: Callable[[str], Mapping[str, str]] | None = None,
    ) -> None:
        """`scripts`: texts of files on the machine, by path. `local`: reads other files there; None if it has none.

        `elsewhere`: returns texts of files on another machine, as the script names it; None if there are none.
        """
        self.calls: list[Call] = []
        self.writes: list[Write] = []
        self.unread: list[str] = []
        """Reasons why parts of the shell text could not be interpreted, for messages."""
        self._files = {HERE: dict(scripts or {})}
        self._local = local
        self._elsewhere = elsewhere

    def run(
        self, text: str, scope: ShellScope | None = None, checked: Checked = False, stdin: str | None = None
    ) -> Exits:
        """Interprets shell text, without running it, and returns how the text can end.

        Adds its programs to `calls` and its files to `writes`. If a part cannot be interpreted, adds the reason to
        `unread`. `checked`: whether a quorum check has succeeded before. `stdin`: standard input, None if unknown.
        """
        inner = scope or ShellScope()
        if stdin is not None:
            inner.stdin = stdin
        first, _, _ = text.partition("\n")
        inner.errexit |= bool(re.match(r"#!\s*\S*sh\s+-\w*e", first))
        if first.startswith("#!") and not re.match(r"#!\s*(?:/usr/bin/env\s+)?\S*sh\b", first):
            self.unread.append("a script in a language other than shell")
            return plain(checked)
        try:
            return run_shell(self, parse(text).children, inner, checked)
        except Unreadable as reason:
            self.unread.append(str(reason))
            return plain(checked)
        except RecursionError:
            self.unread.append("its shell text is nested too deeply")
            return plain(checked)

    def write(self, path: str, text: str, scope: ShellScope, checked: Checked, appends: bool) -> None:
        """Records a file that a redirection writes."""
        self._write(edits.Edit(path, text, appends), scope, checked)

    def _write(self, edit: edits.Edit, scope: ShellScope, checked: Checked, by: str = "") -> None:
        path, text, appends = edit.path, edit.text, edit.appends
        absolute = scope.absolute(path)
        files = self._on(scope.host)
        whole = files.get(absolute, "") + text if appends else text
        files[absolute] = whole
        self.writes.append(Write(absolute, whole, scope.host, bool(checked), text if appends else None, by))

    def _on(self, host: str) -> dict[str, str]:
        """Returns the known files of a machine, by path."""
        if host not in self._files:
            self._files[host] = dict(self._elsewhere(host)) if self._elsewhere else {}
        return self._files[host]

    def call(self, words: Sequence[str], scope: ShellScope, checked: Checked, text: str | None = None) -> Exits:
        """Interprets a call of a program, builtin, function or script, without running it. Returns how it can end.

        `words`: the name and its arguments. `text`: standard input of the call, None if unknown.
        """
        if not words or checked is None:
            return plain(checked)
        if not is_known(words[0]):
            self.unread.append("the name of a program is not known")
            return plain(checked)
        if builtin := BUILTINS.get(words[0]):
            return builtin(self.run, words[1:], scope, checked)
        if body := scope.functions.get(words[0]):
            return self._called(body, words[1:], scope, checked)
        return self._started(words[0].rpartition("/")[2], words, scope, checked, text)

    def _started(self, name: str, words: Sequence[str], scope: ShellScope, checked: bool, text: str | None) -> Exits:
        """Interprets a call of a program or a script, which is neither a builtin nor a function, without running it."""
        if name in _SHELLS or name in (".", "source"):
            return self._interpreted(name, words[1:], scope, checked, text)
        if name in ("[", "test"):
            return checks.tested(words[1:], checked)
        if len(self.calls) >= MOST_CALLS:
            raise Unreadable("it runs too many programs")
        around = self._around(scope, text)
        call = Call(tuple(words), scope.host, checked, scope.directory, len(self.calls), edits.output(words, around))
        self.calls.append(call)
        for each in edits.edits(words, around):
            there = scope.below(host=each.host, directory=HERE) if each.host else scope
            self._write(each, there, checked, by=name)
        if inner := wrappers.inner(name, words[1:], text):
            exits = plain(checked)
            for each in inner:
                exits = self._inner(each, scope, checked)
            return exits
        return self._program(words, scope, checked)

    def _around(self, scope: ShellScope, text: str | None) -> edits.Surroundings:
        return edits.Surroundings(
            stdin=scope.stdin if text is None else text,
            read=lambda path: self._known_script(scope.absolute(path), scope),
            paths=lambda: list(self._on(scope.host)),
        )

    def _program(self, words: Sequence[str], scope: ShellScope, checked: bool) -> Exits:
        path = scope.absolute(words[0])
        if "/" in words[0] and self._known_script(path, scope) is not None:
            return self._script_file(path, words[1:], scope, checked)
        if is_foreign(words):
            self.unread.append(f"what {words[0].rpartition('/')[2]} runs cannot be read")
        return check(checked) if checks.is_check(words) else plain(checked)

    def _inner(self, inner: wrappers.Inner, scope: ShellScope, checked: Checked) -> Exits:
        below = scope.below(
            host=inner.host or scope.host,
            functions={} if inner.host else scope.functions,
            errexit=False,
            directory=HERE if inner.host else scope.directory,
        )
        if inner.words:
            return self.call(inner.words, below, checked, inner.stdin)
        return self.run(inner.text, below, checked, inner.stdin)

    def _called(self, body: Node, arguments: Sequence[str], scope: ShellScope, checked: Checked) -> Exits:
        outer, returns = scope.arguments, scope.returns
        scope.arguments, scope.returns, scope.depth = tuple(arguments), [], scope.depth + 1
        if scope.depth > DEEPEST:
            raise Unreadable("its functions call each other too deeply")
        exits = statement(self, body, scope, checked)
        for each in scope.returns:
            exits = exits.merged(each)
        scope.arguments, scope.returns, scope.depth = outer, returns, scope.depth - 1
        return exits

    def _interpreted(
        self, shell: str, words: Sequence[str], scope: ShellScope, checked: bool, text: str | None
    ) -> Exits:
        options = [word for word in words if word.startswith(("-", "+"))]
        operands = [word for word in words if not word.startswith(("-", "+"))]
        flags = "".join(option[1:] for option in options if not option.startswith("--"))
        below = scope if shell in (".", "source") else scope.below(errexit="e" in flags, functions={})
        if "c" in flags and operands:
            below.arguments = tuple(operands[2:])
            return self.run(operands[0], below, checked, text)
        if operands and "s" not in flags:
            return self._script_file(scope.absolute(operands[0]), operands[1:], below, checked)
        text = scope.stdin if text is None else text
        if text is None or UNKNOWN in text:
            self.unread.append("a shell reads a text that is not part of the stack")
            return plain(checked)
        return self.run(text, below, checked)

    def _script_file(self, path: str, arguments: Sequence[str], scope: ShellScope, checked: Checked) -> Exits:
        text = self._known_script(path, scope)
        if text is None or UNKNOWN in text:
            self.unread.append(f"script {path if is_known(path) else ''} is not part of the stack")
            return plain(checked)
        return self.run(text, scope.below(arguments=tuple(arguments), functions={}), checked)

    def _known_script(self, path: str, scope: ShellScope) -> str | None:
        if path in (files := self._on(scope.host)):
            return files[path]
        return self._local(path) if self._local and scope.host == HERE else None

    def words(self, nodes: Sequence[Node], scope: ShellScope, checked: Checked) -> list[str]:
        """Expands the words of a command line. A variable whose value has white space expands to several words."""
        expander = self._expander(scope, checked)
        return [field for node in nodes for field in expander.fields(node)]

    def text(self, node: Node, scope: ShellScope, checked: Checked) -> str:
        """Expands one word without splitting it at white space."""
        return self._expander(scope, checked).text(node)

    def _expander(self, scope: ShellScope, checked: Checked) -> Expander:
        return Expander(scope.variable, lambda node: self._output(node, scope, checked))

    def _output(self, node: Node, scope: ShellScope, checked: Checked) -> str:
        before = len(self.calls)
        run_shell(self, node.named_children, scope.below(), checked)
        made = self.calls[before:]
        if any(checks.is_check(each.words) for each in made):
            return ASKED
        return stands_for(made[0]) if len(made) == 1 else UNKNOWN
