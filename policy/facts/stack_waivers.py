"""Decides which waiver applies to a failure, and which waivers have no effect and why.

A waiver in the stack file accepts a failure of a policy rule, with a reason, an owner, a last day. It changes only the
verdict "fail" to "waived"; a rule that could not be evaluated stays "not evaluated". If a matching waiver has no effect
(it is expired or exceeds a limit, or its rule cannot be waived), the failure's message says so.

Everything here depends on its arguments only: `Waivers` does not remember what it was asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from formats.waiver_limits import Refusal, refusals, today
from policy.findings import Finding, Severity, Verdict, resource_name

if TYPE_CHECKING:
    from formats.waiver import Waiver

KEY = "quorate:waivers"


@dataclass(frozen=True)
class Waivers:
    """The waivers of a stack, in the stack file's order, and the day and the rules that decide whether they count."""

    given: tuple[Waiver, ...] = ()
    on: date = field(kw_only=True)
    rules: Mapping[str, Severity] = field(kw_only=True, default_factory=dict[str, Severity])
    """Ids of the rules that a waiver may name, with their severity."""
    malformed: str = field(kw_only=True, default="")
    """Why the waivers cannot be read; "" if they can."""

    @property
    def entries(self) -> tuple[Waiver, ...]:
        """The waivers. Raises ValueError if they cannot be read; then no failure is waived."""
        if self.malformed:
            raise ValueError(self.malformed)
        return self.given

    def names_rule(self, waiver: Waiver) -> bool:
        """Whether the waiver's rule exists and can be waived."""
        return waiver.rule in self.rules

    def refusals(self, waiver: Waiver) -> list[Refusal]:
        """Returns the limits that the waiver exceeds, such as its maximum duration."""
        return list(refusals(waiver, self.on))

    def needs_approval(self, waiver: Waiver) -> bool:
        """Whether the waiver's rule is critical, so that a second person has to approve the waiver."""
        return self.rules.get(waiver.rule) is Severity.CRITICAL

    def expired_since(self, waiver: Waiver) -> date | None:
        """The first day after the waiver's last day; None if the waiver has not expired."""
        first = waiver.expires + timedelta(days=1)
        return first if self.on >= first else None

    def why_void(self, waiver: Waiver) -> str:
        """Returns why the waiver has no effect, for messages; "" if it has an effect."""
        if not self.names_rule(waiver):
            return f"{waiver.rule} cannot be waived"
        if refused := self.refusals(waiver):
            return refused[0].actual
        if self.needs_approval(waiver) and not waiver.approved_by:
            return "the rule is critical and no second person approved the waiver"
        since = self.expired_since(waiver)
        return f"expired, a failure again since {since}" if since else ""

    def applying(self, finding: Finding) -> int | None:
        """Returns the index of the waiver that applies to a finding: the first that matches and has an effect.

        None if no waiver does, or if the finding is not a failure.
        """
        if finding.verdict is not Verdict.FAIL:
            return None
        matching = (number for number, waiver in enumerate(self.given) if _fits(waiver, finding))
        return next((number for number in matching if not self.why_void(self.given[number])), None)

    def apply(self, findings: Iterable[Finding]) -> list[Finding]:
        """Returns the findings, with waived failures changed to the verdict "waived"."""
        return [self._applied(finding) for finding in findings]

    def _applied(self, finding: Finding) -> Finding:
        number = self.applying(finding)
        if number is not None:
            return replace(finding, verdict=Verdict.WAIVED, waiver=self.given[number])
        void = next((each for each in self.given if _fits(each, finding)), None)
        if void is None or finding.verdict is not Verdict.FAIL:
            return finding
        effect = f"the waiver of {void.owner} has no effect: {self.why_void(void)}"
        return replace(finding, message=f"{finding.message} ({effect})")

    def is_used(self, number: int, findings: Sequence[Finding]) -> bool | None:
        """Whether a waiver applies to one of its rule's findings; None if a finding could be one without being known.

        `number`: the waiver's index in the stack file. `findings`: those of the waiver's rule, before any is waived.
        """
        if any(self.applying(finding) == number for finding in findings):
            return True
        unknown = not findings or any(each.verdict is Verdict.NOT_EVALUATED for each in findings)
        return None if unknown else False


def _fits(waiver: Waiver, finding: Finding) -> bool:
    return waiver.rule == finding.rule and fnmatchcase(resource_name(finding.resource), waiver.resource)


def read(text: str | None, rules: Mapping[str, Severity]) -> Waivers:
    """Reads the waivers from `text`, the JSON value of configuration key quorate:waivers; None or "" means no waivers.

    `rules`: severity of each rule that can be waived, by id. If the text is invalid, the waiver rules report why.
    """
    if not text:
        return Waivers(on=today(), rules=rules)
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - only where a stack has waivers

    from formats.waiver import Waiver as Written  # noqa: PLC0415

    try:
        given = TypeAdapter(tuple[Written, ...]).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        return Waivers(on=today(), rules=rules, malformed=f"{KEY}{where} cannot be read: {first['msg']}")
    return Waivers(given, on=today(), rules=rules)
