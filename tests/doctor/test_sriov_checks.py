"""Network cards with virtual functions: what a machine must have before Nova can give a function to a guest."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.settings import Settings
from doctor import sriov_checks
from doctor.examination import _lines  # pyright: ignore[reportPrivateUsage]
from doctor.login import Reading
from tests.blueprint.plan.test_sriov import NETWORKS, NODES, VLAN
from tests.doctor.test_checks import reading
from tests.stacks import full_size, parsed

SOUND = {"functions": ["ens2f0 0 32 up", "ens2f1 7 32 up"], "iommu": ["yes"]}


def settings(**more: Any) -> Settings:
    made: dict[str, Any] = {"nodes": NODES, "networks": NETWORKS, "projects": VLAN, **more}
    return parsed(full_size("100", **made))


def problems(**facts: list[str]) -> list[tuple[str, str]]:
    made = settings()
    nodes = [node for node in plan(made).nodes if node.name == "cmp2"]
    found = sriov_checks.cards(nodes, {"cmp2": reading(**facts)}, made)
    return [(each.problem, each.remedy) for each in found]


def test_a_card_with_functions_is_sound() -> None:
    assert problems(**SOUND) == []
    assert problems(**{**SOUND, "functions": ["ens2f1 1 32 unknown"]}) == []


@pytest.mark.parametrize(
    ("facts", "problem", "remedy"),
    [
        ({**SOUND, "functions": ["ens2f0 7 32 up"]}, "it has no network card ens2f1 with virtual functions", "correct"),
        (
            {**SOUND, "functions": ["ens2f1 0 32 up"]},
            "ens2f1 has no virtual functions",
            "write how many, up to 32, to /sys/class/net/ens2f1/device/sriov_numvfs at each boot",
        ),
        ({**SOUND, "functions": ["ens2f1 7 32 down"]}, "ens2f1 is down", "run `ip link set ens2f1 up`"),
        ({"functions": SOUND["functions"]}, "its IOMMU is off", "add intel_iommu=on"),
    ],
)
def test_what_is_missing_is_named(facts: dict[str, list[str]], problem: str, remedy: str) -> None:
    ((said, advice),) = problems(**facts)
    assert said == problem
    assert advice.startswith(remedy)


def test_only_machines_with_a_card_are_examined() -> None:
    made = plan(settings())
    readings: dict[str, Reading] = {node.name: reading(**SOUND) for node in made.machines}
    (line,) = [each for each in _lines(made, readings, []) if each.check == sriov_checks.SRIOV]
    assert (line.examined, line.findings) == (2, ())
    without = plan(settings(nodes={}))
    assert sriov_checks.SRIOV not in {each.check for each in _lines(without, readings, [])}
