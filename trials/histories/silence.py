"""For how long clients had no answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from trials.histories.operation import ClientOperation


def longest(history: Iterable[ClientOperation], since: float) -> float:
    """Returns the seconds of the longest time after `since` in which no operation was acknowledged.

    `since`: a time of the clients' clock. The time after the last acknowledged operation is not counted.
    """
    times = sorted(each.completed for each in history if each.outcome == "ok" and each.completed >= since)
    return max((after - before for before, after in itertools.pairwise([since, *times])), default=0.0)
