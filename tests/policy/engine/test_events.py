"""The engine's events as typed values. The forms are the engine's own (sdk/go/common/apitype/events.go)."""

from __future__ import annotations

import json
from typing import Any

from policy.engine.events import EnginePhase, EngineStep, PhaseEnd, ReportedViolation, parse

URN = "urn:pulumi:dev::quorate::kubernetes:apps/v1:StatefulSet::galera"
STACK = {
    "type": "pulumi:pulumi:Stack",
    "urn": "urn:pulumi:dev::quorate::pulumi:pulumi:Stack::quorate-dev",
    "op": "create",
}


def phase(*events: dict[str, Any]) -> EnginePhase:
    found = EnginePhase()
    for event in events:
        parsed = parse(json.dumps(event))
        assert parsed is not None
        found.add(parsed)
    return found


def violation(pack: str, level: str) -> dict[str, Any]:
    names = {"policyPackName": pack, "policyName": "galera-size", "resourceUrn": URN}
    return {"policyEvent": {**names, "enforcementLevel": level, "message": "4 members\n"}}


def error(text: str) -> dict[str, Any]:
    return {"diagnosticEvent": {"severity": "error", "message": text}}


def test_a_line_that_is_not_an_object_is_no_event() -> None:
    assert [parse(line) for line in ("", "not json", "[1]", "5", b"\xff")] == [None] * 5


def test_each_kind_of_event() -> None:
    summary = {"resourceChanges": {"create": 2}, "isPreview": True, "result": "succeeded"}
    pack = {"policyPackName": "quorate", "policyPackVersion": "0.1.0", "passed": ["etcd-size"]}
    found = phase(
        {"sequence": 0, "preludeEvent": {"config": {"quorate:profile": "lab"}}},
        {"resourcePreEvent": {"metadata": STACK}},
        {"diagnosticEvent": {"severity": "info", "message": "hello\n"}},
        violation("quorate", "advisory"),
        {"policyAnalyzeStackSummaryEvent": pack},
        {"timestamp": 7, "summaryEvent": summary},
    )
    assert (found.profile, found.stack_urn, found.messages) == ("lab", STACK["urn"], ["hello\n"])
    assert found.violations == [ReportedViolation("quorate", "galera-size", URN, "advisory", "4 members")]
    assert found.packs["quorate"].passed == {"etcd-size"}
    assert found.end == PhaseEnd("succeeded", {"create": 2}, is_preview=True, time=7)


def test_a_step_tells_whether_the_resource_stays() -> None:
    state: dict[str, Any] = {"type": "a:b:C", "urn": URN, "inputs": {}}

    def step(operation: str) -> EngineStep | None:
        event = parse(json.dumps({"resourcePreEvent": {"metadata": {"op": operation, "new": state}}}))
        return event.step if event else None

    assert step("same") == EngineStep("a:b:C", URN, removes=False, state=state, operation="same")
    removes = {operation: found.removes for operation in ("update", "delete") if (found := step(operation))}
    assert removes == {"update": False, "delete": True}


def test_an_error_that_only_closes_the_phase_is_no_cause() -> None:
    assert phase(error("Preview failed\n"), error("update failed")).causes == []
    assert phase(error("preview failed"), error("no such file\n")).causes == ["no such file"]


def test_mandatory_violations_stop_an_update() -> None:
    found = phase(violation("other", "mandatory"), violation("quorate", "advisory"))
    assert [each.pack for each in found.mandatory] == ["other"]


def test_an_event_of_another_kind_has_none_of_them() -> None:
    event = parse('{"sequence": 3, "policyLoadEvent": {}}')
    assert event is not None
    assert (event.message, event.violation, event.pack_summary, event.profile, event.step, event.end) == (None,) * 6
    assert not event.begins_phase
