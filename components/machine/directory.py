"""The directory of a machine: its files and steps, as a target delivers them and the script `apply` reads them.

apply              POSIX sh script that configures the machine from this directory
leave              POSIX sh script that takes the machine out of the cloud
manifest           the contents, one per line: `file MODE OWNER plain|secret UNIT PATH`, `unit NAME QUORUM`,
                   `step NAME QUORUM`, `leave STEP`, `question NAME`; `-` for no unit or no quorum
root/<path>        files at their paths on the machine; secret files are elsewhere (components/target)
steps/NN-<name>    `check` and `apply` of a step, and `leave` if it has one
quorums/<name>     `may-stop` and `is-back` of a quorum that has a member on the machine
questions/<name>   `ask`, before files change
definition/<name>  files that define a virtual machine
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from components.machine.member_restart import MemberQuorum
from components.machine.parts import Parts, Step
from files.yaml_writer import literal

NONE = "-"

_SCRIPT = """\
#!/bin/sh
# {does}
set -eu
: "${{ROOT=}}"
case ${{1-}} in
{cases}*)
  echo "usage: $0 {usage}" >&2
  exit 2
  ;;
esac
"""
_CASE = """\
{word})
{commands}
  ;;
"""


def entries(parts: Parts, definition: Mapping[str, str]) -> dict[str, str]:
    """Returns the templates of the files in a machine's directory, by path.

    `definition`: texts of the files that define a virtual machine, by name; empty for a physical server.
    """
    steps = {f"{number:02}-{step.name}": step for number, step in enumerate(parts.ordered_steps(), start=1)}
    return {
        "apply": literal(_program("apply")),
        "leave": literal(_program("leave")),
        "manifest": literal("".join(f"{line}\n" for line in _manifest(parts, steps))),
        **{f"root{path}": text for path, text in parts.plain_files.items()},
        **{f"steps/{name}": literal(_step(step)) for name, step in steps.items()},
        **{f"quorums/{name}": literal(_quorum(quorum)) for name, quorum in parts.quorums.items()},
        **{f"questions/{each.name}": literal(_script(each.does, {"ask": each.asks})) for each in parts.questions},
        **{f"definition/{name}": literal(text) for name, text in definition.items()},
    }


def _manifest(parts: Parts, steps: dict[str, Step]) -> Iterator[str]:
    for question in parts.questions:
        yield f"question {question.name}"
    for file in parts.files:
        kind, unit = "secret" if file.secret else "plain", file.restarts.name if file.restarts else NONE
        yield f"file {file.mode:o} {file.owner} {kind} {unit} {file.path}"
    for unit in parts.units:
        yield f"unit {unit.name} {_name(unit.disrupts)}"
    for name, step in steps.items():
        yield f"step {name} {_name(step.disrupts)}"
    for name, step in reversed(steps.items()):
        if step.leave:
            yield f"leave {name}"


def _name(quorum: MemberQuorum | None) -> str:
    return quorum.name if quorum else NONE


def _step(step: Step) -> str:
    leave = {"leave": step.leave} if step.leave else {}
    return _script(step.does, {"check": step.check, "apply": step.apply, **leave})


def _quorum(quorum: MemberQuorum) -> str:
    does = f"Answers for {quorum.name}: may this machine's member stop, and is it back?"
    return _script(does, {"may-stop": quorum.may_stop, "is-back": quorum.is_back})


def _script(does: str, commands: Mapping[str, str]) -> str:
    cases = "".join(
        _CASE.format(word=word, commands=textwrap.indent(text.strip("\n"), "  ")) for word, text in commands.items()
    )
    return _SCRIPT.format(does=does, cases=cases, usage="|".join(commands))


@cache
def _program(name: str) -> str:
    return (Path(__file__).parent / f"{name}.sh").read_text(encoding="utf-8")
