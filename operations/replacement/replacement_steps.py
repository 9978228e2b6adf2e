"""The steps of a replacement as data, in the order in which they are done: first the removal, then the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from operations.live_cluster import LiveCluster
from operations.living.cloud import ETCD, quorums_of
from operations.operation_lease import NAME
from operations.replacement.dead_machine import DeadMachine

Kind = Literal[
    "take", "ask", "empty", "etcd", "broker", "monitor", "out", "node", "records", "state", "claims", "file", "hold",
    "await", "purge", "release",
]  # fmt: skip
_FORGET: dict[str, Kind] = {"rabbitmq": "broker", "ceph-mon": "monitor"}
"""Step that removes a member, by the process of its quorum. Galera and OpenSearch forget a member by themselves."""


class Described(Protocol):
    """A step of any kind."""

    @property
    def does(self) -> str:
        """What it does, as text."""
        ...


S = TypeVar("S", bound=Described)


@dataclass(frozen=True)
class ReplacementStep:
    """A step, with what it touches."""

    kind: Kind
    does: str
    touches: str = ""
    quorum: str = ""
    """The quorum whose list of members it changes."""
    member: str = ""


def removal(
    cluster: LiveCluster, dead: DeadMachine, new: str, *, writes_file: bool = False
) -> tuple[ReplacementStep, ...]:
    """Returns the steps that remove a machine.

    `new`: the name of what comes instead; "" if the name stays. `writes_file`: whether the stack file changes.
    """
    found = [
        ReplacementStep("take", "take the Lease, so that no other operation begins until the end", f"the Lease {NAME}"),
        ReplacementStep("ask", f"require that {dead.name} does not answer, and that its quorums have a majority"),
    ]
    if dead.is_compute:
        found.append(ReplacementStep("empty", f"require that Nova has no instance on {dead.name}"))
    found += _members(cluster, dead)
    if dead.osds:
        does = f"mark OSDs {', '.join(dead.osds)} out: Ceph copies their data elsewhere"
        found.append(ReplacementStep("out", does, "these OSDs; clients may be slower while data is copied"))
    if dead.node.is_kubernetes_node:
        does = f"delete node {dead.name}, and the pods that the API server has on it"
        found.append(ReplacementStep("node", does, "this Node object and its pods"))
    # Under the name that it knows, a compute without its disk would not start; agents of Neutron register again.
    if dead.is_compute or (new and dead.has_agents):
        does = f"delete the records of {dead.name} in Nova and Neutron: its compute, and its agents"
        found.append(ReplacementStep("records", does, "these records, and the compute's resources in Placement"))
    if changes_state(cluster, new):
        does = f"take the resources that set {dead.name} up out of Pulumi's state, so that no `leave` is run there"
        found.append(ReplacementStep("state", does, "Pulumi's state; its history keeps the former one"))
    if new and dead.volumes:
        used = [volume.claim for volume in dead.volumes if volume.claim]
        does = f"delete the volumes of {dead.name} and their claims, so that the members find a place elsewhere"
        touches = f"{len(dead.volumes)} volumes; claims: {', '.join(used) or 'none'}"
        found.append(ReplacementStep("claims", does, touches))
    if writes_file:
        does = f"write {new or 'its new values'} in place of {dead.name} into the stack file"
        found.append(ReplacementStep("file", does, "the stack file"))
    return (*found, ReplacementStep("hold", f"hold: {_by_hand(dead, new)}"))


def changes_state(cluster: LiveCluster, new: str) -> bool:
    """Whether Pulumi's state has something of the machine: its set-up, or claims that `up` makes."""
    return cluster.plan.settings.cluster is None or bool(new)


def end(dead: str, new: str, osds: tuple[str, ...]) -> tuple[ReplacementStep, ...]:
    """Returns the steps after `up`. `osds`: the numbers of the OSDs that are lost."""
    place = new or dead
    found = [ReplacementStep("await", f"wait until {place} is Ready, and every member of every quorum takes part")]
    if osds:
        does = f"wait until Ceph says that OSDs {', '.join(osds)} are safe to destroy, and purge them"
        found.append(ReplacementStep("purge", does, "these OSDs"))
    return (*found, ReplacementStep("release", "delete the Lease"))


def numbered(steps: Sequence[S]) -> Iterator[tuple[str, S]]:
    """Yields steps, each with its number and text."""
    for number, step in enumerate(steps, start=1):
        yield f"{number:>2}. {step.does}", step


def _members(cluster: LiveCluster, dead: DeadMachine) -> Iterator[ReplacementStep]:
    if dead.has_etcd:
        does = f"remove the member of {dead.name} from etcd, after a copy of its data"
        yield ReplacementStep("etcd", does, "etcd's list of members", ETCD, dead.name)
    process = {service.name: service.process for service in quorums_of(cluster.plan)}
    for quorum, member in dead.members:
        if kind := _FORGET.get(process[quorum]):
            does = f"remove {member} from the members of {quorum}"
            yield ReplacementStep(kind, does, f"the list of members of {quorum}", quorum, member)


def _by_hand(dead: DeadMachine, new: str) -> str:
    ready = f"make {new or dead.name} ready (`quorate doctor`), then run `up`"
    return ready if new else f"{ready}; it has the same name, an empty disk, and its host key in the stack file"
