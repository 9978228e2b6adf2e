"""Waivers: failures of a rule that the stack file accepts, with a reason, an owner and a last day.

A waiver turns a failure into "waived", nothing else: what could not be evaluated stays so. What is wrong with the
waivers themselves is judged by rules (rules/waivers.py), which come last and see here what the waivers came to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase

from policy.findings import Finding, Verdict, Waiver, resource_name

KEY = "quorate:waivers"


def today() -> date:
    """The day by which waivers expire, in UTC. The only place that asks a clock; tests put another day here."""
    return datetime.now(UTC).date()


class Waivers:
    """The waivers of a stack, and what came of each while its rules were evaluated."""

    def __init__(
        self, given: Sequence[Waiver] = (), *, on: date, rules: Collection[str] = (), malformed: str = ""
    ) -> None:
        """`rules`: ids that a waiver may name. `malformed`: why the stack's waivers cannot be read, if so."""
        self._given = tuple(given)
        self.on = on
        self.rules = rules
        self._malformed = malformed
        self._used: set[int] = set()
        self._said: dict[str, list[Finding]] = {}

    @property
    def entries(self) -> tuple[Waiver, ...]:
        """All waivers, in the stack file's order. Raises ValueError if they cannot be read; then nothing is waived."""
        if self._malformed:
            raise ValueError(self._malformed)
        return self._given

    def is_current(self, waiver: Waiver) -> bool:
        """Whether it has not expired."""
        return self.on <= waiver.expires

    def apply(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings of a rule, its failures waived where a waiver says so: the first one that fits."""
        applied = [self._applied(finding) for finding in findings]
        for finding in applied:
            self._said.setdefault(finding.rule, []).append(finding)
        return applied

    def _applied(self, finding: Finding) -> Finding:
        if finding.verdict is not Verdict.FAIL:
            return finding
        for number, waiver in enumerate(self._given):
            if self.is_current(waiver) and _fits(waiver, finding):
                self._used.add(number)
                return replace(finding, verdict=Verdict.WAIVED, waiver=waiver)
        return finding

    def matched(self, number: int) -> bool | None:
        """Whether it has waived a failure; None if its rule was not evaluated on all of its resources."""
        if number in self._used:
            return True
        waiver = self._given[number]
        said = self._said.get(waiver.rule)
        if said is None or any(each.verdict is Verdict.NOT_EVALUATED for each in said):
            return None
        return False


def _fits(waiver: Waiver, finding: Finding) -> bool:
    return waiver.rule == finding.rule and fnmatchcase(resource_name(finding.resource), waiver.resource)


def read(text: str | None, rules: Collection[str]) -> Waivers:
    """The waivers of a stack's configuration, JSON as the engine has it; empty if the stack has none.

    Programs other than Quorate do not validate this key. If it cannot be read, the waiver rules report the reason.
    """
    if not text:
        return Waivers(on=today(), rules=rules)
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - only where a stack has waivers

    from waiver import Waiver as Written  # noqa: PLC0415

    try:
        written = TypeAdapter(tuple[Written, ...]).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        return Waivers(on=today(), rules=rules, malformed=f"{KEY}{where} cannot be read: {first['msg']}")
    given = [Waiver(each.rule, each.resource, each.reason, each.owner, each.expires) for each in written]
    return Waivers(given, on=today(), rules=rules)
