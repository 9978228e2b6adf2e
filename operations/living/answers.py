"""The questions to a member of a quorum, which are one shell script, and the answer to each of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from cluster.objects import Object, listed
from openstack.monitoring import limits

T = TypeVar("T")

_MARK = "@@ "
_FAILED = "@! "
_NOT_FOUND = {"126", "127"}
"""Exit codes of a shell for a program that is not there: the question was not asked."""
PATIENCE = 15
"""Seconds after which a member that has not answered a question counts as silent. Project figure: a member that works
answers within 2 s on a busy machine; the programs' own limits are lower, so that they can say what is wrong."""
DISK, SIZE, CERTIFICATES, BACKUPS = "disk", "size", "certificates", "backups"
"""Names of the questions for the file system of the member's data, and for certificates and backups on its machine."""
_ASIDE = frozenset({DISK, SIZE, CERTIFICATES, BACKUPS})
"""Questions that the machine answers, also if the member does not run."""


class Unanswered(Exception):
    """A member gave no answer, or none that can be read. The message gives the reason."""


@dataclass(frozen=True)
class Answer:
    """What a member's own program answered, by question; or why the member did not answer."""

    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    problem: str = ""
    """Why there is no answer; empty if there is one."""
    is_down: bool = False
    """Whether the member was reached, and its program does not run, or refuses: a proof that it does not serve."""

    def text(self, question: str) -> str:
        """Returns the answer to a question. Raises Unanswered if there is none."""
        if self.problem:
            raise Unanswered(self.problem)
        if not (said := self.parts.get(question, "").strip()):
            raise Unanswered(f"no answer to the question for its {question}")
        return said

    def json(self, question: str) -> Any:
        """Returns the answer to a question as JSON. Raises Unanswered if there is none, or another one."""
        said = self.text(question)
        try:
            return json.loads(said)
        except ValueError:
            raise Unanswered(f"what it says about its {question} is not JSON: {said[:60]!r}") from None

    def document(self, question: str) -> Object:
        """Returns the answer to a question as a JSON object. Raises Unanswered if there is none, or another one."""
        found: object = self.json(question)
        if not isinstance(found, dict):
            raise Unanswered(f"what it says about its {question} is not a JSON object")
        return cast("Object", found)

    def objects(self, question: str) -> list[Object]:
        """Returns the JSON objects in the list of an answer. Raises Unanswered if there is none, or it is not JSON."""
        return listed({"all": self.json(question)}, "all")


def first(answers: Iterable[Answer], read: Callable[[Answer], T]) -> T | None:
    """Returns what `read` makes of the first answer for which it does not raise Unanswered; None if there is none."""
    for answer in answers:
        try:
            return read(answer)
        except Unanswered:
            continue
    return None


def script(questions: Mapping[str, str]) -> str:
    """Returns the shell script that asks all questions, each a command line. One that fails ends none of the others."""
    # Ceph's JSON ends without an end of line.
    return "\n".join(
        f"printf '\\n{_MARK}{name}\\n'\n(\n{command}\n) </dev/null || printf '\\n{_FAILED}%s\\n' $?"
        for name, command in questions.items()
    )


def parsed(output: str, errors: str = "") -> Answer:
    """Returns the answer of a script's output. `errors`: what it wrote to the standard error stream."""
    parts: dict[str, str] = {}
    codes: dict[str, str] = {}
    name = ""
    for line in output.splitlines(keepends=True):
        if line.startswith(_MARK):
            name = line.removeprefix(_MARK).strip()
        elif name and line.startswith(_FAILED):
            parts.pop(name, None)
            codes[name] = line.removeprefix(_FAILED).strip()
        elif name:
            parts[name] = parts.get(name, "") + line
    if any(text.strip() for each, text in parts.items() if each not in _ASIDE):
        return Answer(parts)
    known = {name: text for name, text in parts.items() if name in _ASIDE}
    failed = {code for name, code in codes.items() if name not in _ASIDE}
    return Answer(known, _reason(errors), is_down=bool(failed) and _NOT_FOUND.isdisjoint(failed))


def late(output: str) -> Answer:
    """Returns the answer of a script that did not end in time: what it had printed until then."""
    found = parsed(output)
    return replace(found, problem=f"no answer within {PATIENCE} s", is_down=False) if found.problem else found


def _reason(errors: str) -> str:
    """Returns the line of a program's messages that says what is wrong: the first that is an error, or the last."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    error = next((line for line in lines if line.lower().startswith("error:") and len(line) > len("error:")), "")
    return (error or (lines[-1] if lines else "its program said nothing"))[:200]


def disk_use(answer: Answer) -> tuple[str, ...]:
    """Returns what is wrong with the disk of a member's data, by the answer of `df -Pk`; () if nothing is known."""
    words = answer.parts.get(DISK, "").split()
    used = next((each.removesuffix("%") for each in words if each.endswith("%")), "")
    return (f"its disk is {used} % full",) if used.isdecimal() and int(used) >= limits.FULL else ()


def bytes_of_data(answer: Answer) -> int | None:
    """Returns how much a member has on its disk, by the answer of `du -sk`; None if it is not known."""
    kibibytes = answer.parts.get(SIZE, "").split("\t")[0]
    return 1024 * int(kibibytes) if kibibytes.isdecimal() else None
