"""Resources of a preview's events, with secrets closed."""

from __future__ import annotations

import json

from changes.inputs import SECRET, resources
from tests.policy.world import UNKNOWN

SEALED = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "[secret]"}


def event(type_: str, name: str, inputs: object, op: str = "create") -> str:
    urn = f"urn:pulumi:test::quorate::{type_}::{name}"
    return json.dumps(
        {"resourcePreEvent": {"metadata": {"op": op, "new": {"type": type_, "urn": urn, "inputs": inputs}}}}
    )


def test_events_give_inputs_with_secrets_closed_and_unknown_values_known_as_such() -> None:
    type_ = "kubernetes:core/v1:ConfigMap"
    lines = [
        event(type_, "one", {"data": {"a": SEALED, "b": UNKNOWN, "c": 1.0}}),
        event(type_, "gone", {}, op="delete"),
        json.dumps({"summaryEvent": {}}),
    ]
    (only,) = resources(lines)
    assert only.name == "one"
    assert only.plain()["data"]["a"] == SECRET
    assert repr(only.plain()["data"]["b"]) == "UNKNOWN"
