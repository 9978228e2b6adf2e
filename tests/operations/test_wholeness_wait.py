"""Waits of operations ask again, whatever they could not ask."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from console.errors import UserError
from operations import wholeness_wait


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction] - a fixture
    monkeypatch.setattr(wholeness_wait, "PAUSE", 0.01)


def test_an_answer_that_comes_late_is_asked_for_again() -> None:
    said: list[str] = []
    missing = Mock(side_effect=[UserError("ceph-mon was not asked"), ["osd.3 is up"], []])
    wholeness_wait.await_whole(missing, Mock(), said.append, "storage1 is not replaced")
    assert said == ["  waits: ceph-mon was not asked", "  waits: osd.3 is up"]


def test_what_never_answers_is_named_at_the_end() -> None:
    missing = Mock(side_effect=UserError("ceph-mon was not asked"))
    with pytest.raises(UserError, match=r"storage1 is not replaced after 0\.1 s:\n  - ceph-mon was not asked\nRepair"):
        wholeness_wait.await_whole(missing, Mock(), Mock(), "storage1 is not replaced", limit=0.05)
