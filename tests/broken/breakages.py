"""Breaks a stack in one way, after planner and components have finished.

Imported by a copy of the program, so that the rules evaluate the real program's resources. QUORATE_BREAK names the
case; without it, nothing is broken.
"""

from __future__ import annotations

import copy
import os
from typing import Any

import pulumi

from tests.broken.broken import Broken
from tests.broken.cases import BY_NAME

SOUND = Broken("nothing is broken", (), {})


def _case() -> Broken:
    return BY_NAME[name] if (name := os.environ.get("QUORATE_BREAK")) else SOUND


def install() -> None:
    """Breaks what QUORATE_BREAK names: inputs of resources, and the outputs that a component registers."""
    changes = _case().changes
    register = pulumi.ComponentResource.register_outputs

    def broken(self: pulumi.ComponentResource, outputs: Any) -> None:
        for kind, name, change in changes:
            if (self.pulumi_resource_type.rpartition(":")[2], self.pulumi_resource_name) == (kind, name):
                # The inputs share what is in it, and are broken by themselves. Other components may have Outputs in it,
                # which cannot be copied.
                outputs = copy.deepcopy(outputs)
                change(outputs)
        register(self, outputs)

    pulumi.ComponentResource.register_outputs = broken

    def transform(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
        props = args.props
        for kind, name, change in changes:
            if args.type_.rpartition(":")[2] == kind and args.name == name:
                props = copy.deepcopy(dict(props))
                change(props)
        return pulumi.ResourceTransformResult(props, args.opts)

    pulumi.runtime.register_resource_transform(transform)


def add() -> None:
    """Makes the hand-written objects of the case, by the Kubernetes provider itself."""
    added = _case().adds
    if not added:
        return
    provider = pulumi.ProviderResource("kubernetes", "added", {"renderYamlToDirectory": "build/added"})
    for each in added:
        pulumi.CustomResource(each.type, each.name, each.inputs, pulumi.ResourceOptions(provider=provider))
