"""Interprets statements of shell text, without running them: lists, conditions, loops, pipelines, redirections.

The body of a loop is interpreted for each known value, and both branches of a condition are interpreted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from policy.shell import checks
from policy.shell.calls import printed
from policy.shell.flow import NEVER, Checked, Exits, check, join, plain
from policy.shell.scope import Shell, ShellScope
from policy.shell.syntax import ASKED, UNKNOWN, is_known, text_of

_READS_OUTPUT = frozenset({"grep", "egrep", "fgrep", "jq", "awk", "test", "["})


def run_shell(shell: Shell, nodes: Sequence[Node], scope: ShellScope, checked: Checked) -> Exits:
    """Interprets statements as the whole text of a shell, which `exit` ends. Returns how the shell can end."""
    last = _sequence(shell, nodes, scope, checked)
    for each in (*scope.exits, *scope.returns):
        last = last.merged(each)
    return last


def _sequence(shell: Shell, nodes: Sequence[Node], scope: ShellScope, checked: Checked) -> Exits:
    last = plain(checked)
    for index, node in enumerate(nodes):
        if not node.is_named or node.type in ("comment", "heredoc_body"):
            continue
        entered = checked
        last = statement(shell, node, scope, checked)
        if index + 1 < len(nodes) and nodes[index + 1].type == "&":
            last = plain(entered)
        if scope.errexit and last.failure is not None:
            scope.exits.append(Exits(None, last.failure))
            last = Exits(last.success, None, last.ignored)
        checked = last.then(scope.errexit)
    return last


def statement(shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    """Interprets one statement and returns how it can end. Assignments take effect in `scope`."""
    known = _STATEMENTS.get(node.type)
    return known(shell, node, scope, checked) if known else _sequence(shell, node.named_children, scope, checked)


def _list(shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    left, right = (each for each in node.named_children if each.type != "comment")
    operator = next(each.type for each in node.children if each.type in ("&&", "||"))
    one = statement(shell, left, scope, checked)
    if operator == "&&":
        other = statement(shell, right, scope, one.success)
        return Exits(other.success, other.failure, join(one.failed, other.ignored))
    other = statement(shell, right, scope, one.failed)
    return Exits(join(one.success, other.success), other.failure, other.ignored)


def _negated(shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    return statement(shell, node.named_children[0], scope, checked).inverted


def _if(shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    result, entered = NEVER, checked
    clauses = [each for each in node.children if each.type in ("elif_clause", "else_clause")]
    for clause in [node, *clauses]:
        if clause.type == "else_clause":
            return result.merged(_sequence(shell, clause.children, scope, entered))
        condition, body = _branches(clause)
        asked = _sequence(shell, condition, replace(scope, errexit=False), entered)
        result = result.merged(_sequence(shell, body, scope, asked.success))
        entered = asked.failed
    return result.merged(Exits(entered, None))


def _while(shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    body = node.child_by_field_name("body")
    if body is None:
        return _sequence(shell, node.named_children, scope, checked)
    condition = [each for each in node.named_children if each.id != body.id]
    outer, scope.breaks = scope.breaks, []
    asked = _sequence(shell, condition, replace(scope, errexit=False), checked)
    if node.children[0].type == "until":
        asked = Exits(asked.failed, asked.success)
    _sequence(shell, body.named_children, scope, asked.success)
    left = join(asked.failed, *scope.breaks)
    scope.breaks = outer
    return Exits(left, None)


def _for(shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    body = node.child_by_field_name("body")
    name = node.child_by_field_name("variable")
    if body is None or name is None:  # for ((…))
        return plain(join(checked, _sequence(shell, node.named_children, scope, checked).success))
    values = shell.words(node.children_by_field_name("value"), scope, checked)
    outer, scope.breaks = scope.breaks, []
    after: Checked = checked
    for value in values or [UNKNOWN]:
        scope.variables[text_of(name)] = value
        done = _sequence(shell, body.named_children, scope, after)
        after = join(done.success, done.failed)
    certain = all(is_known(value) for value in values) and bool(values)
    left = join(after, *scope.breaks, None if certain else checked)
    scope.breaks = outer
    return Exits(left, None)


def _case(shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    result = NEVER
    for item in node.named_children:
        if item.type == "case_item":
            patterns = {each.id for each in item.children_by_field_name("value")}
            body = [each for each in item.children if each.id not in patterns]
            result = result.merged(_sequence(shell, body, scope, checked))
    return result.merged(Exits(checked, None))


@dataclass(frozen=True)
class _Given:
    """Standard input of a pipeline's stages."""

    text: str | None = None
    asked: bool = False
    """Whether the input is the output of a quorum check."""


def _pipeline(shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    stages = [each for each in node.named_children if each.type != "comment"]
    return _piped(shell, stages, scope, checked, _Given())


def _piped(shell: Shell, stages: Sequence[Node], scope: ShellScope, checked: Checked, given: _Given) -> Exits:
    """Interprets the stages of a pipeline and returns how it can end. `given`: standard input of the first stage."""
    exits, text, asked = plain(checked), given.text, given.asked
    for stage in stages:
        before = len(shell.calls)
        exits = _with_input(shell, stage, scope.below(), checked, text)
        made = shell.calls[before:]
        text = printed(made[-1]) if made else None
        asks = any(checks.is_check(each.words) or any(ASKED in word for word in each.words) for each in made)
        if asked and made and made[-1].program in _READS_OUTPUT:
            exits = check(checked)
        asked |= asks
    return check(checked) if asked and scope.pipefail else exits


def _with_input(shell: Shell, node: Node, scope: ShellScope, checked: Checked, text: str | None) -> Exits:
    if node.type == "command":
        return _command(shell, node, scope, checked, text)
    if node.type == "redirected_statement":
        return _redirected(shell, node, scope, checked, text)
    if node.type == "list":  # `cat <<EOF | ssh host && next`: the grammar parses the list as part of the pipeline
        first, second = node.named_children
        one = _with_input(shell, first, scope, checked, text)
        return statement(shell, second, scope, one.success if node.children[1].type == "&&" else one.failed)
    return statement(shell, node, scope, checked)


def _subshell(shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    return run_shell(shell, node.children, scope.below(), checked)


def _compound(shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    return plain(checked) if node.children[0].type == "((" else _sequence(shell, node.children, scope, checked)


def _function(_shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name and body:
        scope.functions = {**scope.functions, text_of(name): body}
    return Exits(checked, None)


def _assignment(shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    text = shell.text(value, scope, checked) if value else ""
    if name:
        scope.variables[text_of(name)] = text
    return check(checked) if ASKED in text else Exits(checked, checked)


def _declaration(shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    for each in node.named_children:
        if each.type == "variable_assignment":
            _assignment(shell, each, scope, checked)
    return plain(checked)  # the exit status is that of `export`, not of the assigned command


def _test(shell: Shell, node: Node, scope: ShellScope, checked: Checked) -> Exits:
    words = [shell.text(each, scope, checked) for each in _leaves(node)]
    return checks.tested(words, checked)


def _command(shell: Shell, node: Node, scope: ShellScope, checked: Checked, text: str | None = None) -> Exits:
    name = node.child_by_field_name("name")
    if name is None:
        return _sequence(shell, node.named_children, scope, checked)
    own = [each for each in node.named_children if each.type == "variable_assignment"]
    inner = replace(scope, variables=dict(scope.variables)) if own else scope
    for each in own:
        _assignment(shell, each, inner, checked)
    arguments = node.children_by_field_name("argument")
    words = shell.words([name.named_children[0], *arguments], scope, checked)
    for redirect in node.children_by_field_name("redirect"):
        text = _redirect(shell, redirect, scope, checked, text)
    return shell.call(words, inner, checked, text)


def _redirected(shell: Shell, node: Node, scope: ShellScope, checked: Checked, text: str | None = None) -> Exits:
    targets: list[tuple[str, bool]] = []
    following: list[Node] = []
    for redirect in node.children_by_field_name("redirect"):
        if redirect.type == "file_redirect" and redirect.children[-2].type in (">", ">>", ">|", "&>", "&>>"):
            destination = redirect.child_by_field_name("destination")
            if destination is not None:
                targets.append((shell.text(destination, scope, checked), ">>" in text_of(redirect)))
        else:
            text = _redirect(shell, redirect, scope, checked, text)
            following += [each for each in redirect.named_children if not each.type.startswith(("heredoc", "file_"))]
    before = len(shell.calls)
    body = node.child_by_field_name("body")
    exits = _with_input(shell, body, scope, checked, text) if body else plain(checked)
    made = shell.calls[before:]
    output = "".join(map(printed, made))
    for path, appends in targets:
        shell.write(path, output, scope, checked, appends)
    if following:
        stage = following[0]
        if any(each.type in ("&&", "||") for each in node.children_by_field_name("redirect")[0].children):
            return statement(shell, stage, scope, exits.success)
        stages = stage.named_children if stage.type == "pipeline" else [stage]
        asked = any(checks.is_check(each.words) for each in made)
        return _piped(shell, stages, scope, checked, _Given(output, asked))
    return exits


def _redirect(shell: Shell, node: Node, scope: ShellScope, checked: Checked, text: str | None) -> str | None:
    """Returns standard input after one redirection: the text of a here-document or here-string, otherwise `text`."""
    if node.type == "herestring_redirect":
        return shell.text(node.named_children[-1], scope, checked)
    if node.type != "heredoc_redirect":
        return text
    start = next(each for each in node.named_children if each.type == "heredoc_start")
    body = next((each for each in node.named_children if each.type == "heredoc_body"), None)
    if body is None:
        return ""
    written = text_of(body)
    if not re.match(r"['\"\\]", text_of(start)):
        written = shell.text(body, scope, checked)
    return re.sub(r"^\t+", "", written, flags=re.M) if node.children[0].type == "<<-" else written


def _branches(node: Node) -> tuple[list[Node], list[Node]]:
    """Returns the statements of the condition and of the body of an `if` or an `elif`."""
    condition, body = list[Node](), list[Node]()
    where = condition
    for child in node.children[1:]:
        if child.type == "then":
            where = body
        elif child.type not in ("elif_clause", "else_clause"):
            where.append(child)
    return condition, body


def _leaves(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type.endswith("_expression"):
            yield from _leaves(child)
        elif child.type not in ("[", "]", "[[", "]]", "(", ")"):
            yield child


_STATEMENTS: Mapping[str, Callable[[Shell, Node, ShellScope, Checked], Exits]] = {
    "list": _list,
    "negated_command": _negated,
    "if_statement": _if,
    "while_statement": _while,
    "for_statement": _for,
    "c_style_for_statement": _for,
    "case_statement": _case,
    "pipeline": _pipeline,
    "subshell": _subshell,
    "compound_statement": _compound,
    "function_definition": _function,
    "variable_assignment": _assignment,
    "declaration_command": _declaration,
    "test_command": _test,
    "command": _command,
    "redirected_statement": _redirected,
}
