"""Makes the resources of given.json (its path is in QUORATE_GIVEN), as a hand-written program would.

Each has the dependencies, the protection and the provider that it has as a Given (tests/policy/world.py). An unknown
value is the id of the provider, which does not exist yet in a preview.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, cast

import pulumi
from pulumi import dynamic

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
OURS = ("pulumi-python:dynamic", "quorate:", "hand:")
"""Beginnings of the types of dynamic resources and of components; all other types have a provider of their package."""


class Provider(dynamic.ResourceProvider):
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        return dynamic.CreateResult("made", props)


class Machine(dynamic.Resource, module="quorate", name="Machine"):
    pass


class MachinePool(dynamic.Resource, module="quorate", name="MachinePool"):
    pass


class Component(pulumi.ComponentResource):
    def __init__(self, type_: str, name: str, props: dict[str, Any], opts: pulumi.ResourceOptions) -> None:
        super().__init__(type_, name, props, opts)
        self.register_outputs(props)


def filled(value: object, unknown: pulumi.Output[str]) -> Any:
    if value == UNKNOWN:
        return unknown
    if isinstance(value, dict):
        return {key: filled(item, unknown) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [filled(item, unknown) for item in cast("list[object]", value)]
    return value


def identified(type_: str, props: dict[str, Any]) -> dict[str, Any]:
    """Kubernetes properties with apiVersion and kind, which the classes of the SDK add."""
    group, _, kind = type_.partition(":")[2].rpartition(":")
    return {"apiVersion": group.removeprefix("core/"), "kind": kind, **props}


def make(each: dict[str, Any], made: dict[str, pulumi.Resource]) -> pulumi.Resource | None:
    type_, name, props = each["type"], each["name"], filled(each["props"], rendered.id)
    if type_ == "pulumi:pulumi:Stack":
        return None
    opts = pulumi.ResourceOptions(
        depends_on=[made[other] for other in each["after"]],
        parent=made.get(each["parent"]),
        protect=each["protected"] or None,
    )
    if type_.startswith("pulumi-python:dynamic"):
        kind = {"Machine": Machine, "MachinePool": MachinePool}[type_.rpartition(":")[2]]
        return kind(Provider(), name, props, opts=opts)
    if type_.startswith(OURS):
        return Component(type_, name, props, opts)
    if type_.startswith("kubernetes:"):
        opts.provider = rendered
        return pulumi.CustomResource(type_, name, identified(type_, props), opts)
    package = type_.partition(":")[0]
    opts.provider = provider(package, each["provider"])
    return pulumi.CustomResource(type_, name, props, opts)


def provider(package: str, uri: str) -> pulumi.ProviderResource:
    """Returns the provider of a package with this connection (uri)."""
    if (package, uri) not in providers:
        providers[package, uri] = pulumi.ProviderResource(package, f"{package}-{len(providers)}", {"uri": uri})
    return providers[package, uri]


directory = Path(os.environ["QUORATE_GIVEN"]).parent / "rendered"
rendered = pulumi.ProviderResource("kubernetes", "rendered", {"renderYamlToDirectory": str(directory)})
providers: dict[tuple[str, str], pulumi.ProviderResource] = {}
made: dict[str, pulumi.Resource] = {}
for each in json.loads(Path(os.environ["QUORATE_GIVEN"]).read_text(encoding="utf-8")):
    if one := make(each, made):
        made[each["name"]] = one
