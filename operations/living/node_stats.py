"""Disks that fill and clocks that differ, as the kubelet of each node tells them. No agent is needed for this.

Kubelet's summary of statistics names the use of its disks and of the claims of its pods, and the date of its answer is
the time of its node. The API server asks the kubelets, so that the time is compared with this host's, and then with
those of most nodes: this host's clock may be the one that is wrong.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import partial

from cluster.api import Api, Reply, Unreachable
from cluster.objects import Object, holds, listed, mapping, name, number, text
from doctor.checks import CLOCK
from openstack.monitoring import limits
from operations.living.answers import PATIENCE

AT_ONCE = 32
"""Nodes that are asked at the same time. Project figure."""
_TIMEOUT = 5
"""Seconds in which a kubelet must answer. Project figure: one that works answers within 1 s, and a node that is lost
would take this time until it is not Ready any more."""


@dataclass(frozen=True)
class FullDisk:
    """A disk of a node that fills."""

    node: str
    disk: str
    """What is on it: kubelet's own files, images, or a claim by its name."""
    used: int
    """Percentage that is not available."""


@dataclass(frozen=True)
class Clock:
    """The time of a node less that of this host, in seconds: it is between two values."""

    earliest: float
    latest: float

    @property
    def middle(self) -> float:
        """The likely difference in seconds; positive for a clock that is ahead of this host's."""
        return (self.earliest + self.latest) / 2


@dataclass(frozen=True)
class LivingNodes:
    """The disks and clocks of the nodes."""

    asked: int = 0
    """Number of nodes whose kubelet answered."""
    full: tuple[FullDisk, ...] = ()
    """Disks from `limits.FULL` percent on, the fullest first."""
    evicting: tuple[str, ...] = ()
    """Nodes whose kubelet has too little space, and evicts pods (DiskPressure)."""
    clocks: Mapping[str, Clock] = field(default_factory=dict[str, Clock])
    """By node."""
    unasked: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why nodes were not asked, by node."""

    @property
    def common(self) -> float:
        """The time of most nodes less that of this host, in seconds."""
        found = [clock.middle for clock in self.clocks.values()]
        return statistics.median_low(found) if found else 0

    def wrong(self) -> dict[str, float]:
        """Returns the nodes whose clock surely differs by more than `CLOCK` from those of most nodes.

        The differences are in seconds, positive for a clock that is ahead.
        """
        common = self.common
        return {
            node: clock.middle - common
            for node, clock in self.clocks.items()
            if clock.latest < common - CLOCK or clock.earliest > common + CLOCK
        }


@dataclass(frozen=True)
class _Said:
    """What the kubelet of a node answered."""

    full: tuple[FullDisk, ...] = ()
    clock: Clock | None = None
    problem: str = ""


def read(api: Api, nodes: Sequence[Object]) -> LivingNodes:
    """Asks the kubelets of all nodes that are Ready. Takes `PATIENCE` seconds, and one answer, at most."""
    quick, deadline = Api(api.access, _TIMEOUT), time.monotonic() + PATIENCE
    ready = [name(node) for node in nodes if holds(node, "Ready")]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        said = dict(zip(ready, pool.map(partial(_ask, quick, deadline), ready), strict=True))
    full = [disk for each in said.values() for disk in each.full]
    return LivingNodes(
        sum(not each.problem for each in said.values()),
        tuple(sorted(full, key=lambda disk: (-disk.used, disk.node, disk.disk))),
        tuple(sorted(name(node) for node in nodes if holds(node, "DiskPressure"))),
        {node: each.clock for node, each in said.items() if each.clock},
        {node: each.problem for node, each in said.items() if each.problem},
    )


def _ask(api: Api, deadline: float, node: str) -> _Said:
    if time.monotonic() > deadline:
        return _Said(problem=f"not reached within {PATIENCE} s")
    before = time.time()
    try:
        reply = api.call("GET", f"/api/v1/nodes/{node}/proxy/stats/summary")
    except Unreachable as error:
        return _Said(problem=str(error))
    if reply.status >= 300 or not mapping(reply.body, "node"):
        return _Said(problem=text(reply.body, "message")[:200] or f"its kubelet answered with {reply.status}")
    return _Said(tuple(_full(node, reply.body)), _clock(reply, before, time.time()))


def _clock(reply: Reply, before: float, after: float) -> Clock | None:
    """Returns the clock of a node that answered between two times of this host. Dates have no fractions of seconds."""
    if reply.date is None:
        return None
    try:
        date = parsedate_to_datetime(reply.date).timestamp()
    except ValueError:
        return None
    return Clock(date - after, date + 1 - before)


def _full(node: str, summary: Object) -> Iterator[FullDisk]:
    """Yields the disks that fill. Claims may be on one disk, which has one size: the fullest of a size is named."""
    found: dict[int, FullDisk] = {}
    for disk, file_system in _file_systems(summary):
        size = number(file_system, "capacityBytes")
        if size and "availableBytes" in file_system:
            used = round(100 - 100 * number(file_system, "availableBytes") / size)
            if used >= limits.FULL and (size not in found or used > found[size].used):
                found[size] = FullDisk(node, disk, used)
    yield from found.values()


def _file_systems(summary: Object) -> Iterator[tuple[str, Object]]:
    yield "kubelet's disk", mapping(summary, "node", "fs")
    yield "the disk of images", mapping(summary, "node", "runtime", "imageFs")
    yield "the disk of containers", mapping(summary, "node", "runtime", "containerFs")
    for pod in listed(summary, "pods"):
        for volume in listed(pod, "volume"):
            if claim := text(volume, "pvcRef", "name"):
                yield f"claim {text(volume, 'pvcRef', 'namespace')}/{claim}", volume
