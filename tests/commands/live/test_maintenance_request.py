"""Every refusal of what `quorate maintenance` is asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from commands import stack
from commands.live import maintenance_command
from commands.live.maintenance_request import MaintenanceRequest
from console.errors import UserError
from tests.operations.maintenance.small_cloud import SmallCloud, make_live
from tests.stacks import ROOT


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> SmallCloud:
    made = SmallCloud()
    make_live(monkeypatch, made, replace(stack.load(ROOT, "dev"), settings=made.plan.settings))
    return made


def do(name: str = "", **values: Any) -> int:
    return maintenance_command.run(ROOT, "dev", MaintenanceRequest(name, **values))


@pytest.mark.parametrize(
    ("values", "errors"),
    [
        ({}, ["Name one server or machine, or a pool with --pool."]),
        ({"name": "virt1", "pool": "compute"}, ["Name one server or machine, or a pool with --pool."]),
        ({"name": "virt11"}, ["There is no server or machine virt11 (did you mean 'virt1'?)."]),
        (
            {"pool": "computes", "batch": "0%", "max_failed": -1, "plan": True, "end": True},
            [
                "There is no pool computes (did you mean 'compute'?); "
                "pools: compute, master, mysqld, rabbitmq, storage.",
                "--batch 0% is neither a number from 1 nor a percentage from 1% to 100%.",
                "--max-failed -1 is below 0.",
                "Use only one of --plan, --end and --abort: a plan shows the way back too.",
            ],
        ),
        ({"name": "virt1", "batch": "2"}, ["--batch and --max-failed need --pool."]),
        ({"name": "virt1", "max_failed": 0}, ["--batch and --max-failed need --pool."]),
        (
            {"name": "virt1", "hold": "empty", "end": True},
            ["--hold is for a run that takes one server or machine out."],
        ),
        ({"pool": "compute", "hold": "empty"}, ["--hold is for a run that takes one server or machine out."]),
        ({"name": "messaging1", "hold": "empty"}, ["messaging1 has no step empty for --hold; it has: cordon."]),
        (
            {"name": "virt1", "cold": True, "end": True},
            ["--cold moves instances away; --end and --abort move none back."],
        ),
        (
            {"name": "virt1", "stops": ("mysqld", "mysql"), "end": True},
            [
                "--admit-stop is for a run that takes something out; --end and --abort stop nothing.",
                "--admit-stop mysqld: it has 3 members and keeps its majority in a maintenance.",
                "There is no quorum mysql (did you mean 'mysqld'?) for --admit-stop.",
            ],
        ),
    ],
)
def test_bad_input_is_named_all_at_once(cloud: SmallCloud, values: dict[str, Any], errors: list[str]) -> None:
    with pytest.raises(UserError) as refused:
        do(**values)
    assert str(refused.value).splitlines() == errors
    assert cloud.changes == []


@pytest.mark.parametrize("batch", ["101%", "-1", "1.5", "ten", "%", "1 %", "٣"])
def test_other_batches_are_refused(cloud: SmallCloud, batch: str) -> None:
    with pytest.raises(UserError, match="--batch"):
        do(pool="compute", batch=batch)
    assert cloud.changes == []
