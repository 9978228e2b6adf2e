"""Applies waivers. A waiver in the stack file accepts a failure of a policy rule, with a reason, an owner, a last day.

A waiver changes only the verdict "fail" to "waived"; a rule that could not be evaluated stays "not evaluated". If a
matching waiver has no effect (it is expired or exceeds a limit, or its rule cannot be waived), the failure's message
says so. The rules on waivers (rules/waivers.py) run last and read here which waivers matched a failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from fnmatch import fnmatchcase

from formats.waiver_limits import Refusal, refusals, today
from policy.findings import Finding, Severity, Verdict, Waiver, resource_name

KEY = "quorate:waivers"


class Waivers:
    """The waivers of a stack, and which of them matched a failure."""

    def __init__(
        self,
        given: Sequence[Waiver] = (),
        *,
        on: date,
        rules: Mapping[str, Severity] | None = None,
        malformed: str = "",
    ) -> None:
        """`rules`: ids that a waiver may name, with their severity. `malformed`: why the waivers cannot be read."""
        self._given = tuple(given)
        self.on = on
        self.rules: Mapping[str, Severity] = rules or {}
        self._malformed = malformed
        self._used: set[int] = set()
        self._said: dict[str, list[Finding]] = {}

    @property
    def entries(self) -> tuple[Waiver, ...]:
        """The waivers in the stack file's order.

        Raises ValueError if they cannot be read; then no failure is waived.
        """
        if self._malformed:
            raise ValueError(self._malformed)
        return self._given

    def names_rule(self, waiver: Waiver) -> bool:
        """Whether the waiver's rule exists and can be waived."""
        return waiver.rule in self.rules

    def refusals(self, waiver: Waiver) -> list[Refusal]:
        """Returns the limits that the waiver exceeds, such as its maximum duration."""
        return list(
            refusals(
                resource=waiver.resource,
                owner=waiver.owner,
                approved_by=waiver.approved_by,
                expires=waiver.expires,
                on=self.on,
            )
        )

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

    def apply(self, findings: Iterable[Finding]) -> list[Finding]:
        """Returns the findings of a policy rule, with waived failures changed to the verdict "waived".

        A failure is waived by the first waiver that matches the failure and has an effect.
        """
        applied = [self._applied(finding) for finding in findings]
        for finding in applied:
            self._said.setdefault(finding.rule, []).append(finding)
        return applied

    def _applied(self, finding: Finding) -> Finding:
        if finding.verdict is not Verdict.FAIL:
            return finding
        void = ""
        for number, waiver in enumerate(self._given):
            if not _fits(waiver, finding):
                continue
            reason = self.why_void(waiver)
            if not reason:
                self._used.add(number)
                return replace(finding, verdict=Verdict.WAIVED, waiver=waiver)
            void = void or f" (the waiver of {waiver.owner} has no effect: {reason})"
        return replace(finding, message=f"{finding.message}{void}")

    def matched(self, number: int) -> bool | None:
        """Whether a waiver has waived a failure; None if its rule was not evaluated on every resource.

        `number`: the waiver's index in the stack file.
        """
        if number in self._used:
            return True
        waiver = self._given[number]
        said = self._said.get(waiver.rule)
        if said is None or any(each.verdict is Verdict.NOT_EVALUATED for each in said):
            return None
        return False


def _fits(waiver: Waiver, finding: Finding) -> bool:
    return waiver.rule == finding.rule and fnmatchcase(resource_name(finding.resource), waiver.resource)


def read(text: str | None, rules: Mapping[str, Severity]) -> Waivers:
    """Reads the waivers from `text`, the JSON value of configuration key quorate:waivers; None or "" means no waivers.

    `rules`: severity of each rule that can be waived, by id. If the text is invalid, the waiver rules report why.
    """
    if not text:
        return Waivers(on=today(), rules=rules)
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - only where a stack has waivers

    from formats.waiver import WaiverEntry as Written  # noqa: PLC0415

    try:
        written = TypeAdapter(tuple[Written, ...]).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        return Waivers(on=today(), rules=rules, malformed=f"{KEY}{where} cannot be read: {first['msg']}")
    given = [
        Waiver(each.rule, each.resource, each.reason, each.owner, each.expires, each.approved_by or "")
        for each in written
    ]
    return Waivers(given, on=today(), rules=rules)
