"""Whether a queue delivered every confirmed message, none twice or unasked, and the messages of a client in order.

The value of an operation with the action `publish` is the number of the message.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from trials.histories.operation import Anomaly, ClientOperation


def anomalies(
    history: Iterable[ClientOperation], delivered: Sequence[int], earlier: Collection[int] = ()
) -> list[Anomaly]:
    """Returns the anomalies of a queue, as Jepsen's total-queue names them. `delivered`: messages as they came.

    `earlier`: messages that were published before this history, whose consumers have ended. One that comes again is
    `late`, and none is lost.
    """
    published = {each.value: each for each in history if each.action == "publish"}
    times = Counter(delivered)
    kinds = {
        "lost": [number for number, each in published.items() if each.outcome == "ok" and number not in times],
        "unexpected": [number for number in times if number not in published and number not in earlier],
        "late": [number for number in times if number not in published and number in earlier],
        "duplicated": [number for number, count in times.items() if count > 1],
        "reordered": _reordered(published, dict.fromkeys(delivered)),
    }
    return [Anomaly(kind, f"message {numbers[0]}", len(numbers)) for kind, numbers in kinds.items() if numbers]


def _reordered(published: dict[int, ClientOperation], delivered: Iterable[int]) -> list[int]:
    """Returns messages that were delivered after a later one of the same client."""
    latest: dict[int, float] = defaultdict(float)
    found: list[int] = []
    for number in delivered:
        if each := published.get(number):
            if each.invoked < latest[each.process]:
                found.append(number)
            latest[each.process] = max(latest[each.process], each.invoked)
    return found
