"""The services whose replicas do not vote: how many are ready, and why the others are not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from cluster import unready
from cluster.objects import Object, has_ended, text
from operations.living.cloud import LivingCloud, is_ready, workload_of


@dataclass(frozen=True)
class UnreadyReplicas:
    """Replicas of a service that are not ready for one reason."""

    reason: str
    """Why they are not, as Kubernetes says it."""
    nodes: tuple[str, ...]
    """Their nodes; () for replicas without one."""
    since: datetime | None
    """Since when the first of them is not; None if none says it."""


@dataclass(frozen=True)
class LivingService:
    """A service whose replicas do not vote."""

    name: str
    ready: int
    replicas: int
    """How many the plan has."""
    unready: tuple[UnreadyReplicas, ...] = ()
    """The most frequent reason first; those that are being deleted last, because that is mostly an ordinary change."""


def services(cloud: LivingCloud) -> Iterator[LivingService]:
    """Yields the services of a cloud whose replicas do not vote, by the readiness of their pods."""
    pods: dict[str, list[Object]] = defaultdict(list)
    for pod in cloud.pods:
        pods[workload_of(pod)].append(pod)
    quorums = {quorum.name for quorum in cloud.quorums}
    for name, service in cloud.plan.workloads:
        if name not in quorums and service.instances:
            lacking = [pod for pod in pods[name] if not is_ready(pod) and not has_ended(pod)]
            yield LivingService(name, sum(map(is_ready, pods[name])), service.instances, tuple(_by_reason(lacking)))


def _by_reason(pods: Sequence[Object]) -> list[UnreadyReplicas]:
    found: dict[str, list[Object]] = defaultdict(list)
    for pod in pods:
        found[unready.why(pod)].append(pod)
    order = sorted(found, key=lambda reason: (reason == unready.DELETED, -len(found[reason]), reason))
    return [UnreadyReplicas(reason, _nodes(found[reason]), _since(found[reason])) for reason in order]


def _nodes(pods: Sequence[Object]) -> tuple[str, ...]:
    return tuple(sorted({text(pod, "spec", "nodeName") for pod in pods} - {""}))


def _since(pods: Sequence[Object]) -> datetime | None:
    return min(filter(None, map(unready.since, pods)), default=None)
