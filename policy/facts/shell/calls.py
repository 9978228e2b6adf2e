"""The programs that a script runs, the files that it writes, and the output of programs where it is predictable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from policy.facts.shell.syntax import UNKNOWN

HERE = ""
"""The machine on which the script runs."""
_INTERPRETERS = re.compile(r"(python|perl|ruby|node|lua|php)[\d.]*|ansible-playbook|terraform|tofu|expect|pwsh")
_SCRIPT_NAME = re.compile(r"\S+\.(sh|bash|py|pl|rb)")
_PRINTS = frozenset({"echo", "printf"})
_PID = re.compile(r"/[\w./-]*?([\w-]+)\.pid")


@dataclass(frozen=True)
class Call:
    """A program that a script runs, with its arguments as the program gets them."""

    words: tuple[str, ...]
    host: str
    """The machine, as the script names it: HERE without ssh or the like, with UNKNOWN for unknown parts."""
    checked: bool
    """Whether a quorum check succeeds on every path to the call."""
    directory: str
    """The working directory, if the script changed it; else empty."""
    earlier: int
    """Number of earlier calls."""

    @property
    def program(self) -> str:
        """Its name without directory."""
        return self.words[0].rpartition("/")[2]


@dataclass(frozen=True)
class Write:
    """A file that a script writes, by redirection or with tee."""

    path: str
    text: str
    host: str
    checked: bool


def printed(call: Call) -> str:
    """The output of echo or printf; UNKNOWN for any other program."""
    if call.program == "echo":
        return " ".join(word for word in call.words[1:] if word not in ("-n", "-e", "-ne")) + "\n"
    if call.program == "printf":
        form, *values = [*call.words[1:], ""]
        for value in values[:-1]:
            form = re.sub(r"%[sd]", lambda _, value=value: value, form, count=1)
        return form.replace("\\n", "\n")
    return UNKNOWN


def stands_for(call: Call) -> str:
    """A word that represents a program's output, derived from its arguments; UNKNOWN if that is not possible."""
    if call.program == "mktemp":
        return "/tmp/tmp.XXXXXX"  # noqa: S108 - a name in a text
    if call.program in ("pidof", "pgrep"):
        return call.words[-1]
    if call.program == "cat" and (found := _PID.fullmatch(call.words[-1])):
        return found[1]
    if call.program == "seq" and len(call.words) in (2, 3) and all(word.isdigit() for word in call.words[1:]):
        first, last = ["1", *call.words[1:]][-2:]
        return " ".join(str(number) for number in range(int(first), min(int(last), int(first) + 1000) + 1))
    return printed(call).strip() if call.program in _PRINTS else UNKNOWN


def is_foreign(words: Sequence[str]) -> bool:
    """Whether the program runs code that is not read: another language, or a script file. `python -m` is excepted."""
    name, rest = words[0].rpartition("/")[2], words[1:]
    if _SCRIPT_NAME.fullmatch(words[0]):
        return True
    return bool(_INTERPRETERS.fullmatch(name)) and not (rest and rest[0] in ("-m", "-V", "--version"))
