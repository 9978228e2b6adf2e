"""The stacks of `make bench` are valid."""

from __future__ import annotations

from commands.bench.bench import LARGE, planning
from tests.fakes import ROOT


def test_the_planning_benchmark_has_a_plan() -> None:
    assert planning(ROOT) > 0
    assert LARGE == 10_000
