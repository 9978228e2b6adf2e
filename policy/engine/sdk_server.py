"""The only module that uses private names of Pulumi's policy SDK.

The SDK has no public way to evaluate a stack once for all policies, or to announce levels that depend on the stack's
configuration. So its server class is subclassed, and the two names by which `PolicyPack` finds and registers it are
replaced. docs/adr/0036-policy-pack-behind-a-proxy.md says what would have to be true to do without this.
"""

from __future__ import annotations

from importlib.metadata import version
from inspect import signature
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.message_factory import GetMessageClass
from pulumi.runtime.proto import analyzer_pb2 as messages
from pulumi.runtime.proto import analyzer_pb2_grpc
from pulumi_policy import EnforcementLevel, Policy, ReportViolation
from pulumi_policy import policy as sdk

if TYPE_CHECKING:
    from policy.engine.pack import RulePolicy

_SERVER, _REGISTER = "_PolicyAnalyzerServicer", "add_AnalyzerServicer_to_server"
_PARAMETERS = {
    "__init__": ("self", "name", "version", "policies", "enforcement_level"),
    "Configure": ("self", "request", "_context"),
    "ConfigureStack": ("self", "request", "_context"),
    "_get_enforcement_level": ("self", "policy"),
    "_create_report_violation": (
        "self",
        "response",
        "policy_name",
        "policy_description",
        "enforcement_level",
        "severity",
    ),
}
"""Methods of the SDK's server that are used, with the parameters that are given to them."""


class PolicyServer(sdk._PolicyAnalyzerServicer):  # pyright: ignore[reportPrivateUsage]
    """The SDK's gRPC server of a policy pack."""

    def __init__(self, name: str, version: str, policies: list[Policy], *more: Any) -> None:
        super().__init__(name, version, policies, *more)

    def configured_level(self, policy: Policy) -> EnforcementLevel:
        """Returns the level of a policy in this run: that of --policy-pack-config, or else the policy's own."""
        return self._get_enforcement_level(policy)

    def reporter(
        self, response: messages.AnalyzeResponse, policy: RulePolicy, level: EnforcementLevel
    ) -> ReportViolation:
        """Returns the function that adds a violation of a policy to a response."""
        return self._create_report_violation(response, policy.name, policy.description, level, policy.severity)


def serve_with(server: type[PolicyServer], without: frozenset[str]) -> None:
    """Makes the SDK's `PolicyPack` serve `server`, without the protocol's methods named in `without`.

    Raises RuntimeError if the SDK has another shape than this module expects.
    """
    if found := differences():
        raise RuntimeError(
            f"pulumi-policy {version('pulumi-policy')} does not fit policy/engine/sdk_server.py: "
            f"{'; '.join(found)}. Install the version that requirements.lock pins (`make setup`)."
        )

    def register(servicer: PolicyServer, to: grpc.Server) -> None:
        service = messages.DESCRIPTOR.services_by_name["Analyzer"]
        handlers = {
            method.name: grpc.unary_unary_rpc_method_handler(
                getattr(servicer, method.name),
                request_deserializer=GetMessageClass(method.input_type).FromString,
                response_serializer=GetMessageClass(method.output_type).SerializeToString,
            )
            for method in service.methods
            if method.name not in without
        }
        to.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))

    setattr(sdk, _SERVER, server)
    setattr(analyzer_pb2_grpc, _REGISTER, register)


def differences(policy_module: Any = sdk, protocol_module: Any = analyzer_pb2_grpc) -> list[str]:
    """Returns how the SDK differs from what this module uses, one text each; [] if it fits."""
    server = getattr(policy_module, _SERVER, None)
    if server is None:
        return [f"{policy_module.__name__} has no {_SERVER}"]
    found = [f"{protocol_module.__name__} has no {_REGISTER}"] if not hasattr(protocol_module, _REGISTER) else []
    for name, expected in _PARAMETERS.items():
        method = getattr(server, name, None)
        parameters = tuple(signature(method).parameters) if method else ()
        if parameters[: len(expected)] != expected:
            found.append(f"{_SERVER}.{name} has the parameters {parameters}; expected {expected}")
    return found
