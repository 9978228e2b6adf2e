"""Reads a script the way a shell runs it: every program that it starts, on which machine, and after which checks.

Loops over known values are followed value by value, functions and scripts where they are called, and programs that run
other programs (sudo, ssh, xargs, …) to what they run. Both branches of a condition count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from tree_sitter import Node

from policy.facts.shell import checks, wrappers
from policy.facts.shell.builtin import BUILTINS
from policy.facts.shell.calls import HERE, Call, Write, is_foreign, printed, stands_for
from policy.facts.shell.flow import NEVER, Checked, Exits, check, join, plain
from policy.facts.shell.scope import DEEPEST, Scope
from policy.facts.shell.syntax import ASKED, UNKNOWN, Expander, Unreadable, is_known, parse, text_of

MOST_CALLS = 5000
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})
_NOT_EQUAL = frozenset({"!=", "-ne", "-lt", "-le", "-z"})
_READS_OUTPUT = frozenset({"grep", "egrep", "fgrep", "jq", "awk", "test", "["})

Statement = Callable[["Script", Node, Scope, Checked], Exits]


class Script:
    """Everything that a text does."""

    def __init__(
        self, scripts: Mapping[str, str] | None = None, local: Callable[[str], str | None] | None = None
    ) -> None:
        """`scripts`: texts by path of what was copied to the machine before. `local`: reads other files of it."""
        self.calls: list[Call] = []
        self.writes: list[Write] = []
        self.unread: list[str] = []
        """Why a part of it could not be read."""
        self._scripts = dict(scripts or {})
        self._local = local

    def run(self, text: str, scope: Scope | None = None, checked: Checked = False, stdin: str | None = None) -> Exits:
        """Follows a text. What cannot be read is noted in `unread`."""
        inner = scope or Scope()
        if stdin is not None:
            inner.stdin = stdin
        first, _, _ = text.partition("\n")
        inner.errexit |= bool(re.match(r"#!\s*\S*sh\s+-\w*e", first))
        if first.startswith("#!") and not re.match(r"#!\s*(?:/usr/bin/env\s+)?\S*sh\b", first):
            self.unread.append("a script in a language other than shell")
            return plain(checked)
        try:
            return self._shell(parse(text).children, inner, checked)
        except Unreadable as reason:
            self.unread.append(str(reason))
            return plain(checked)
        except RecursionError:
            self.unread.append("its shell text is nested too deeply")
            return plain(checked)

    def _shell(self, nodes: Sequence[Node], scope: Scope, checked: Checked) -> Exits:
        """A shell of its own: `exit` ends only it."""
        last = self._sequence(nodes, scope, checked)
        for each in (*scope.exits, *scope.returns):
            last = last.merged(each)
        return last

    def _sequence(self, nodes: Sequence[Node], scope: Scope, checked: Checked) -> Exits:
        last = plain(checked)
        for index, node in enumerate(nodes):
            if not node.is_named or node.type in ("comment", "heredoc_body"):
                continue
            entered = checked
            last = self._statement(node, scope, checked)
            if index + 1 < len(nodes) and nodes[index + 1].type == "&":
                last = plain(entered)
            if scope.errexit and last.failure is not None:
                scope.exits.append(Exits(None, last.failure))
                last = Exits(last.success, None, last.ignored)
            checked = last.then(scope.errexit)
        return last

    def _statement(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        known = _STATEMENTS.get(node.type)
        return known(self, node, scope, checked) if known else self._sequence(node.named_children, scope, checked)

    def _list(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        left, right = (each for each in node.named_children if each.type != "comment")
        operator = next(each.type for each in node.children if each.type in ("&&", "||"))
        one = self._statement(left, scope, checked)
        if operator == "&&":
            other = self._statement(right, scope, one.success)
            return Exits(other.success, other.failure, join(one.failed, other.ignored))
        other = self._statement(right, scope, one.failed)
        return Exits(join(one.success, other.success), other.failure, other.ignored)

    def _negated(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        return self._statement(node.named_children[0], scope, checked).inverted

    def _if(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        result, entered = NEVER, checked
        clauses = [each for each in node.children if each.type in ("elif_clause", "else_clause")]
        for clause in [node, *clauses]:
            if clause.type == "else_clause":
                return result.merged(self._sequence(clause.children, scope, entered))
            condition, body = _branches(clause)
            asked = self._sequence(condition, _without_errexit(scope), entered)
            result = result.merged(self._sequence(body, scope, asked.success))
            entered = asked.failed
        return result.merged(Exits(entered, None))

    def _while(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        body = node.child_by_field_name("body")
        if body is None:
            return self._sequence(node.named_children, scope, checked)
        condition = [each for each in node.named_children if each.id != body.id]
        outer, scope.breaks = scope.breaks, []
        asked = self._sequence(condition, _without_errexit(scope), checked)
        if node.children[0].type == "until":
            asked = Exits(asked.failed, asked.success)
        self._sequence(body.named_children, scope, asked.success)
        left = join(asked.failed, *scope.breaks)
        scope.breaks = outer
        return Exits(left, None)

    def _for(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        body = node.child_by_field_name("body")
        name = node.child_by_field_name("variable")
        if body is None or name is None:  # for ((…))
            return plain(join(checked, self._sequence(node.named_children, scope, checked).success))
        values = self._words(node.children_by_field_name("value"), scope, checked)
        outer, scope.breaks = scope.breaks, []
        after: Checked = checked
        for value in values or [UNKNOWN]:
            scope.variables[text_of(name)] = value
            done = self._sequence(body.named_children, scope, after)
            after = join(done.success, done.failed)
        certain = all(is_known(value) for value in values) and bool(values)
        left = join(after, *scope.breaks, None if certain else checked)
        scope.breaks = outer
        return Exits(left, None)

    def _case(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        value = node.child_by_field_name("value")
        word = self._text(value, scope, checked) if value else ""
        entered = True if ASKED in word and checked is not None else checked
        result = NEVER
        for item in node.named_children:
            if item.type == "case_item":
                patterns = {each.id for each in item.children_by_field_name("value")}
                body = [each for each in item.children if each.id not in patterns]
                result = result.merged(self._sequence(body, scope, entered))
        return result.merged(Exits(checked if entered == checked else None, None))

    def _pipeline(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        stages = [each for each in node.named_children if each.type != "comment"]
        return self._piped(stages, scope, checked, None, asked=False)

    def _piped(self, stages: Sequence[Node], scope: Scope, checked: Checked, text: str | None, asked: bool) -> Exits:
        """Stages of a pipeline; `text` is what the first one reads, `asked` whether that is a check's output."""
        exits = plain(checked)
        for stage in stages:
            before = len(self.calls)
            exits = self._with_input(stage, scope.below(), checked, text)
            made = self.calls[before:]
            text = printed(made[-1]) if made else None
            asks = any(checks.is_check(each.words) or any(ASKED in word for word in each.words) for each in made)
            if asked and made and made[-1].program in _READS_OUTPUT:
                exits = check(checked)
            asked |= asks
        return check(checked) if asked and scope.pipefail else exits

    def _with_input(self, node: Node, scope: Scope, checked: Checked, text: str | None) -> Exits:
        if node.type == "command":
            return self._command(node, scope, checked, text)
        if node.type == "redirected_statement":
            return self._redirected(node, scope, checked, text)
        if node.type == "list":  # `cat <<EOF | ssh host && next`: the grammar has the list below the pipe
            first, second = node.named_children
            one = self._with_input(first, scope, checked, text)
            return self._statement(second, scope, one.success if node.children[1].type == "&&" else one.failed)
        return self._statement(node, scope, checked)

    def _subshell(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        return self._shell(node.children, scope.below(), checked)

    def _compound(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        if node.children[0].type != "((":
            return self._sequence(node.children, scope, checked)
        used = any(ASKED in scope.variables.get(name, "") for name in re.findall(r"[A-Za-z_]\w*", text_of(node)))
        return Exits(True, True) if used and checked is not None else plain(checked)

    def _function(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name and body:
            scope.functions = {**scope.functions, text_of(name): body}
        return Exits(checked, None)

    def _assignment(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        text = self._text(value, scope, checked) if value else ""
        if name:
            scope.variables[text_of(name)] = text
        return check(checked) if ASKED in text else Exits(checked, checked)

    def _declaration(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        for each in node.named_children:
            if each.type == "variable_assignment":
                self._assignment(each, scope, checked)
        return plain(checked)  # its status is that of `export`, not of what is assigned

    def _test(self, node: Node, scope: Scope, checked: Checked) -> Exits:
        words = [self._text(each, scope, checked) for each in _leaves(node)]
        return _tested(words, checked)

    def _command(self, node: Node, scope: Scope, checked: Checked, text: str | None = None) -> Exits:
        name = node.child_by_field_name("name")
        if name is None:
            return self._sequence(node.named_children, scope, checked)
        own = [each for each in node.named_children if each.type == "variable_assignment"]
        inner = replace(scope, variables=dict(scope.variables)) if own else scope
        for each in own:
            self._assignment(each, inner, checked)
        arguments = node.children_by_field_name("argument")
        words = self._words([name.named_children[0], *arguments], scope, checked)
        for redirect in node.children_by_field_name("redirect"):
            text = self._redirect(redirect, scope, checked, text)
        return self.call(words, inner, checked, text)

    def _redirected(self, node: Node, scope: Scope, checked: Checked, text: str | None = None) -> Exits:
        targets: list[tuple[str, bool]] = []
        following: list[Node] = []
        for redirect in node.children_by_field_name("redirect"):
            if redirect.type == "file_redirect" and redirect.children[-2].type in (">", ">>", ">|", "&>", "&>>"):
                destination = redirect.child_by_field_name("destination")
                if destination is not None:
                    targets.append((self._text(destination, scope, checked), ">>" in text_of(redirect)))
            else:
                text = self._redirect(redirect, scope, checked, text)
                following += [
                    each for each in redirect.named_children if not each.type.startswith(("heredoc", "file_"))
                ]
        before = len(self.calls)
        body = node.child_by_field_name("body")
        exits = self._with_input(body, scope, checked, text) if body else plain(checked)
        made = self.calls[before:]
        copies = bool(made) and made[-1].program == "cat" and text is not None
        output = text if copies and text is not None else "".join(map(printed, made))
        for path, appends in targets:
            self._write(path, output, scope, checked, appends)
        if following:
            stage = following[0]
            if any(each.type in ("&&", "||") for each in node.children_by_field_name("redirect")[0].children):
                return self._statement(stage, scope, exits.success)
            stages = stage.named_children if stage.type == "pipeline" else [stage]
            asked = any(checks.is_check(each.words) for each in made)
            return self._piped(stages, scope, checked, output, asked=asked)
        return exits

    def _redirect(self, node: Node, scope: Scope, checked: Checked, text: str | None) -> str | None:
        """What a here-document or a here-string hands in; `text` for every other redirection."""
        if node.type == "herestring_redirect":
            return self._text(node.named_children[-1], scope, checked)
        if node.type != "heredoc_redirect":
            return text
        start = next(each for each in node.named_children if each.type == "heredoc_start")
        body = next((each for each in node.named_children if each.type == "heredoc_body"), None)
        if body is None:
            return ""
        written = text_of(body)
        if not re.match(r"['\"\\]", text_of(start)):
            written = self._text(body, scope, checked)
        return re.sub(r"^\t+", "", written, flags=re.M) if node.children[0].type == "<<-" else written

    def _write(self, path: str, text: str, scope: Scope, checked: Checked, appends: bool) -> None:
        absolute = scope.absolute(path)
        if appends:
            text = self._scripts.get(absolute, "") + text
        self._scripts[absolute] = text
        self.writes.append(Write(absolute, text, scope.host, bool(checked)))

    # What follows is about one program.

    def call(self, words: Sequence[str], scope: Scope, checked: Checked, text: str | None = None) -> Exits:
        """A program, a builtin, a function or a script, with what it reads."""
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

    def _started(self, name: str, words: Sequence[str], scope: Scope, checked: bool, text: str | None) -> Exits:
        """What is not a part of the script itself."""
        if name in _SHELLS or name in (".", "source"):
            return self._interpreted(name, words[1:], scope, checked, text)
        if name in ("[", "test"):
            return _tested(words[1:], checked)
        if len(self.calls) >= MOST_CALLS:
            raise Unreadable("it runs too many programs")
        self.calls.append(Call(tuple(words), scope.host, checked, scope.directory, len(self.calls)))
        if name == "tee" and text is not None:
            for path in words[1:]:
                if not path.startswith("-"):
                    self._write(path, text, scope, checked, "-a" in words)
        if inner := wrappers.inner(name, words[1:], text):
            exits = plain(checked)
            for each in inner:
                exits = self._inner(each, scope, checked)
            return exits
        return self._program(words, scope, checked)

    def _program(self, words: Sequence[str], scope: Scope, checked: bool) -> Exits:
        path = scope.absolute(words[0])
        if "/" in words[0] and self._known_script(path, scope) is not None:
            return self._script_file(path, words[1:], scope, checked)
        if is_foreign(words):
            self.unread.append(f"what {words[0].rpartition('/')[2]} runs cannot be read")
        return check(checked) if checks.is_check(words) else plain(checked)

    def _inner(self, inner: wrappers.Inner, scope: Scope, checked: Checked) -> Exits:
        below = scope.below(
            host=inner.host or scope.host,
            functions={} if inner.host else scope.functions,
            errexit=False,
            directory=HERE if inner.host else scope.directory,
        )
        if inner.words:
            return self.call(inner.words, below, checked, inner.stdin)
        return self.run(inner.text, below, checked)

    def _called(self, body: Node, arguments: Sequence[str], scope: Scope, checked: Checked) -> Exits:
        outer, returns = scope.arguments, scope.returns
        scope.arguments, scope.returns, scope.depth = tuple(arguments), [], scope.depth + 1
        if scope.depth > DEEPEST:
            raise Unreadable("its functions call each other too deeply")
        exits = self._statement(body, scope, checked)
        for each in scope.returns:
            exits = exits.merged(each)
        scope.arguments, scope.returns, scope.depth = outer, returns, scope.depth - 1
        return exits

    def _interpreted(self, shell: str, words: Sequence[str], scope: Scope, checked: bool, text: str | None) -> Exits:
        options = [word for word in words if word.startswith(("-", "+"))]
        operands = [word for word in words if not word.startswith(("-", "+"))]
        flags = "".join(option[1:] for option in options if not option.startswith("--"))
        below = scope if shell in (".", "source") else scope.below(errexit="e" in flags, functions={})
        if "c" in flags and operands:
            below.arguments = tuple(operands[2:])
            return self.run(operands[0], below, checked)
        if operands and "s" not in flags:
            return self._script_file(scope.absolute(operands[0]), operands[1:], below, checked)
        text = scope.stdin if text is None else text
        if text is None or UNKNOWN in text:
            self.unread.append("a shell reads a text that is not part of the stack")
            return plain(checked)
        return self.run(text, below, checked)

    def _script_file(self, path: str, arguments: Sequence[str], scope: Scope, checked: Checked) -> Exits:
        text = self._known_script(path, scope)
        if text is None or UNKNOWN in text:
            self.unread.append(f"script {path if is_known(path) else ''} is not part of the stack")
            return plain(checked)
        return self.run(text, scope.below(arguments=tuple(arguments), functions={}), checked)

    def _known_script(self, path: str, scope: Scope) -> str | None:
        if path in self._scripts:
            return self._scripts[path]
        return self._local(path) if self._local and scope.host == HERE else None

    def _words(self, nodes: Sequence[Node], scope: Scope, checked: Checked) -> list[str]:
        expander = self._expander(scope, checked)
        return [field for node in nodes for field in expander.fields(node)]

    def _text(self, node: Node, scope: Scope, checked: Checked) -> str:
        return self._expander(scope, checked).text(node)

    def _expander(self, scope: Scope, checked: Checked) -> Expander:
        return Expander(scope.variable, lambda node: self._output(node, scope, checked))

    def _output(self, node: Node, scope: Scope, checked: Checked) -> str:
        before = len(self.calls)
        self._shell(node.named_children, scope.below(), checked)
        made = self.calls[before:]
        if any(checks.is_check(each.words) for each in made):
            return ASKED
        return stands_for(made[0]) if len(made) == 1 else UNKNOWN


def _branches(node: Node) -> tuple[list[Node], list[Node]]:
    """Condition and body of an `if` or an `elif`."""
    condition, body = list[Node](), list[Node]()
    where = condition
    for child in node.children[1:]:
        if child.type == "then":
            where = body
        elif child.type not in ("elif_clause", "else_clause"):
            where.append(child)
    return condition, body


def _without_errexit(scope: Scope) -> Scope:
    """A condition may fail under `set -e`. What it assigns is known afterwards."""
    return replace(scope, errexit=False)


def _leaves(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type.endswith("_expression"):
            yield from _leaves(child)
        elif child.type not in ("[", "]", "[[", "]]", "(", ")"):
            yield child


def _tested(words: Sequence[str], checked: Checked) -> Exits:
    """A test of a check's output. Which of its outcomes is the healthy one is told by its operator."""
    if checked is None or not any(ASKED in word for word in words):
        return plain(checked)
    negated = bool(_NOT_EQUAL & set(words)) is not ("!" in words)
    return Exits(checked, True) if negated else Exits(True, checked)


_STATEMENTS: Mapping[str, Statement] = {
    "list": Script._list,  # pyright: ignore[reportPrivateUsage] - its own table
    "negated_command": Script._negated,  # pyright: ignore[reportPrivateUsage]
    "if_statement": Script._if,  # pyright: ignore[reportPrivateUsage]
    "while_statement": Script._while,  # pyright: ignore[reportPrivateUsage]
    "for_statement": Script._for,  # pyright: ignore[reportPrivateUsage]
    "c_style_for_statement": Script._for,  # pyright: ignore[reportPrivateUsage]
    "case_statement": Script._case,  # pyright: ignore[reportPrivateUsage]
    "pipeline": Script._pipeline,  # pyright: ignore[reportPrivateUsage]
    "subshell": Script._subshell,  # pyright: ignore[reportPrivateUsage]
    "compound_statement": Script._compound,  # pyright: ignore[reportPrivateUsage]
    "function_definition": Script._function,  # pyright: ignore[reportPrivateUsage]
    "variable_assignment": Script._assignment,  # pyright: ignore[reportPrivateUsage]
    "declaration_command": Script._declaration,  # pyright: ignore[reportPrivateUsage]
    "test_command": Script._test,  # pyright: ignore[reportPrivateUsage]
    "command": Script._command,  # pyright: ignore[reportPrivateUsage]
    "redirected_statement": Script._redirected,  # pyright: ignore[reportPrivateUsage]
}
