"""The stack's configuration as the policy pack receives it: in a call of the engine, or in the environment.

Pulumi's language hosts differ in the way (docs/adr/0036-policy-pack-behind-a-proxy.md). The proxy of the official host
answers `ConfigureStack` itself and starts the pack with the configuration in the environment; from SDK 3.276.0 on, it
also passes the call on. Without a proxy, only the call arrives. A call replaces what the environment gave.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from policy.facts import stack_waivers
from policy.facts.stack_configuration import PRODUCTION, StackConfiguration

if TYPE_CHECKING:
    from pulumi.runtime.proto import analyzer_pb2 as messages

PROFILE, ARCHITECTURE = "quorate:profile", "quorate:architecture"
STACK, CONFIG, DRY_RUN = "PULUMI_STACK", "PULUMI_CONFIG", "PULUMI_DRY_RUN"
"""Environment variables that a language host sets for a policy pack. CONFIG: a JSON object, keys and texts."""


def from_request(request: messages.AnalyzerStackConfigureRequest) -> StackConfiguration:
    """Returns the configuration in the engine's call `ConfigureStack`."""
    return _read(request.stack, request.config, is_preview=request.dry_run)


def from_environment(environment: Mapping[str, str]) -> StackConfiguration:
    """Returns the configuration in a pack's environment; one without a stack if the environment has none.

    A host leaves PULUMI_CONFIG out if the stack has no configuration. A malformed PULUMI_CONFIG counts as no
    configuration at all, so that no rule passes with the values of another profile.
    """
    stack = environment.get(STACK, "")
    try:
        values: object = json.loads(environment.get(CONFIG) or "{}")
    except ValueError:
        return StackConfiguration()
    if not stack or not isinstance(values, dict):
        return StackConfiguration()
    return _read(stack, cast("dict[str, object]", values), is_preview=environment.get(DRY_RUN) == "true")


def _read(stack: str, values: Mapping[str, object], *, is_preview: bool) -> StackConfiguration:
    """Reads three values. All others, secrets among them, are dropped."""
    profile, architecture, waivers = (
        value if isinstance(value, str) else None
        for value in (values.get(key) for key in (PROFILE, ARCHITECTURE, stack_waivers.KEY))
    )
    return StackConfiguration(stack, PRODUCTION if profile is None else profile, architecture, waivers, is_preview)
