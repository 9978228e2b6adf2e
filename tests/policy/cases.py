"""A case of a rule: resources, and the names of those that fail, pass or cannot be evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from policy.facts.levels import RuleLevel
from policy.facts.stack_waivers import Waivers
from policy.findings import Finding, Verdict
from policy.rule import AnyRule, Rule, S
from tests.policy.world import Given

KINDS = (Verdict.PASS, Verdict.FAIL, Verdict.NOT_APPLICABLE, Verdict.NOT_EVALUATED)
"""Verdicts of which every rule must have a case."""


@dataclass(frozen=True)
class Case:
    """The verdicts that a rule must have on some resources."""

    rule: AnyRule
    about: str
    given: Sequence[Given]
    passes: frozenset[str] = frozenset()
    fails: frozenset[str] = frozenset()
    undecided: frozenset[str] = frozenset()
    message: str = ""
    """A part of the message for a resource that fails or cannot be evaluated."""
    waivers: Waivers | None = None
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict[str, "Sequence[Finding]"])
    """Findings of the rules that can be waived."""
    levels: Sequence[RuleLevel] = ()
    """The level of each rule, as the pack's server has it."""
    configured_stack: str = "test"
    """The stack whose configuration the pack has received."""
    kinds: frozenset[Verdict] = field(init=False)

    def __post_init__(self) -> None:
        sets = {Verdict.PASS: self.passes, Verdict.FAIL: self.fails, Verdict.NOT_EVALUATED: self.undecided}
        kinds = {verdict for verdict, names in sets.items() if names} or {Verdict.NOT_APPLICABLE}
        object.__setattr__(self, "kinds", frozenset(kinds))

    @property
    def title(self) -> str:
        return f"{self.rule.id}: {self.about}"


def names(*written: str) -> frozenset[str]:
    """Returns the names of resources as a set."""
    return frozenset(written)


def case(
    rule: Rule[S],
    about: str,
    *given: Given | Sequence[Given],
    passes: str = "",
    fails: str = "",
    undecided: str = "",
    message: str = "",
    waivers: Waivers | None = None,
    findings: Mapping[str, Sequence[Finding]] | None = None,
    levels: Sequence[RuleLevel] = (),
    configured_stack: str = "test",
) -> Case:
    """A case; names are written with spaces between them, none of them at all means that the rule does not apply."""
    flat = [each for some in given for each in ([some] if isinstance(some, Given) else some)]
    sets = (names(*written.split()) for written in (passes, fails, undecided))
    of_any = cast("AnyRule", rule)
    return Case(
        of_any,
        about,
        flat,
        *sets,
        message=message,
        waivers=waivers,
        findings=findings or {},
        levels=levels,
        configured_stack=configured_stack,
    )
