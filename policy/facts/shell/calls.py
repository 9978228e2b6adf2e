"""Programs that a script runs, the files that it writes, and what the words of a program tell of its output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from policy.facts.shell.syntax import UNKNOWN

HERE = ""
"""The machine that the script itself is run on."""
_INTERPRETERS = re.compile(r"(python|perl|ruby|node|lua|php)[\d.]*|ansible-playbook|terraform|tofu|expect|pwsh")
_SCRIPT_NAME = re.compile(r"\S+\.(sh|bash|py|pl|rb)")
_PRINTS = frozenset({"echo", "printf"})
_PID = re.compile(r"/[\w./-]*?([\w-]+)\.pid")


@dataclass(frozen=True)
class Call:
    """A program that a script runs, with its arguments as the program gets them."""

    words: tuple[str, ...]
    host: str
    """The machine, as the script names it; HERE without ssh or the like, UNKNOWN within where it is not known."""
    checked: bool
    """Whether a quorum check has succeeded on every way to it."""
    directory: str
    """Where it is run, if the script changed to it; else empty."""
    earlier: int
    """How many calls come before it."""

    @property
    def program(self) -> str:
        """Its name without directory."""
        return self.words[0].rpartition("/")[2]


@dataclass(frozen=True)
class Write:
    """A file that a script writes: a program's output that is redirected."""

    path: str
    text: str
    host: str
    checked: bool


def printed(call: Call) -> str:
    """What a program prints, if its words tell."""
    if call.program == "echo":
        return " ".join(word for word in call.words[1:] if word not in ("-n", "-e", "-ne")) + "\n"
    if call.program == "printf":
        form, *values = [*call.words[1:], ""]
        for value in values[:-1]:
            form = re.sub(r"%[sd]", lambda _, value=value: value, form, count=1)
        return form.replace("\\n", "\n")
    return UNKNOWN


def stands_for(call: Call) -> str:
    """A word in place of a program's output, where the words of the program tell what it is about."""
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
    """Whether it runs code that is not read: in another language, or in a file. A module counts as a program."""
    name, rest = words[0].rpartition("/")[2], words[1:]
    if _SCRIPT_NAME.fullmatch(words[0]):
        return True
    return bool(_INTERPRETERS.fullmatch(name)) and not (rest and rest[0] in ("-m", "-V", "--version"))
