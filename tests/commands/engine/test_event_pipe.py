"""Tests of the engine's events that are kept, and of the messages with secrets that are dropped."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from commands.engine.event_pipe import RunSummary, listening
from contract import VERDICTS_FILE
from policy.engine import record
from policy.engine.events import Event

URN = "urn:pulumi:dev::quorate::kubernetes:apps/v1:StatefulSet::galera"


def line(sequence: int, **event: Any) -> bytes:
    return json.dumps({"sequence": sequence, "timestamp": 1, **event}).encode() + b"\n"


def diagnostic(severity: str, message: str) -> dict[str, Any]:
    return {"diagnosticEvent": {"severity": severity, "message": message, "color": "never"}}


def summary(*, preview: bool, **changes: int) -> dict[str, Any]:
    return {"summaryEvent": {"resourceChanges": changes, "isPreview": preview, "durationSeconds": 1}}


def violation(level: str) -> dict[str, Any]:
    return {"policyEvent": {"resourceUrn": URN, "policyName": "majority", "enforcementLevel": level}}


def summary_of(events: Iterable[bytes]) -> RunSummary:
    result = RunSummary()
    for event in events:
        result.take(event)
    return result


def test_debug_messages_are_not_kept_for_they_hold_secrets(tmp_path: Path) -> None:
    kept = summary_of(
        [
            line(0, policyLoadEvent={}),
            line(1, **diagnostic("debug", 'props={"password": "hunter2"}')),
            line(2, **diagnostic("warning", "low on disk")),
            line(4, **violation("advisory")),
        ]
    )
    kept.write(tmp_path / "audit" / "events.jsonl")
    text = (tmp_path / "audit" / "events.jsonl").read_text(encoding="utf-8")
    assert "hunter2" not in text
    assert [next(key for key in json.loads(event) if key.endswith("Event")) for event in text.splitlines()] == [
        "policyLoadEvent",
        "diagnosticEvent",
        "policyEvent",
    ]


def test_the_record_of_a_run_is_kept_beside_its_events(tmp_path: Path) -> None:
    events, kept = tmp_path / "audit" / "events.jsonl", tmp_path / "audit" / record.FILE
    with listening() as (_, variables, heard):
        Path(variables[VERDICTS_FILE]).write_text("{}", encoding="utf-8")
    heard.write(events)
    assert kept.read_text(encoding="utf-8") == "{}"
    assert kept.stat().st_mode & 0o777 == 0o600
    with listening() as (_, _, heard):
        pass
    heard.write(events)
    assert not kept.exists(), "the pack of this run wrote none"


def test_of_an_up_the_second_phase_counts() -> None:
    both = summary_of(
        [
            line(0, policyLoadEvent={}),
            line(1, **violation("mandatory")),
            line(2, **summary(preview=True, create=7)),
            line(0, policyLoadEvent={}),
            line(1, **summary(preview=False, create=5, same=2)),
        ]
    )
    assert both.changes == {"create": 5, "same": 2}
    assert both.changed == {"create": 5}
    assert not both.only_previewed
    assert both.phase.mandatory == []
    assert len(both.lines) == 2


@pytest.mark.parametrize(
    ("events", "stopped"),
    [
        ([violation("mandatory"), diagnostic("error", "preview failed\n")], True),
        ([violation("advisory"), diagnostic("error", "preview failed\n")], False),
        ([violation("mandatory"), diagnostic("error", "Program failed with an unhandled exception")], False),
        ([diagnostic("error", "the stack is refused")], False),
        ([], False),
    ],
)
def test_a_policys_verdict_is_told_from_a_broken_program(events: list[dict[str, Any]], stopped: bool) -> None:
    lines = [line(number, **event) for number, event in enumerate(events)]
    assert summary_of(lines).stopped_by_policy is stopped


def test_what_is_no_event_is_passed_over() -> None:
    assert summary_of([b"not json\n", b"\n"]).lines == []


def test_a_writer_that_opens_the_log_twice_is_heard_to_the_end() -> None:
    """`up` opens its log once for the preview and once for the update, truncating it as if it were a file."""
    with listening() as (pipe, _, heard):
        for preview in (True, False):
            handle = os.open(pipe, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
            os.write(handle, line(0, **summary(preview=preview, create=1000)))
            for number in range(1, 500):
                os.write(handle, line(number, **violation("advisory")))
            os.close(handle)
    assert len(heard.lines) == 500
    assert not heard.only_previewed
    assert not pipe.exists()


def test_an_engine_that_never_opens_the_log_is_not_waited_for() -> None:
    with listening() as (_, _, heard):
        pass
    assert heard.lines == []


def test_a_display_that_fails_does_not_stop_the_engine(capfd: pytest.CaptureFixture[str]) -> None:
    """The engine would wait for a reader of its events, and keep the stack's lock."""
    seen: list[int] = []

    def watch(event: Event) -> None:
        seen.append(event.body["sequence"])
        if len(seen) == 2:
            raise KeyError("format")

    with listening(watch) as (pipe, _, heard), pipe.open("wb") as log:
        log.write(line(0, **diagnostic("debug", "hunter2")))
        for number in range(1, 5000):
            log.write(line(number, **violation("advisory")))
    assert seen == [1, 2]
    assert len(heard.lines) == 4999
    assert "KeyError: 'format'" in capfd.readouterr().err
