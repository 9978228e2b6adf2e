"""Durations of maintenance that were measured in this repository, with their source. `--plan` shows no others.

They are of a lab on two cores, where twenty services of a machine start with a third of a core: a guide to what takes
long, not a promise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from console.progress import duration
from contract import COMPUTE_POOL, CONTROLLER_POOL

SOURCE = "[lab]: every node of the lab drained in turn, two cores, 2026-11-26, docs/cloud.md"
DRAINS: Mapping[str, str] = {
    "mysqld": "7 to 9 minutes",
    "rabbitmq": "7 to 9 minutes",
    "ceph-osd": "a minute",
}
"""How long a node was drained until everything was ready again, by a process on it."""
SILENCES: Mapping[str, int] = {"placement-api": 77, "neutron-server": 71, "horizon": 56, "keystone": 27}
"""Longest silence of an API in seconds while nodes were drained, by its process."""

MOVE = 33.5
"""Seconds of the live migration that MIGRATION is about."""
MIGRATION = (
    f"{MOVE} s for an instance of 160 MiB without KVM, with 0 of 167 pings lost and a longest gap of 0.3 s "
    "(lab of two cores, 2026-11-28, docs/cloud.md)"
)
"""How long a live migration took, and what the instance's tenant noticed."""

REBOOT = (
    "1 min 45 s for a compute, from its last instance's move until it ran, and 1.5 minutes more until it was whole; "
    "2 min 20 s and 3 minutes for a controller on a busier host "
    "(lab of two cores whose machines are containers, 2026-11-30, docs/cloud.md)"
)
"""How long a reboot took."""
REBOOTS: Mapping[str, int] = {COMPUTE_POOL: 195, CONTROLLER_POOL: 320}
"""The same in seconds until the machine is whole, by its pool."""


def moves(hosts: Iterable[str]) -> str:
    """Returns how long it takes to move instances away. `hosts`: the compute of each; those of one go one by one."""
    most = max(Counter(hosts).values(), default=0)
    return f"takes: about {duration(most * MOVE)}, at {MOVE} s each; more memory takes longer" if most else ""


def reboots(pool: str, machines: int) -> str:
    """Returns how long it takes to reboot so many machines of a pool until each is whole; "" if none was measured."""
    if not (seconds := REBOOTS.get(pool)):
        return ""
    return (
        f"All reboots take about {duration(machines * seconds)}, one after the other at {duration(seconds)} each, "
        "beside the moves of instances."
    )


def drain(processes: Iterable[str]) -> str:
    """Returns how long a drain of a node with these processes took; "" if it was not measured. SOURCE says where."""
    found = [DRAINS[each] for each in DRAINS if each in set(processes)]
    return f"{found[0]} until everything was ready again [lab]" if found else ""


def silence(processes: Iterable[str]) -> str:
    """Returns the longest silence of the APIs of these processes; "" if none was measured. SOURCE says where."""
    known = set(processes)
    found = [f"{name} {seconds} s" for name, seconds in SILENCES.items() if name in known]
    return f"longest silence of an API: {', '.join(found)} [lab]" if found else ""
