"""What the members of a Galera have when none of them, or only some, answer: their positions, and when they served."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from cluster.api import ApiError, Unreachable
from cluster.objects import Object, mapping, name, number, text, words
from cluster.pod_exec import CommandOutput, PodContainer, run_in_pod
from openstack import scripts
from openstack.config.wiring import ENVIRONMENT
from openstack.scripts.galera.decision import NO_UUID
from operations.live_cluster import LiveCluster
from operations.living.asking import not_running
from operations.living.cloud import members_of, quorums_of
from operations.living.readers import READERS
from operations.living_quorum import pods
from operations.replacement.dead_machine import volumes_of

Say = Callable[[str], None]
CONTAINER = READERS["mysqld"].container
_LOOK = 30.0
"""Seconds in which a member must tell what it has. Project figure: its database answers within 10, or not."""


@dataclass(frozen=True)
class GaleraMember:
    """A member of a Galera, with what it tells of its data."""

    name: str
    node: str
    """The machine with its data; "" if that is not known."""
    problem: str = ""
    """Why it was not asked; "" if it was."""
    does: str = ""
    """What it does, in its own words, such as what it waits for."""
    runs: bool = False
    """Whether its mariadbd runs."""
    primary: bool = False
    """Whether it is in a primary component: the cluster has its majority."""
    uuid: str = NO_UUID
    seqno: int = -1
    """Sequence number of the last transaction in its data."""
    view: tuple[str, ...] = ()
    """Members of its last primary component, with itself."""
    served: datetime | None = None
    """When it was last in a primary component; None if that was not recorded."""

    @property
    def has_data(self) -> bool:
        """Whether its data is complete, so that a cluster can go on from it."""
        return not self.problem and self.uuid != NO_UUID and self.seqno >= 0

    @property
    def place(self) -> str:
        """The member and its machine, as text."""
        return f"{self.name} on {self.node}" if self.node else self.name


def look(cluster: LiveCluster, galera: str, dead: Sequence[str] = ()) -> tuple[GaleraMember, ...]:
    """Asks all members at the same time. `dead`: machines whose volumes tell which members were there.

    Raises ApiError or Unreachable.
    """
    found = {name(pod): pod for pod in pods(cluster, galera)}
    there = {volume.pod: node for node in dead for volume in volumes_of(cluster.api, node)}
    service = next(each for each in quorums_of(cluster.plan) if each.name == galera)
    names = members_of(service)
    with ThreadPoolExecutor(len(names)) as pool:
        return tuple(pool.map(partial(_look, cluster, found, there), names))


def _look(cluster: LiveCluster, found: Mapping[str, Object], there: Mapping[str, str], member: str) -> GaleraMember:
    pod = found.get(member)
    node = text(pod or {}, "spec", "nodeName") or there.get(member, "")
    if problem := not_running(pod, CONTAINER):
        return GaleraMember(member, node, problem)
    try:
        done = run(cluster, member, "look", _LOOK)
    except (ApiError, Unreachable) as error:
        return GaleraMember(member, node, f"its pod was not asked: {error}")
    if done.code != 0:
        return GaleraMember(member, node, done.errors.strip()[-200:] or f"it did not answer ({done.ending})")
    return read(member, node, done.text)


def run(cluster: LiveCluster, member: str, command: str, seconds: float) -> CommandOutput:
    """Runs openstack/scripts/galera_survivor.py in a member's container. Raises ApiError or Unreachable."""
    words_ = ["python3", "-c", scripts.text("galera_survivor.py"), command]
    return run_in_pod(cluster.api.access, PodContainer(ENVIRONMENT, member, CONTAINER), words_, seconds)


def read(member: str, node: str, said: str) -> GaleraMember:
    """Returns what a member has, by the JSON object that it has written."""
    try:
        known = mapping({"said": json.loads(said)}, "said")
    except ValueError:
        known = {}
    if "phase" not in known:
        return GaleraMember(member, node, f"what it says is no position: {said[:60]!r}")
    served = known.get("served")
    return GaleraMember(
        member,
        node,
        does=text(known, "does"),
        runs=known["phase"] == "running",
        primary=known.get("primary") is True,
        uuid=text(known, "uuid") or NO_UUID,
        seqno=number(known, "seqno", default=-1),
        view=words(known, "view"),
        served=datetime.fromtimestamp(served, UTC) if isinstance(served, int | float) else None,
    )
