"""The policy pack's gRPC server: that of Pulumi's policy SDK (sdk_server.py), with four overridden methods.

1. `ConfigureStack` receives the stack's configuration, which the SDK ignores. A host may give it in the environment
   instead (received.py). The profile in the configuration decides whether policies are mandatory, before Pulumi
   asks for the policies (docs/adr/0003-policy-enforcement.md).
2. `AnalyzeStack` reads the resources once for all rules. The SDK would decode every resource again for each policy.
3. `Analyze`, called for every resource, returns nothing in a preview: all policies evaluate the whole stack. It keeps
   the resource's inputs: Pulumi gives no properties to `AnalyzeStack` while the provider's configuration is not known,
   as in the first preview of a cluster that the same stack makes.
4. `Configure` is the last call before the stack's program starts. What takes time is prepared after it.

The method `Remediate` is not served, because no policy changes a resource; Pulumi then spends half the time on calls.

If the environment names a file, all verdicts are written into it (record.py). Violations are reported as by the SDK.
"""
# ruff: noqa: N802, ARG002 - the gRPC protocol defines names and arguments of the methods

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread
from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import analyzer_pb2 as messages
from pulumi_policy import EnforcementLevel, Policy, ReportViolation

from contract import VERDICTS_FILE
from policy.catalogue import WAIVABLE
from policy.engine import received, record, sdk_server
from policy.engine.decode import from_message, provider_from_message
from policy.engine.pack import RulePolicy, reason_not_applicable, report_findings
from policy.engine.record import Record, RuleRecord, recorded
from policy.engine.single import SingleResources
from policy.evaluation import evaluate_all
from policy.facts import architecture, stack_waivers
from policy.facts.known_types import coverage
from policy.facts.levels import RuleLevel
from policy.facts.placement import placement_map
from policy.facts.stack import Facts
from policy.facts.stack_configuration import PRODUCTION, StackConfiguration
from policy.findings import Enforcement, Verdict

_STRENGTH = (
    EnforcementLevel.DISABLED,
    EnforcementLevel.ADVISORY,
    EnforcementLevel.MANDATORY,
    EnforcementLevel.REMEDIATE,
)


class Analyzer(sdk_server.PolicyServer):
    """The policy SDK's server with methods that evaluate all rules on one set of facts (see the module)."""

    def __init__(self, name: str, version: str, policies: list[Policy], *more: Any) -> None:
        super().__init__(name, version, policies, *more)
        self._rules = [policy for policy in policies if isinstance(policy, RulePolicy)]
        self._inputs: dict[str, Struct] = {}
        self._configure(received.from_environment(os.environ))

    def Configure(self, request: messages.ConfigureAnalyzerRequest, context: grpc.ServicerContext) -> Empty:
        """Receives the configuration of the policies, in the last call before Pulumi starts the stack's program.

        Reads the architectures while the program starts. Earlier, this would delay the answers for which Pulumi waits.
        """
        super().Configure(request, context)  # pyright: ignore[reportUnknownMemberType]
        Thread(target=architecture.read_all, daemon=True).start()
        return Empty()

    def ConfigureStack(
        self, request: messages.AnalyzerStackConfigureRequest, context: grpc.ServicerContext
    ) -> messages.AnalyzerStackConfigureResponse:
        """Reads profile, architecture and waivers from the stack's configuration.

        A request without a stack has no configuration: a proxy passes it on when it has received none.
        """
        if request.stack:
            self._configure(received.from_request(request))
        return super().ConfigureStack(request, context)  # pyright: ignore[reportUnknownMemberType]

    def _configure(self, given: StackConfiguration) -> None:
        """Sets the level that each policy has in the stack's profile."""
        self._configuration = given
        for policy in self._rules:
            policy.enforce(given.profile)
        self._single = SingleResources(given, stack_waivers.read(given.waivers, WAIVABLE))

    def Analyze(self, request: messages.AnalyzeRequest, context: grpc.ServicerContext) -> messages.AnalyzeResponse:
        """In an update, evaluates the rules that need only this resource, before Pulumi creates it.

        In a preview, keeps the resource's inputs.
        """
        response = messages.AnalyzeResponse()
        if self._configuration.is_preview:
            self._inputs[request.urn] = request.properties
            return response
        resource = from_message(
            request.type, request.urn, request.name, request.properties, protected=request.options.protect
        )
        by_id = {each.name: each for each in self._rules if self._applied(each) is Enforcement.MANDATORY}
        for finding in self._single.blocking(resource, (policy.rule for policy in by_id.values())):
            reporter = self._reporter(response, by_id[finding.rule], Enforcement.MANDATORY)
            report_findings([finding], lambda _at, reporter=reporter: reporter)
        return response

    def AnalyzeStack(
        self, request: messages.AnalyzeStackRequest, context: grpc.ServicerContext
    ) -> messages.AnalyzeResponse:
        """Evaluates all rules on the whole stack, reports violations to Pulumi and records all verdicts."""
        facts = self._facts(request)
        response = messages.AnalyzeResponse()
        rules: list[RuleRecord] = []
        evaluated: set[str] = set()
        levels = [(policy, self._applied(policy)) for policy in self._rules]
        enabled = [(policy, level) for policy, level in levels if level is not Enforcement.DISABLED]
        found = evaluate_all([(policy.rule, level) for policy, level in enabled], facts)
        for policy, enforcement in enabled:
            findings = found[policy.rule.id]
            report_findings(findings, lambda at, policy=policy: self._reporter(response, policy, at))
            if reason := reason_not_applicable(findings):
                response.not_applicable.append(messages.PolicyNotApplicable(policy_name=policy.name, reason=reason))
            rules.append(recorded(policy.name, enforcement, findings))
            evaluated |= {each.resource for each in findings if each.verdict is not Verdict.NOT_APPLICABLE}
        if file := os.environ.get(VERDICTS_FILE):
            counts, today = coverage(facts.resources, evaluated), facts.waivers.on.isoformat()
            placement = placement_map.read(facts)
            record.write(Record(tuple(rules), placement, *_named(facts), today, counts), Path(file))
        return response

    def _facts(self, request: messages.AnalyzeStackRequest) -> Facts:
        resources = (
            from_message(
                each.type,
                each.urn,
                each.name,
                self._properties(each),
                protected=each.options.protect,
                after=tuple(each.dependencies),
                parent=each.parent,
                provider=provider_from_message(each.provider.urn, each.provider.properties),
            )
            for each in request.resources
        )
        levels = tuple(RuleLevel(each.name, each.rule.enforcement, self._applied(each)) for each in self._rules)
        waivers = stack_waivers.read(self._configuration.waivers, WAIVABLE)
        return Facts(resources, self._configuration, waivers, levels)

    def _properties(self, resource: messages.AnalyzerResource) -> Struct:
        """Returns a resource's properties, or its inputs if the configuration of its provider is not known yet."""
        if resource.provider.urn and not resource.properties.fields:
            return self._inputs.get(resource.urn, resource.properties)
        return resource.properties

    def _applied(self, policy: RulePolicy) -> Enforcement:
        """Returns the rule's enforcement level in this evaluation.

        Configuration (--policy-pack-config) cannot lower the level of a rule that cannot be waived.
        """
        own, configured = policy.enforcement_level, self.configured_level(policy)
        if own and not policy.rule.waivable and _STRENGTH.index(configured) < _STRENGTH.index(own):
            configured = own
        return Enforcement.MANDATORY if configured is EnforcementLevel.REMEDIATE else Enforcement(configured.value)

    def _reporter(self, response: messages.AnalyzeResponse, policy: RulePolicy, at: Enforcement) -> ReportViolation:
        return self.reporter(response, policy, EnforcementLevel(at.value))


def _named(facts: Facts) -> tuple[str, str]:
    """Returns the stack's profile and architecture name; production and "" if they cannot be read."""
    try:
        return facts.profile, facts.required_architecture.name
    except Exception:  # the rules report the error
        return PRODUCTION, ""


def install() -> None:
    """Makes the SDK's `PolicyPack` serve this `Analyzer` instead of its own, without `Remediate`."""
    sdk_server.serve_with(Analyzer, without=frozenset({"Remediate"}))
