"""Logs of clients are read as histories."""

from __future__ import annotations

from trials.histories.operation import parse


def test_a_log_is_read_in_the_order_of_invocations() -> None:
    line = '{"process": 1, "action": "publish", "value": 3, "invoked": %d, "completed": 9, "outcome": "ok"}\n'
    found = parse([line % 5, "Traceback …\n", line % 4, line[:20]])
    assert [each.invoked for each in found] == [4, 5]


def test_a_client_that_is_killed_leaves_what_it_has_begun() -> None:
    line = '{"process": 1, "action": "publish", "value": %d, "invoked": %d, "completed": 9, "outcome": "%s"}\n'
    found = parse([line % (1, 1, "unknown"), line % (1, 1, "ok"), line % (2, 2, "unknown")])
    assert [(each.value, each.outcome) for each in found] == [(1, "ok"), (2, "unknown")]
