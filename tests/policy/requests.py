"""What the engine sent to the policy pack in one preview, evaluated again in this process with changed resources.

One preview on the real engine then serves many cases: the pack is a function of what it receives, and a preview of the
whole program takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from google.protobuf import json_format
from pulumi.runtime.proto import analyzer_pb2 as messages
from pulumi_policy import EnforcementLevel

from policy.engine import pack
from policy.engine.analyzer import Analyzer
from tests.policy.world import Given

Change = Callable[[dict[str, Any]], None]
CONTEXT = cast("Any", None)
"""The context of a call, which the answers do not use."""


@dataclass(frozen=True)
class Sent:
    """The configuration and the resources that the engine sent to the pack at the end of a preview."""

    configuration: messages.AnalyzerStackConfigureRequest
    stack: messages.AnalyzeStackRequest

    @classmethod
    def read(cls, directory: Path) -> Sent:
        """Reads the requests that tests/policy/packs/recording has kept in a directory."""
        return cls(
            messages.AnalyzerStackConfigureRequest.FromString((directory / "ConfigureStack.bin").read_bytes()),
            messages.AnalyzeStackRequest.FromString((directory / "AnalyzeStack.bin").read_bytes()),
        )

    def changed(self, kind: str, name: str, change: Change) -> Sent:
        """Returns the requests with other properties of the resources of this name whose type ends in `kind`."""
        stack = self._copy()
        found = [each for each in stack.resources if (each.type.rpartition(":")[2], each.name) == (kind, name)]
        assert found, f"the stack has no {kind} {name}"
        for each in found:
            properties = json_format.MessageToDict(each.properties)
            change(properties)
            each.properties.Clear()
            json_format.ParseDict(properties, each.properties)
        return Sent(self.configuration, stack)

    def with_objects(self, *added: Given) -> Sent:
        """Returns the requests with Kubernetes objects of a provider of their own beside the stack's resources."""
        stack = self._copy()
        start = next(each.urn for each in stack.resources if each.type == "pulumi:pulumi:Stack")
        beginning = start.partition("::pulumi:pulumi:Stack")[0]
        for each in added:
            one = stack.resources.add(
                type=each.type, name=each.name, urn=f"{beginning}::{each.type}::{each.name}", parent=start
            )
            one.provider.urn = f"{beginning}::pulumi:providers:kubernetes::added"
            json_format.ParseDict(each.inputs, one.properties)
        return Sent(self.configuration, stack)

    def of_case(self, prefix: str) -> Sent:
        """Returns the requests with only the resources whose names begin with `prefix`, which is removed from them.

        `merged` has given them these names.
        """
        stack = messages.AnalyzeStackRequest()
        for each in self.stack.resources:
            if each.type != "pulumi:pulumi:Stack" and not each.name.startswith(prefix):
                continue
            one = stack.resources.add()
            one.CopyFrom(each)
            one.name = each.name.removeprefix(prefix)
            one.urn, one.parent = _unmarked(each.urn, prefix), _unmarked(each.parent, prefix)
            one.dependencies[:] = [_unmarked(urn, prefix) for urn in each.dependencies]
        return Sent(self.configuration, stack)

    def _copy(self) -> messages.AnalyzeStackRequest:
        stack = messages.AnalyzeStackRequest()
        stack.CopyFrom(self.stack)
        return stack

    def violations(self) -> Mapping[str, dict[str, str]]:
        """The violations that the pack reports: by rule, the enforcement level by name of the resource."""
        analyzer = Analyzer(pack.NAME, "0.0.0", list(pack.policies()), EnforcementLevel.ADVISORY)
        analyzer.ConfigureStack(self.configuration, CONTEXT)
        found: dict[str, dict[str, str]] = {}
        for each in analyzer.AnalyzeStack(self.stack, CONTEXT).diagnostics:
            level = messages.EnforcementLevel.Name(each.enforcementLevel).lower()
            found.setdefault(each.policyName, {})[each.urn.rpartition("::")[2]] = level
        return found


def merged(cases: Mapping[str, Sequence[Given]]) -> list[Given]:
    """Returns the resources of several stacks as one stack: each name begins with the key of its stack."""
    return [
        replace(
            each,
            name=f"{prefix}{each.name}",
            after=tuple(f"{prefix}{name}" for name in each.after),
            parent=f"{prefix}{each.parent}" if each.parent else "",
        )
        for prefix, given in cases.items()
        for each in given
    ]


def _unmarked(urn: str, prefix: str) -> str:
    beginning, separator, name = urn.rpartition("::")
    return f"{beginning}{separator}{name.removeprefix(prefix)}"
