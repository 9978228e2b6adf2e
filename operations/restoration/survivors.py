"""What the members of a quorum in pods have when its majority is lost: a program in each one's container tells it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from cluster.api import ApiError, Unreachable
from cluster.objects import Object, name, text
from cluster.pod_exec import CommandOutput, PodContainer, run_in_pod
from openstack.config.wiring import ENVIRONMENT
from operations.cloud_pods import pods
from operations.live_cluster import LiveCluster
from operations.living.asking import not_running
from operations.living.cloud import members_of, quorums_of
from operations.replacement.dead_machine import volumes_of

_LOOK = 60.0
"""Seconds in which a member must tell what it has. Project figure: without a majority, some of its answers time out."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Survivor:
    """A member of a quorum, with what it tells of its data."""

    name: str
    node: str
    """The machine with its data; "" if that is not known."""
    problem: str = ""
    """Why it was not asked; "" if it was."""
    does: str = ""
    """What it does, in its own words, such as what it waits for."""
    serves: bool = False
    """Whether it takes part in a majority."""
    data: str = ""
    """Its data as text; "" if it has none that is complete, so that nothing can go on from it."""
    cluster: str = ""
    """To which cluster the data belongs; "" if the program has no name for that."""
    position: int = 0
    """How new the data is, beside that of others in the same cluster."""
    together: tuple[str, ...] = ()
    """The members that it knows of, with itself."""
    served: datetime | None = None
    """Until when it is known to have taken part; None if that was not recorded."""

    @property
    def place(self) -> str:
        """The member and its machine, as text."""
        return f"{self.name} on {self.node}" if self.node else self.name


@dataclass(frozen=True)
class SurvivorProgram:
    """How the members of a process are asked, and let go on."""

    container: str
    command: tuple[str, ...]
    """The program in the member's container, before `look` or `go-on`."""
    read: Callable[[str], Survivor]
    """Returns what `look` has written, as a member without name and node. Raises ValueError for something else."""
    limit: float
    """Seconds that `go-on` may take."""
    restarts: bool
    """Whether the member goes on at its next start only; then others that answer take its data over when they start."""
    alone: bool
    """Whether only a member beside which no other answers can go on."""
    goes_on: str
    """What `go-on` does, after the member's name."""
    lost: str
    """What is lost, beside what the member has not received."""


def look(cluster: LiveCluster, program: SurvivorProgram, quorum: str, dead: Sequence[str] = ()) -> tuple[Survivor, ...]:
    """Asks all members at the same time. `dead`: machines whose volumes tell which members were there.

    Raises ApiError or Unreachable.
    """
    found = {name(pod): pod for pod in pods(cluster, quorum)}
    there = {volume.pod: node for node in dead for volume in volumes_of(cluster.api, node)}
    names = members_of(next(each for each in quorums_of(cluster.plan) if each.name == quorum))
    with ThreadPoolExecutor(len(names)) as pool:
        return tuple(pool.map(partial(_look, cluster, program, found, there), names))


def _look(
    cluster: LiveCluster,
    program: SurvivorProgram,
    found: Mapping[str, Object],
    there: Mapping[str, str],
    member: str,
) -> Survivor:
    pod = found.get(member)
    node = text(pod or {}, "spec", "nodeName") or there.get(member, "")
    if problem := not_running(pod, program.container):
        return Survivor(member, node, problem)
    try:
        done = run(cluster, program, member, "look", _LOOK)
    except (ApiError, Unreachable) as error:
        return Survivor(member, node, f"its pod was not asked: {error}")
    if done.code != 0:
        return Survivor(member, node, done.errors.strip()[-200:] or f"it did not answer ({done.ending})")
    try:
        return replace(program.read(done.text), name=member, node=node)
    except (ValueError, KeyError, TypeError):
        return Survivor(member, node, f"what it says of its data cannot be read: {done.text[:60]!r}")


def run(cluster: LiveCluster, program: SurvivorProgram, member: str, command: str, seconds: float) -> CommandOutput:
    """Runs the program in a member's container. Raises ApiError or Unreachable."""
    place = PodContainer(ENVIRONMENT, member, program.container)
    return run_in_pod(cluster.api.access, place, [*program.command, command], seconds)
