"""Rules on a single resource, before the engine creates it (`Analyze`).

An update without a preview (`pulumi up --skip-preview`) asks for the whole stack only after it was created. Rules for
which one resource is enough therefore also run for each resource beforehand, at their own level, waivers included.

In a preview they are silent: the stack is evaluated at its end, and nothing is created before that. In an update only
what stops it is reported; the evaluation of the whole stack reports the rest, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policy.facts.components import Cloud
from policy.facts.host_commands import PLACING
from policy.facts.resource import Resource
from policy.facts.stack import Facts
from policy.facts.stack_waivers import Waivers
from policy.findings import Enforcement, Finding
from policy.rule import AnyRule, evaluate


class SingleResources:
    """Evaluates resources one at a time, with what was asked about before and decides how they are read.

    The Cloud names profile and architecture; a command may run scripts that copies and commands have placed.
    """

    def __init__(self, profile: str, architecture_file: str | None, waivers: Waivers) -> None:
        self._profile = profile
        self._architecture_file = architecture_file
        self._waivers = waivers
        self._context: list[Resource] = []

    def blocking(self, resource: Resource, rules: Iterable[AnyRule]) -> Iterator[Finding]:
        """What stops an update, of these mandatory rules, on this resource."""
        read = [rule for rule in rules if rule.is_enough(resource.type)]
        context = [*self._context, resource]
        if resource.type in (Cloud.TYPE, *PLACING):
            self._context.append(resource)
        if not read:
            return
        facts = Facts(context, self._profile, self._architecture_file)
        for rule in read:
            findings = evaluate(rule, facts, Enforcement.MANDATORY)
            on_it = [finding for finding in findings if finding.resource == resource.urn]
            yield from (finding for finding in self._waivers.apply(on_it) if finding.blocks_update)
