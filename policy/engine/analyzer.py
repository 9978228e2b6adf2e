"""The policy pack's gRPC server: that of Pulumi's policy SDK, with three overridden methods.

1. `ConfigureStack` receives the stack's configuration, which the SDK ignores. The profile in the configuration decides
   whether policies are mandatory, before Pulumi asks for the policies (docs/adr/0003-policy-enforcement.md).
2. `AnalyzeStack` reads the resources once for all rules. The SDK would decode every resource again for each policy.
3. `Analyze`, called for every resource, returns nothing in a preview: all policies evaluate the whole stack. It keeps
   the resource's inputs: Pulumi gives no properties to `AnalyzeStack` while the provider's configuration is not known,
   as in the first preview of a cluster that the same stack makes.

The method `Remediate` is not served, because no policy changes a resource; Pulumi then spends half the time on calls.

All verdicts are written to Pulumi's log as debug messages (record.py). Violations are reported like the SDK does.
"""
# ruff: noqa: N802, ARG002 - the gRPC protocol defines names and arguments of the methods

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread
from typing import Any

import grpc
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import analyzer_pb2 as messages
from pulumi.runtime.proto import analyzer_pb2_grpc, engine_pb2, engine_pb2_grpc
from pulumi_policy import EnforcementLevel, Policy, ReportViolation
from pulumi_policy import policy as sdk

from policy.catalogue import WAIVABLE
from policy.engine import record
from policy.engine.decode import from_message, provider_from_message
from policy.engine.pack import RulePolicy, reason_not_applicable, report_findings
from policy.engine.single import SingleResources
from policy.facts import architecture, placement_map, stack_waivers
from policy.facts.known_types import coverage
from policy.facts.levels import Level
from policy.facts.stack import PRODUCTION, Facts
from policy.findings import Enforcement, Finding, Verdict
from policy.rule import evaluate

PROFILE, ARCHITECTURE = "quorate:profile", "quorate:architecture"
_STRENGTH = (
    EnforcementLevel.DISABLED,
    EnforcementLevel.ADVISORY,
    EnforcementLevel.MANDATORY,
    EnforcementLevel.REMEDIATE,
)
LARGEST_MESSAGE = 400 * 1024 * 1024  # the SDK's own limit


class Analyzer(sdk._PolicyAnalyzerServicer):  # pyright: ignore[reportPrivateUsage] - the SDK has no public way in
    """The policy SDK's server with methods that evaluate all rules on one set of facts (see the module)."""

    def __init__(self, name: str, version: str, policies: list[Policy], *more: Any) -> None:
        super().__init__(name, version, policies, *more)
        self._rules = [policy for policy in policies if isinstance(policy, RulePolicy)]
        self._profile = PRODUCTION
        self._architecture: str | None = None
        self._waivers: str | None = None
        self._engine: str | None = None
        self._is_preview = False
        self._single = SingleResources(PRODUCTION, None, stack_waivers.read(None, WAIVABLE))
        self._inputs: dict[str, Struct] = {}

    def Handshake(
        self, request: messages.AnalyzerHandshakeRequest, context: grpc.ServicerContext
    ) -> messages.AnalyzerHandshakeResponse:
        """Stores the address of the Pulumi engine, to which `_write` sends log messages."""
        self._engine = request.engine_address
        return messages.AnalyzerHandshakeResponse()

    def ConfigureStack(
        self, request: messages.AnalyzerStackConfigureRequest, context: grpc.ServicerContext
    ) -> messages.AnalyzerStackConfigureResponse:
        """Reads profile, architecture and waivers from the stack's configuration. The default profile is production."""
        self._profile = request.config.get(PROFILE, PRODUCTION)
        self._architecture = request.config.get(ARCHITECTURE)
        self._waivers = request.config.get(stack_waivers.KEY)
        for policy in self._rules:
            policy.enforce(self._profile)
        self._is_preview = request.dry_run
        waivers = stack_waivers.read(self._waivers, WAIVABLE)
        self._single = SingleResources(self._profile, self._architecture, waivers)
        Thread(target=architecture.read_all, daemon=True).start()  # while the program starts
        return super().ConfigureStack(request, context)  # pyright: ignore[reportUnknownMemberType]

    def Analyze(self, request: messages.AnalyzeRequest, context: grpc.ServicerContext) -> messages.AnalyzeResponse:
        """In an update, evaluates the rules that need only this resource, before Pulumi creates it.

        In a preview, keeps the resource's inputs.
        """
        response = messages.AnalyzeResponse()
        if self._is_preview:
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
        levels = tuple(Level(each.name, each.rule.enforcement, self._applied(each)) for each in self._rules)
        waivers = stack_waivers.read(self._waivers, WAIVABLE)
        facts = Facts(resources, self._profile, self._architecture, waivers, levels)
        response = messages.AnalyzeResponse()
        verdicts: list[tuple[str, Enforcement, Sequence[Finding]]] = []
        evaluated: set[str] = set()
        for policy in self._rules:
            enforcement = self._applied(policy)
            if enforcement is Enforcement.DISABLED:
                continue
            findings = facts.waivers.apply(evaluate(policy.rule, facts, enforcement))
            report_findings(findings, lambda at, policy=policy: self._reporter(response, policy, at))
            if reason := reason_not_applicable(findings):
                response.not_applicable.append(messages.PolicyNotApplicable(policy_name=policy.name, reason=reason))
            verdicts.append((policy.name, enforcement, findings))
            evaluated |= {each.resource for each in findings if each.verdict is not Verdict.NOT_APPLICABLE}
        counts, today = coverage(facts.resources, evaluated), facts.waivers.on.isoformat()
        end = record.EndRecord(len(verdicts), len(facts.resources), *_named(facts), today, counts)
        placement = record.written_placement(placement_map.read(facts))
        self._write([record.written_rules(verdicts), placement, record.written_end(end)])
        return response

    def _properties(self, resource: messages.AnalyzerResource) -> Struct:
        """Returns a resource's properties, or its inputs if the configuration of its provider is not known yet."""
        if resource.provider.urn and not resource.properties.fields:
            return self._inputs.get(resource.urn, resource.properties)
        return resource.properties

    def _applied(self, policy: RulePolicy) -> Enforcement:
        """Returns the rule's enforcement level in this evaluation.

        Configuration (--policy-pack-config) cannot lower the level of a rule that cannot be waived.
        """
        own, configured = policy.enforcement_level, self._get_enforcement_level(policy)
        if own and not policy.rule.waivable and _STRENGTH.index(configured) < _STRENGTH.index(own):
            configured = own
        return Enforcement.MANDATORY if configured is EnforcementLevel.REMEDIATE else Enforcement(configured.value)

    def _reporter(self, response: messages.AnalyzeResponse, policy: RulePolicy, at: Enforcement) -> ReportViolation:
        level = EnforcementLevel(at.value)
        return self._create_report_violation(response, policy.name, policy.description, level, policy.severity)

    def _write(self, lines: list[str]) -> None:
        if self._engine is None:
            return
        limits = [("grpc.max_send_message_length", LARGEST_MESSAGE)]
        with grpc.insecure_channel(self._engine, limits) as channel:
            engine = engine_pb2_grpc.EngineStub(channel)
            for line in lines:
                entry = engine_pb2.LogRequest(severity=engine_pb2.DEBUG, message=line)
                engine.Log(entry)  # pyright: ignore[reportUnknownMemberType]


def _named(facts: Facts) -> tuple[str, str]:
    """Returns the stack's profile and architecture name; production and "" if they cannot be read."""
    try:
        return facts.profile, facts.required_architecture.name
    except Exception:  # the rules report the error
        return PRODUCTION, ""


def _serve(servicer: Analyzer, server: grpc.Server) -> None:
    """Registers the methods of Pulumi's analyzer protocol, except Remediate, with the gRPC server."""
    service = messages.DESCRIPTOR.services_by_name["Analyzer"]
    handlers = {
        method.name: grpc.unary_unary_rpc_method_handler(
            getattr(servicer, method.name),
            request_deserializer=GetMessageClass(method.input_type).FromString,
            response_serializer=GetMessageClass(method.output_type).SerializeToString,
        )
        for method in service.methods
        if method.name != "Remediate"
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))


def install() -> None:
    """Makes the SDK's `PolicyPack` serve this `Analyzer` instead of its own."""
    sdk._PolicyAnalyzerServicer = Analyzer  # pyright: ignore[reportPrivateUsage]
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server = _serve
