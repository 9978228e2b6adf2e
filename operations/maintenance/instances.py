"""Instances on computes that a maintenance takes out, as Nova has them, and the requests to move one of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from cluster.objects import Object, listed, mapping, text, words
from openstack.scripts.compute_services import WISH
from operations.live_cluster import LiveCluster
from operations.maintenance.pod_commands import ask_nova

MOVING = ("migrating", "resize_prep", "resize_migrating", "resize_migrated", "resize_finish")
"""Nova's tasks of an instance that is on its way to another compute."""
MOVED = "VERIFY_RESIZE"
"""Nova's status of an instance that was moved cold and waits for the confirmation."""
Way = Literal["under way", "live", "cold", "stays", "stops"]


@dataclass(frozen=True)
class Instance:
    """An instance of a tenant on a compute."""

    host: str
    id: str
    name: str
    project: str
    status: str
    runs: bool
    """Whether it runs: only one that is shut down may lose its compute."""
    task: str = ""
    """What Nova does with it now."""
    wish: str | None = None
    """What its tenant has set about live migration; None without anything."""
    fault: str = ""
    """Why it is in ERROR."""

    @property
    def called(self) -> str:
        """Its name and id."""
        return f"{self.name} ({self.id})"


@dataclass(frozen=True)
class Outlook:
    """What a maintenance does with an instance."""

    way: Way
    says: str
    """What happens to it; for one that stops the run, the reason."""


@dataclass(frozen=True)
class Choices:
    """How a maintenance may move instances."""

    live: bool
    """Whether live migrations have a transport: each compute has a certificate."""
    cold: bool
    """Whether those that do not move live are moved cold."""


def outlook(instance: Instance, choices: Choices) -> Outlook:
    """Returns what a maintenance does with an instance."""
    if instance.task:
        return _with_task(instance.task)
    if instance.status == "ERROR":
        fault = f": {instance.fault}" if instance.fault else ""
        return Outlook("stops" if instance.runs else "stays", f"is in ERROR{fault}")
    if instance.runs:
        return _running(instance, choices)
    if instance.status == "SHUTOFF" and choices.cold:
        return Outlook("cold", "is moved while it is stopped")
    return Outlook("stays", "stays, and cannot be started until the end")


def _with_task(task: str) -> Outlook:
    if task in MOVING:
        return Outlook("under way", f"is on its way already ({task}) and awaited")
    return Outlook("stops", f"Nova changes it now ({task})")


def _running(instance: Instance, choices: Choices) -> Outlook:
    if instance.status not in ("ACTIVE", "PAUSED"):
        return Outlook("stops", f"Nova moves none with status {instance.status}")
    why = _not_live(instance, choices)
    if not why:
        return Outlook("live", "is moved while it runs")
    if choices.cold and instance.status == "ACTIVE":
        return Outlook("cold", "is shut down, moved, and started again")
    return Outlook("stops", f"{why}; Nova moves no paused one cold" if choices.cold else why)


def _not_live(instance: Instance, choices: Choices) -> str:
    """Returns why an instance that runs is not moved live; "" if it is."""
    if instance.wish not in (None, "allowed"):
        return f"its tenant forbids live migration ({WISH}={instance.wish}); --cold restarts it elsewhere"
    if not choices.live:
        return "the computes have no certificates for live migration (quorate:machines: existing)"
    return ""


def instances(cluster: LiveCluster, hosts: Sequence[str]) -> tuple[Instance, ...]:
    """Returns the instances on computes, those of all tenants."""
    return _read(listed(ask_nova(cluster, "show", *hosts), "instances"))


def looked_at(cluster: LiveCluster, ids: Iterable[str]) -> tuple[Instance, ...]:
    """Returns the instances of these ids, wherever they are; not those that were deleted."""
    return _read(listed(ask_nova(cluster, "look", *ids), "instances"))


def asked_to(cluster: LiveCluster, what: Literal["live", "cold", "confirm"], id_: str) -> str:
    """Asks Nova to move an instance, or to confirm that it was moved. Returns why Nova refuses; "" if it does not."""
    return text(ask_nova(cluster, what, id_), "refused")


def failure(cluster: LiveCluster, id_: str) -> str:
    """Returns why the last migration of an instance has failed: Nova's reasons, and its record of the migration."""
    found = ask_nova(cluster, "failure", id_)
    record = mapping(found, "migration")
    said = "; ".join(words(found, "reasons")) or "Nova gives no reason; the logs of nova-compute may"
    if not record:
        return f"{said} (no record of a migration)"
    route = f"from {text(record, 'source_compute')} to {text(record, 'dest_compute') or 'no compute'}"
    return f"{said} (migration {record.get('id')} {route}: {text(record, 'status')})"


def _read(found: Iterable[Object]) -> tuple[Instance, ...]:
    return tuple(
        Instance(
            host=text(each, "host"),
            id=text(each, "id"),
            name=text(each, "name"),
            project=text(each, "project"),
            status=text(each, "status"),
            runs=bool(each.get("runs")),
            task=text(each, "task"),
            wish=None if each.get("wish") is None else str(each.get("wish")),
            fault=text(each, "fault"),
        )
        for each in found
    )
