"""Durations of replacements that were measured in this repository, with their source. `--plan` shows no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from console.progress import duration
from contract import COMPUTE_POOL, CONTROLLER_POOL, MASTER_POOL, STORAGE_POOL
from operations.living.cloud import OSD

SOURCE = "labs of few servers on two busy cores, 2026-11-30, docs/replace.md"
MEASURED: Mapping[str, str] = {
    MASTER_POOL: "a master was removed in 2 min 26 s, set up by `up` in 3 min 45 s, complete 17 s later",
    CONTROLLER_POOL: "a controller was removed in 4 min 16 s, set up by `up` in 4 min 44 s, complete 1 min 40 s later",
    STORAGE_POOL: "a storage node was removed in 1 min 50 s, set up by `up` in 4 min 39 s, complete 46 s later",
    COMPUTE_POOL: "a compute was removed in 41 s, set up by `up` in 54 s, complete 4 s later, after its instance had "
    "been evacuated",
}
"""How long a replacement took, by the role of the machine: its removal, `up` and `--end`. Members had little data."""


DISKS_SOURCE = "real Ceph with little data on two cores, 2026-11-30, docs/replace.md"
DISKS: Mapping[str, str] = {
    OSD: "an OSD was removed in 7 s, and all was whole 10 to 31 s after the new disk",
    "ceph-mon": "a monitor was removed in 5 s, and back in the quorum 21 s after its directory was to be emptied",
}
"""How long the replacement of a disk took that failed in a machine that runs, by the process whose data it had."""
_UNKNOWN = "What it takes was not measured."
TRANSFER = 10
"""MiB in a second that a member of Galera takes over and starts (`large_transfer` in trials/services/galera.py).

Of a host with a load of about 40. It was 32 on one with nothing else to do."""


def replacement(roles: Iterable[str]) -> str:
    """Returns what a replacement of a machine with these roles took, with the source; says so if none was measured."""
    known = set(roles)
    found = [text for role, text in MEASURED.items() if role in known]
    if not found:
        return _UNKNOWN
    return f"Measured: {'; '.join(found)} ({SOURCE}). More data takes longer."


def disk(process: str) -> str:
    """Returns what the replacement of a disk with this process's data took, with the source; or that none was tried."""
    if not (text := DISKS.get(process)):
        return _UNKNOWN
    return f"Measured: {text} ({DISKS_SOURCE}). More data takes longer."


def transfers(sizes: Mapping[str, int]) -> Iterator[str]:
    """Yields how long the new members of Galera take for their data. `sizes`: bytes of a member, by its quorum."""
    for quorum, size in sizes.items():
        mebibytes = size / 2**20
        yield (
            f"The new member of {quorum} takes over {mebibytes:.0f} MiB: about {duration(mebibytes / TRANSFER)} at "
            f"{TRANSFER} MiB/s (real members on one busy host of two cores, 2026-11-30)."
        )
