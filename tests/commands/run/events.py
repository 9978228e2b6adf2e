"""Events of Pulumi as the tests of `console` give them: of objects of Kubernetes, providers and components."""

from __future__ import annotations

from typing import Any

from policy.engine.events import Event

STACK = "urn:pulumi:dev::quorate::"


def urn(type_: str, name: str) -> str:
    return f"{STACK}quorate:index:Cloud${type_}::{name}"


def begins(sequence: int = 0) -> Event:
    return Event({"sequence": sequence, "policyLoadEvent": {}})


def step(kind: str, operation: str, type_: str, name: str, **more: Any) -> Event:
    """An operation on a resource; `kind` is resourcePreEvent, resOutputsEvent or resOpFailedEvent."""
    inputs: dict[str, Any] = more.pop("inputs", {})
    if type_.startswith("kubernetes:"):
        inputs = {"metadata": {"name": name.removeprefix("cloud-"), "namespace": more.pop("namespace", "nova")}}
    state = {"custom": more.pop("custom", True), "inputs": inputs, "provider": more.pop("provider", "")}
    states = {"old": state} if operation == "delete" else {"new": state}
    planned = {"planning": True} if more.pop("planned", False) else {}
    metadata = {"op": operation, "urn": urn(type_, name), "type": type_, **states, **more}
    return Event({"sequence": 1, kind: {"metadata": metadata, **planned}})


def started(operation: str, type_: str, name: str, **more: Any) -> Event:
    return step("resourcePreEvent", operation, type_, name, **more)


def finished(operation: str, type_: str, name: str, **more: Any) -> Event:
    return step("resOutputsEvent", operation, type_, name, **more)


def failed(operation: str, type_: str, name: str, **more: Any) -> Event:
    return step("resOpFailedEvent", operation, type_, name, **more)


def message(severity: str, text: str, about: str = "", *, is_status: bool = False) -> Event:
    body = {"severity": severity, "message": text, "urn": about, "ephemeral": is_status}
    return Event({"sequence": 1, "diagnosticEvent": body})


def ends(*, is_preview: bool = False) -> Event:
    return Event({"sequence": 9, "summaryEvent": {"isPreview": is_preview, "resourceChanges": {}}})
