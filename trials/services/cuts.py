"""Power cuts of some of a service's members under load."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence

from trials.services.testbed import ServiceTestbed


def some(names: Iterable[str], number: int) -> list[str]:
    """Returns so many of the names, chosen at random."""
    return sorted(random.sample(sorted(names), number))


def cut(
    testbed: ServiceTestbed,
    lost: Sequence[str],
    *,
    start: Callable[..., None],
    wait_ready: Callable[[], float],
    more: Callable[[], float] | None = None,
) -> list[str]:
    """Cuts the power of machines at the same moment, and starts them again. Returns notes for the report.

    `start`: starts the machines with these names. `wait_ready`: waits until all members are ready. `more`: waits until
    the others have acknowledged further operations; None if they are no majority.
    """
    testbed.cut_power(*lost)
    silence = [f"operations went on after {more():.1f} s"] if more else []
    start(*lost)
    return [f"{', '.join(lost)} lost power", *silence, f"all were ready {wait_ready():.0f} s later"]
