"""`quorate check` compares a stack file with the versions that the stack's last deployment recorded."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands.plan import stack_check
from formats import waiver_limits
from tests.stacks import STACKS
from toolchain.install import STATE

DEPLOYED = {"OpenStack": "2026.1", "Kubernetes": "1.37.2"}

EXISTING: dict[str, Any] = {"machines": "existing", "cluster": {"context": "cloud"}, "rootSecret": {"secure": "v1:a"}}
"""Keys of a stack on a running cluster."""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with a state in which the stack `prod` is deployed."""
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    (tmp_path / "Pulumi.yaml").write_text("name: quorate\n", encoding="utf-8")
    recorded(tmp_path, {"versions": DEPLOYED})
    return tmp_path


def recorded(root: Path, outputs: dict[str, Any]) -> None:
    state = root / STATE / ".pulumi" / "stacks" / "quorate" / "prod.json"
    state.parent.mkdir(parents=True, exist_ok=True)
    stack = {"urn": "urn:pulumi:prod::quorate::pulumi:pulumi:Stack::quorate-prod", "type": "pulumi:pulumi:Stack"}
    document = {"checkpoint": {"latest": {"resources": [{**stack, "outputs": outputs}]}}}
    state.write_text(json.dumps(document), encoding="utf-8")


def written(root: Path, name: str = "Pulumi.prod.yaml", **keys: Any) -> Path:
    document = yaml.safe_load(STACKS["prod"].read_text(encoding="utf-8"))
    document["config"] |= {f"quorate:{key}": value for key, value in keys.items()}
    file = root / name
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return file


def test_the_versions_that_are_deployed_are_valid(root: Path) -> None:
    assert stack_check.check(root, [written(root)]) == 0


def test_a_release_goes_back(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stack_check.check(root, [written(root, release="2025.1")]) == 1
    errors = capsys.readouterr().err
    assert "Pulumi.prod.yaml: quorate:release: OpenStack from 2026.1 to 2025.1 goes back; expected 2026.1:" in errors


def test_a_running_cloud_is_not_upgraded(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stack_check.check(root, [written(root, release="2026.2", target="live", **EXISTING)]) == 1
    assert "OpenStack from 2026.1 to 2026.2 on a running cloud" in capsys.readouterr().err


def test_a_waiver_with_a_second_person_is_accepted(root: Path) -> None:
    waiver = {
        "rule": "version-step-supported",
        "resource": "previous",
        "reason": "the cloud is empty",
        "owner": "a",
        "expires": str(waiver_limits.today() + timedelta(days=30)),
    }
    assert stack_check.check(root, [written(root, kubernetes="1.36.3", waivers=[waiver])]) == 1
    both = {**waiver, "approvedBy": "b"}
    assert stack_check.check(root, [written(root, kubernetes="1.36.3", waivers=[both])]) == 0
    past = {**both, "expires": "2020-01-01"}
    assert stack_check.check(root, [written(root, kubernetes="1.36.3", waivers=[past])]) == 1


def test_a_lab_is_warned(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stack_check.check(root, [written(root, kubernetes="1.36.3", profile="lab")]) == 0
    assert "warning: quorate:kubernetes: Kubernetes from 1.37.2 to 1.36.3 goes back" in capsys.readouterr().err


@pytest.mark.parametrize("outputs", [{}, {"versions": None}])
def test_a_state_without_versions_is_not_compared(root: Path, outputs: dict[str, Any]) -> None:
    recorded(root, outputs)
    assert stack_check.check(root, [written(root, release="2025.1")]) == 0


def test_a_file_that_is_no_stack_of_the_clone_is_not_compared(root: Path) -> None:
    (root / "other").mkdir()
    assert stack_check.check(root, [written(root, "other/Pulumi.prod.yaml", release="2025.1")]) == 0
