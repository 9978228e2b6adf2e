"""The plan of a replacement as text: numbered actions, what each touches, and what is in the way now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from operations.live_cluster import LiveCluster
from operations.operation_lease import CloudOperation
from operations.replacement import durations
from operations.replacement.dead_machine import DeadMachine
from operations.replacement.replacement_steps import end, numbered, removal


@dataclass(frozen=True)
class ForeseenReplacement:
    """What a plan shows beside the steps."""

    dead: DeadMachine
    new: str
    reasons: Sequence[str]
    """Why the machine may not be removed now."""
    difference: str
    """The change of the stack file; "" if there is none."""
    under_way: CloudOperation | None
    sizes: Mapping[str, int]
    """Bytes of a member of each Galera with a member there."""


def shown(cluster: LiveCluster, found: ForeseenReplacement) -> str:
    """Returns the plan as text."""
    return "\n".join(_lines(cluster, found)) + "\n"


def _lines(cluster: LiveCluster, found: ForeseenReplacement) -> Iterator[str]:
    dead = found.dead
    by = f" by {found.new}" if found.new else ""
    yield f"Replacement of {dead.name}{by}. Nothing is changed by this plan."
    members = ", ".join(f"{member} of {quorum}" for quorum, member in dead.all_members)
    yield f"Members of quorums there: {members or 'none'}. What they have on its disks is lost."
    if found.under_way:
        yield found.under_way.sentence()
    if found.reasons:
        yield "It may NOT be removed now:"
        yield from (f"  - {reason}" for reason in found.reasons)
    else:
        yield "It does not answer, and each of its quorums has a majority without it. A run needs --dead."
    yield ""
    for does, step in numbered(removal(cluster, dead, found.new, writes_file=bool(found.difference))):
        yield does
        if step.touches:
            yield f"      touches: {step.touches}"
    yield ""
    yield "The end (--end), after `up`:"
    yield from (does for does, _ in numbered(end(dead.name, found.new, dead.osds)))
    yield ""
    yield f"No step is undone. {durations.replacement(dead.node.roles)}"
    yield from durations.transfers(found.sizes)
    if found.difference:
        yield ""
        yield found.difference.rstrip("\n")
