"""The replacement of a failed disk in a machine that runs: what OSDs and members have in common, and the run of steps.

The operator names the machine, and what is on the disk, an OSD or a member: `quorate replace storage2 --osd 3`. A
mistyped number is refused, because it is of another machine, and alerts name the machine too. As for a machine, a first
run removes, then there is work by hand, and `--end` waits until all is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from operations.live_cluster import LiveCluster
from operations.living.cloud import LivingCloud
from operations.operation_lease import NAME, CloudOperation, HeldLease
from operations.replacement import durations
from operations.replacement.replacement_steps import numbered
from operations.root_shell import Shell
from operations.wholeness_wait import await_whole

COPIED = 24 * 3600.0
"""Seconds within which Ceph must have copied the data of an OSD. Project figure: 10 TB at 120 MB/s."""
AGAIN = "run the same command again: it goes on waiting"
Say = Callable[[str], None]


@dataclass(frozen=True)
class DiskWork:
    """What the steps of a run work with, while this process has the Lease."""

    cluster: LiveCluster
    lease: HeldLease
    read: Callable[[], LivingCloud]
    say: Say
    shell: Shell

    def wait(self, missing: Callable[[], list[str]], limit: float | None = None) -> None:
        """Waits until nothing is missing. Raises UserError after a while, or after so many seconds (`limit`)."""
        failure = f"{self.lease.operation.subject} is not replaced"
        await_whole(missing, self.lease, self.say, failure, AGAIN, limit=limit)


@dataclass(frozen=True)
class DiskStep:
    """A step, with what it touches, and what does it. That may be done again, and returns what was done, or ""."""

    does: str
    touches: str = ""
    do: Callable[[DiskWork], str] | None = None
    """None for what was done before the steps, or is to be done by hand."""


class FailedDisk(Protocol):
    """What was on a disk that failed."""

    @property
    def subject(self) -> str:
        """The subject of the operation."""
        ...

    @property
    def process(self) -> str:
        """The process whose data it has, such as ceph-osd."""
        ...

    @property
    def lost(self) -> str:
        """What is lost with the disk, as a sentence."""
        ...

    @property
    def record(self) -> Mapping[str, Any]:
        """Fields of the operation by which a later run knows what this one has removed."""
        ...

    def reasons(self, cloud: LivingCloud, cluster: LiveCluster) -> list[str]:
        """Returns why it may not be removed now, each as text, with what to do first."""
        ...

    def removal(self) -> tuple[DiskStep, ...]:
        """Returns the steps that remove it, after the Lease is taken and the quorums were asked."""
        ...

    def end(self) -> tuple[DiskStep, ...]:
        """Returns the steps after the work by hand, until all is whole."""
        ...


def removal(disk: FailedDisk) -> tuple[DiskStep, ...]:
    """Returns all steps of the removal."""
    return (
        DiskStep("take the Lease, so that no other operation begins until the end", f"the Lease {NAME}"),
        DiskStep("require that the cloud goes on without it"),
        *disk.removal(),
    )


def end(disk: FailedDisk) -> tuple[DiskStep, ...]:
    """Returns all steps of the end."""
    return (*disk.end(), DiskStep("delete the Lease", do=lambda work: work.lease.finish() or ""))


def run(steps: Sequence[DiskStep], work: DiskWork, before: str = "") -> None:
    """Does steps in their order. Raises UserError if one cannot be done. `before`: text before a step in the Lease."""
    for does, step in numbered(steps):
        work.lease.change(step=f"{before}{does.strip()}")
        work.say(does)
        if step.do and (said := step.do(work)):
            work.say(f"    {said}")


def plan_text(disk: FailedDisk, reasons: Sequence[str], under_way: CloudOperation | None) -> str:
    """Returns the plan of a replacement as text. `reasons`: why it may not be removed now."""
    return "\n".join(_lines(disk, reasons, under_way)) + "\n"


def _lines(disk: FailedDisk, reasons: Sequence[str], under_way: CloudOperation | None) -> Iterator[str]:
    yield f"Replacement of {disk.subject}. Nothing is changed by this plan."
    yield disk.lost
    if under_way:
        yield under_way.sentence()
    if reasons:
        yield "It may NOT be removed now:"
        yield from (f"  - {reason}" for reason in reasons)
    else:
        yield "The cloud goes on without it. A run needs --dead."
    yield ""
    for does, step in numbered(removal(disk)):
        yield does
        if step.touches:
            yield f"      touches: {step.touches}"
    yield ""
    yield "The end (--end):"
    yield from (does for does, _ in numbered(end(disk)))
    yield ""
    yield f"No step is undone. {durations.disk(disk.process)}"
