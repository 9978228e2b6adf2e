"""Tests that a stack without a row of its architecture is refused, or can be configured."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from openstack import configuration
from tests.stacks import ROOT, full_size, parsed

ARCHITECTURE = yaml.safe_load((ROOT / "blueprint" / "architecture" / "100.yaml").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project of its own: a stack file names files of its project only."""
    monkeypatch.chdir(tmp_path)


def plan_without(name: str) -> Plan:
    rows = [row for row in ARCHITECTURE["rows"] if row["service"] != name]
    Path("mine.yaml").write_text(yaml.safe_dump(ARCHITECTURE | {"rows": rows}), encoding="utf-8")
    return plan(parsed(full_size("100") | {"architecture": "mine.yaml"}))


@pytest.mark.parametrize("name", sorted(row["service"] for row in ARCHITECTURE["rows"]))
def test_a_stack_without_a_row_is_refused_or_can_be_configured(name: str) -> None:
    try:
        made = plan_without(name)
    except InvalidStackError:
        return
    for process in made.processes:
        configuration.of_service(made, process.name)


def test_the_message_names_what_is_missing_and_what_needs_it() -> None:
    with pytest.raises(InvalidStackError) as raised:
        plan_without("nova-scheduler")
    said = "nova-api, nova-conductor, nova-novncproxy, nova-compute cannot be configured without nova-scheduler"
    assert f"quorate:architecture (100): {said}; add nova-scheduler, or remove them" in str(raised.value)
