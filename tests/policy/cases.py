"""A case of a rule: resources, and the names of those that fail, pass or cannot be judged. Names, not numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from policy.findings import Verdict
from policy.rule import AnyRule, Rule, S
from tests.policy.world import Given

KINDS = (Verdict.PASS, Verdict.FAIL, Verdict.NOT_APPLICABLE, Verdict.NOT_EVALUATED)
"""Every rule has a case of each."""


@dataclass(frozen=True)
class Case:
    """What a rule must say of some resources."""

    rule: AnyRule
    about: str
    given: Sequence[Given]
    passes: frozenset[str] = frozenset()
    fails: frozenset[str] = frozenset()
    undecided: frozenset[str] = frozenset()
    message: str = ""
    """A part of the message of a failing or undecided one."""
    kinds: frozenset[Verdict] = field(init=False)

    def __post_init__(self) -> None:
        sets = {Verdict.PASS: self.passes, Verdict.FAIL: self.fails, Verdict.NOT_EVALUATED: self.undecided}
        kinds = {verdict for verdict, names in sets.items() if names} or {Verdict.NOT_APPLICABLE}
        object.__setattr__(self, "kinds", frozenset(kinds))

    @property
    def title(self) -> str:
        return f"{self.rule.id}: {self.about}"


def names(*written: str) -> frozenset[str]:
    """The names of resources."""
    return frozenset(written)


def case(
    rule: Rule[S],
    about: str,
    *given: Given | Sequence[Given],
    passes: str = "",
    fails: str = "",
    undecided: str = "",
    message: str = "",
) -> Case:
    """A case; names are written with spaces between them, none of them at all means that the rule does not apply."""
    flat = [each for some in given for each in ([some] if isinstance(some, Given) else some)]
    sets = (names(*written.split()) for written in (passes, fails, undecided))
    return Case(rule, about, flat, *sets, message=message)  # pyright: ignore[reportArgumentType] - Rule of any subject
