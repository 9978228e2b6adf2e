"""Records programs that a shell script runs and files that it writes, and predicts the output of simple programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from policy.shell.syntax import UNKNOWN

HERE = ""
"""Value of `Call.host` for the machine on which the script itself runs."""
_INTERPRETERS = re.compile(r"(python|perl|ruby|node|lua|php)[\d.]*|ansible-playbook|terraform|tofu|expect|pwsh")
_SCRIPT_NAME = re.compile(r"\S+\.(sh|bash|py|pl|rb)")
_PRINTS = frozenset({"echo", "printf"})
_PID = re.compile(r"/[\w./-]*?([\w-]+)\.pid")


@dataclass(frozen=True)
class Call:
    """A program that a shell script runs, with its expanded arguments."""

    words: tuple[str, ...]
    host: str
    """The machine on which the program runs:

    HERE, or as named for ssh and the like. UNKNOWN stands for unknown parts.
    """
    checked: bool
    """Whether a quorum check has succeeded before the call, on every path through the script."""
    directory: str
    """The working directory of the program if the script has changed it; otherwise ""."""
    earlier: int
    """Number of programs that the script runs before this one."""
    output: str | None = None
    """What the program prints, if it can be computed from known files; otherwise None."""

    @property
    def program(self) -> str:
        """The program's name without its directory."""
        return self.words[0].rpartition("/")[2]


@dataclass(frozen=True)
class Write:
    """A file that a shell script writes, by redirection or with a program such as tee."""

    path: str
    text: str
    """The whole text of the file afterwards, as far as the file was known before."""
    host: str
    checked: bool
    appended: str | None = None
    """The text that is appended to the file; None if the file is replaced."""
    by: str = ""
    """The program that writes it; "" for a redirection."""


def printed(call: Call) -> str:
    """Returns the output of a call of echo or printf, or as it was computed; UNKNOWN for other programs."""
    if call.output is not None:
        return call.output
    if call.program == "echo":
        return " ".join(word for word in call.words[1:] if word not in ("-n", "-e", "-ne")) + "\n"
    if call.program == "printf":
        form, *values = [*call.words[1:], ""]
        for value in values[:-1]:
            form = re.sub(r"%[sd]", lambda _, value=value: value, form, count=1)
        return form.replace("\\n", "\n")
    return UNKNOWN


def stands_for(call: Call) -> str:
    """Returns the text that replaces a command substitution with this call; UNKNOWN if it cannot be predicted.

    For example "/tmp/tmp.XXXXXX" for mktemp, and the name of the program for pidof.
    """
    if call.program == "mktemp":
        return "/tmp/tmp.XXXXXX"  # noqa: S108 - a name in a text
    if call.program in ("pidof", "pgrep"):
        return call.words[-1]
    if call.program == "cat" and (found := _PID.fullmatch(call.words[-1])):
        return found[1]
    if call.program == "seq" and len(call.words) in (2, 3) and all(word.isdigit() for word in call.words[1:]):
        first, last = ["1", *call.words[1:]][-2:]
        return " ".join(str(number) for number in range(int(first), min(int(last), int(first) + 1000) + 1))
    return printed(call).strip() if call.program in _PRINTS or call.output is not None else UNKNOWN


def is_foreign(words: Sequence[str]) -> bool:
    """Whether a program runs code that Quorate does not parse: another language, or a script file.

    `python -m` does not count. `words`: the program and its arguments.
    """
    name, rest = words[0].rpartition("/")[2], words[1:]
    if _SCRIPT_NAME.fullmatch(words[0]):
        return True
    return bool(_INTERPRETERS.fullmatch(name)) and not (rest and rest[0] in ("-m", "-V", "--version"))
