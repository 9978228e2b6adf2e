"""An update without a preview, on the real engine: what one resource shows to be wrong is not created."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.policy.conftest import Preview, Previews
from tests.policy.world import Given, workload

PRODUCTION = {"quorate:profile": "production"}
SOUND = workload("sound", "DaemonSet", apart=(), image="registry/app@sha256:" + "0" * 64)
FLOATING = workload("floating", image="busybox:latest")
CLEAR = Given(
    "kubernetes:core/v1:ConfigMap",
    "clear",
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "clear"}, "data": {"admin_password": "hunter2"}},
)


def update(preview: Previews, *given: Given, profile: str = "production") -> Preview:
    return preview(given, {"quorate:profile": profile}, "--skip-preview", "--yes", verb="up")


def written(directory: Path) -> set[str]:
    """Names in the rendered manifests."""
    return {path.stem.rpartition("-")[2] for path in (directory / "rendered").rglob("*.yaml")}


@pytest.mark.parametrize(
    ("broken", "rule"), [(FLOATING, "no-floating-tag"), (CLEAR, "no-clear-secrets")], ids=["tag", "secret"]
)
def test_what_one_resource_shows_to_be_wrong_is_not_written(
    broken: Given, rule: str, preview: Previews, tmp_path: Path
) -> None:
    """The engine ends the update at the first such resource; test_a_lab_is_told_once has the same written."""
    result = update(preview, SOUND, broken)
    assert result.code != 0
    assert broken.name not in written(tmp_path)
    assert result.violations() == {f"mandatory {rule}": {broken.name}}
    assert "hunter2" not in result.output


def test_a_lab_is_told_once(preview: Previews, tmp_path: Path) -> None:
    result = update(preview, SOUND, FLOATING, profile="lab")
    assert result.code == 0, result.output
    assert written(tmp_path) == {"sound", "floating"}
    told = [
        event["policyEvent"]["policyName"]
        for event in result.events
        if event.get("policyEvent", {}).get("resourceUrn", "").endswith("::floating")
    ]
    assert told.count("no-floating-tag") == 1


def test_a_preview_tells_each_failure_once(preview: Previews) -> None:
    result = preview([SOUND, FLOATING], PRODUCTION)
    names = [event["policyEvent"]["policyName"] for event in result.events if "policyEvent" in event]
    assert names.count("no-floating-tag") == 1
