"""Decides how many instances each process of a stack has, and why.

The first reason that applies counts:

1. A retired row has none.
2. A process that runs on every node of its pools has one on each, as has a DaemonSet that accompanies such a process.
   The stack file must not set another number.
3. The stack file sets a number: `quorate:services.<name>.replicas`.
4. A companion that needs no second instance has one.
5. The layout has a number: the row's, in a small lab what its nodes can run, with a topology the topology's.
   A companion or an additional cluster has as many as the service that it accompanies.

proof/expected.py counts by the same rules without this module, so that an error here does not hide there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from blueprint.architecture.model import Row
from blueprint.openstack.projects.records import Records
from blueprint.stackfile import further_clusters
from blueprint.stackfile.further_clusters import ClusterKind
from blueprint.stackfile.settings import Override, Settings


class Reason(Enum):
    """What determines the number of instances of a process."""

    RETIRED = auto()
    EVERY_NODE = auto()
    STACK_FILE = auto()
    ONE_IS_ENOUGH = auto()
    LAYOUT = auto()


@dataclass(frozen=True)
class Replicas:
    """The number of instances of a process, and what determines it."""

    count: int
    reason: Reason


def of_row(row: Row, settings: Settings, *, nodes: int, laid: int | None) -> Replicas:
    """Returns the replicas of a row's service.

    `nodes`: how many nodes its pools have. `laid`: the layout's number.
    """
    if row.replaced_by:
        return Replicas(0, Reason.RETIRED)
    if row.everywhere:
        return Replicas(nodes, Reason.EVERY_NODE)
    return of_service(row.service, settings, laid=laid or 0)


def of_service(name: str, settings: Settings, *, laid: int) -> Replicas:
    """Returns the replicas of the service `name`: the stack file's number, otherwise `laid`, the layout's."""
    written = settings.services.get(name, Override()).replicas
    return Replicas(written, Reason.STACK_FILE) if written else Replicas(laid, Reason.LAYOUT)


def is_agent(process: str, records: Records) -> bool:
    """Whether a process is a companion that runs once on every node of the stack."""
    known = records.processes.get(process)
    return bool(known and known.companion and known.companion.every_node)


def of_companion(name: str, process: str, settings: Settings, *, nodes: int, laid: int) -> Replicas:
    """Returns the replicas of a companion.

    `process`: what it runs; for a companion of an additional cluster not its name. `nodes`: how many nodes the stack
    has. `laid`: the replicas of the service that it accompanies, or of the topology that places it.
    """
    if is_agent(process, settings.records):
        return Replicas(nodes, Reason.EVERY_NODE)
    if settings.records.processes[process].kind == "DaemonSet":
        return Replicas(laid, Reason.EVERY_NODE)
    replicas = of_service(name, settings, laid=laid)
    companion = settings.records.processes[process].companion
    if companion and companion.single and replicas.reason is Reason.LAYOUT:
        return Replicas(1, Reason.ONE_IS_ENOUGH)
    return replicas


def dedicated_nodes(row: Row, settings: Settings) -> int:
    """Returns how many dedicated nodes an owner's service needs: the row's number, or its replicas if these are more.

    If the row of RabbitMQ or Galera is not shareable, members of additional clusters need further dedicated nodes.
    """
    own = of_row(row, settings, nodes=0, laid=row.instances).count
    kind = further_clusters.KINDS.get(row.service)
    further = _of_clusters(kind, settings, laid=own) if kind and not row.shareable else 0
    return max(row.dedicated_nodes, own) + further


def _of_clusters(kind: ClusterKind, settings: Settings, *, laid: int) -> int:
    return sum(of_service(name, settings, laid=laid).count for name in further_clusters.named(settings, kind))


def written(settings: Settings) -> Iterator[tuple[str, str, int]]:
    """Yields each number that the stack file sets: the service's name, the process that it runs, and the number."""
    for name, override in settings.services.items():
        if override.replicas is not None:
            yield name, further_clusters.process(settings, name), override.replicas


def refusal(process: str, rows: Mapping[str, Row], records: Records) -> str | None:
    """Returns why the stack file must not set a number for a process; None if it may. `rows`: by service."""
    if is_agent(process, records):
        return "it runs once on every node; remove replicas"
    daemon = process in records.processes and records.processes[process].kind == "DaemonSet"
    if daemon or (process in rows and rows[process].everywhere):
        return "it runs once on every node of its pools; remove replicas and add nodes instead"
    return None
