"""What the state of a quorum means, whatever its program is."""

from __future__ import annotations

import pytest

from operations.living.quorum import LivingMember, LivingQuorum, Standing

WHOLE = LivingMember("a", counts=True, says="runs")
DOWN = LivingMember("b", counts=False, says="refuses", is_down=True)
SILENT = LivingMember("c", counts=False, says="no answer")
FULL = LivingMember("d", counts=True, says="runs", troubles=("its disk is full",))


@pytest.mark.parametrize(
    ("members", "serves", "standing"),
    [
        ((WHOLE, WHOLE, WHOLE), True, "whole"),
        ((WHOLE, WHOLE, DOWN), True, "reduced"),
        ((WHOLE, WHOLE, FULL), True, "reduced"),
        ((WHOLE, DOWN, DOWN), False, "lost"),
        # Nobody gave a state: two that do not run prove that the third has no majority; one does not.
        ((DOWN, DOWN, SILENT), None, "lost"),
        ((DOWN, SILENT, SILENT), None, "unknown"),
        ((SILENT, SILENT, SILENT), None, "unknown"),
        ((DOWN,), None, "lost"),
        ((SILENT,), None, "unknown"),
    ],
)
def test_standing(members: tuple[LivingMember, ...], serves: bool | None, standing: Standing) -> None:
    assert LivingQuorum("x", "etcd", members, serves).standing == standing
