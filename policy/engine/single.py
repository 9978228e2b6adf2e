"""Evaluates rules on a single resource in an update, before Pulumi creates the resource (`Analyze`).

In an update without a preview (`pulumi up --skip-preview`), Pulumi requests the evaluation of the whole stack only
after it has created the resources. Rules that need only one resource therefore also run before each resource is
created, with waivers applied.

In a preview these rules do not run for single resources, because the whole stack is evaluated at the end and nothing is
created. In an update only findings that stop the update are reported here; the evaluation of the whole stack reports
the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policy.facts.components import CloudFacts
from policy.facts.machines.host_commands import PLACING
from policy.facts.stack import Facts
from policy.facts.stack_configuration import StackConfiguration
from policy.facts.stack_waivers import Waivers
from policy.findings import Enforcement, Finding
from policy.resource import Resource
from policy.rule import AnyRule, evaluate


class SingleResources:
    """Evaluates resources one at a time, together with earlier resources that the rules need.

    These are the Cloud component, which names profile and architecture, and the resources that place files on machines.
    """

    def __init__(self, configuration: StackConfiguration, waivers: Waivers) -> None:
        self._configuration = configuration
        self._waivers = waivers
        self._context: list[Resource] = []

    def blocking(self, resource: Resource, rules: Iterable[AnyRule]) -> Iterator[Finding]:
        """Yields the findings of mandatory rules (`rules`) on this resource that stop an update."""
        read = [rule for rule in rules if rule.is_enough(resource.type)]
        context = [*self._context, resource]
        if resource.type in (CloudFacts.TYPE, *PLACING):
            self._context.append(resource)
        if not read:
            return
        facts = Facts(context, self._configuration)
        for rule in read:
            findings = evaluate(rule, facts, Enforcement.MANDATORY)
            on_it = [finding for finding in findings if finding.resource == resource.urn]
            yield from (finding for finding in self._waivers.apply(on_it) if finding.blocks_update)
