"""Makes the resources of given.json (its path is in QUORATE_GIVEN), as a hand-written program would.

An unknown value is the id of the provider, which does not exist yet in a preview.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, cast

import pulumi
from pulumi import dynamic

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


class Provider(dynamic.ResourceProvider):
    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        return dynamic.CreateResult("made", props)


class Machine(dynamic.Resource, module="quorate", name="Machine"):
    pass


class MachinePool(dynamic.Resource, module="quorate", name="MachinePool"):
    pass


class Component(pulumi.ComponentResource):
    def __init__(self, type_: str, name: str, props: dict[str, Any]) -> None:
        super().__init__(type_, name, props)
        self.register_outputs(props)


def filled(value: object, unknown: pulumi.Output[str]) -> Any:
    if value == UNKNOWN:
        return unknown
    if isinstance(value, dict):
        return {key: filled(item, unknown) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [filled(item, unknown) for item in cast("list[object]", value)]
    return value


def make(type_: str, name: str, props: dict[str, Any], kubernetes: pulumi.ProviderResource) -> None:
    if type_.startswith("kubernetes:"):
        pulumi.CustomResource(type_, name, props, pulumi.ResourceOptions(provider=kubernetes))
    elif type_.startswith("pulumi-python:dynamic"):
        kind = {"Machine": Machine, "MachinePool": MachinePool}[type_.rpartition(":")[2]]
        kind(Provider(), name, props)
    elif type_ != "pulumi:pulumi:Stack":
        Component(type_, name, props)


given = json.loads(Path(os.environ["QUORATE_GIVEN"]).read_text(encoding="utf-8"))
rendered = Path(os.environ["QUORATE_GIVEN"]).parent / "rendered"
provider = pulumi.ProviderResource("kubernetes", "rendered", {"renderYamlToDirectory": str(rendered)})
for each in given:
    make(each["type"], each["name"], filled(each["props"], provider.id), provider)
