"""The audit of real previews."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policy.report.__main__ import main
from tests.policy.conftest import Preview, Previews
from tests.policy.logs import log_of, written
from tests.policy.world import Given, quorum, whole_stack

PRODUCTION = {"quorate:profile": "production"}


def audited(result: Preview, directory: Path) -> tuple[int, dict[str, Any]]:
    code = main(["--events", str(result.log), "--stack", "test", "--out", str(directory)])
    return code, json.loads((directory / "findings.json").read_text(encoding="utf-8"))


def test_the_synthetic_logs_say_what_real_ones_do(preview: Previews, tmp_path: Path) -> None:
    given = [quorum(apart=()) if each.name == "rabbitmq" else each for each in whole_stack()]
    code, real = audited(preview(given, PRODUCTION), tmp_path / "real")
    made = written(log_of(given), tmp_path / "made.jsonl")
    assert main(["--events", str(made), "--stack", "test", "--out", str(tmp_path / "made")]) == code == 1
    synthetic = json.loads((tmp_path / "made/findings.json").read_text(encoding="utf-8"))
    for document in (real, synthetic):
        document["generatedBy"] = None
    assert real == synthetic


@pytest.mark.parametrize("given", [[Given("kubernetes:apps/v1:Deployment", "broken", {"metadata": 5})]])
def test_a_preview_that_fails_by_itself(given: list[Given], preview: Previews, tmp_path: Path) -> None:
    result = preview(given, PRODUCTION)
    assert result.code != 0
    code, document = audited(result, tmp_path / "out")
    assert code == 1
    assert any("the preview failed: " in problem for problem in document["summary"]["problems"])
