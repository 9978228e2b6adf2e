"""Parses a program's command line arguments into options and operands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Arguments:
    """The options and operands of a command line, in order."""

    options: tuple[str, ...]
    """Options, each with its value: `-n name` and `--name value` become `-n=name` and `--name=value`."""
    operands: tuple[str, ...]

    @property
    def verb(self) -> str:
        """The first operand, which is the subcommand of programs such as kubectl; "" without operands."""
        return self.operands[0] if self.operands else ""

    def has(self, *names: str) -> bool:
        """Whether one of the options `names` is given. `-r` also matches in a group of letters, as in `-rf`."""
        return any(
            option.partition("=")[0] == name
            or (len(name) == 2 and option[:1] == "-" and option[:2] != "--" and name[1] in option.partition("=")[0][1:])
            for option in self.options
            for name in names
        )

    def value(self, *names: str) -> str | None:
        """Returns the value of the last option with one of these names; None if no such option is given."""
        found = [value for option in self.options for name, _, value in [option.partition("=")] if name in names]
        return found[-1] if found else None


def arguments(words: Sequence[str], valued: Collection[str] = ()) -> Arguments:
    """Parses the words after a program's name. `valued`: options whose value is the next word."""
    options, operands = list[str](), list[str]()
    waiting = ""
    for index, word in enumerate(words):
        if waiting:
            options.append(f"{waiting}={word}")
            waiting = ""
        elif word == "--":
            operands += words[index + 1 :]
            break
        elif word in valued:
            waiting = word
        elif word.startswith("-") and len(word) > 1:
            options.append(word)
        else:
            operands.append(word)
    return Arguments(tuple(options), tuple(operands))
