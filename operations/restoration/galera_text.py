"""What a Galera has now, from what it is restored, and the steps, as text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from openstack.config.wiring import ENVIRONMENT, wiring
from operations.living import backups
from operations.living.beside_quorums import age
from operations.living.quorum import LivingQuorum
from operations.restoration.galera_restoration import GaleraRestoration


def found(quorum: LivingQuorum) -> str:
    """Returns the state of the members."""
    lines = [f"{quorum.name}: {quorum.counting} of {len(quorum.voters)} members take part"]
    return "\n".join([*lines, *(f"    {each.name}: {each.says}" for each in quorum.members)])


def plan(restoration: GaleraRestoration, now: datetime) -> str:
    """Returns from what it is restored, what is lost with that, and the numbered steps.

    Raises ApiError or Unreachable.
    """
    return "\n".join(_plan(restoration, now))


def _plan(restoration: GaleraRestoration, now: datetime) -> Iterator[str]:
    galera = restoration.galera
    yield ""
    if restoration.has_started():
        yield "This restoration has started the members again: it goes on waiting for them."
    yield f"From {_source(restoration, now)}."
    yield f"Lost: all that was written to {galera} after that. What was made since then, such as virtual machines, is"
    yield f"on its nodes and not in the database. Services that need {galera} fail until its members serve again."
    yield ""
    yield from (f"{number:>3}. {does}" for number, does in enumerate(restoration.steps(), start=1))


def _source(restoration: GaleraRestoration, now: datetime) -> str:
    source = restoration.source
    if source.made:
        where = f"the copy {source.written} in the object store" if source.is_copy else f"the backup {source.time}"
        return f"{where}, begun {source.made:%Y-%m-%d %H:%M} UTC, {age(now - source.made)} ago"
    cluster = restoration.cluster
    known = backups.of_galera(cluster.api, wiring(cluster.plan, ENVIRONMENT)).found
    newest = next((each.newest for each in known if each.of == source.galera), None)
    said = f"complete at {newest:%Y-%m-%d %H:%M} UTC, {age(now - newest)} ago" if newest else "whose age is not known"
    return f"the newest backup in the volume of backups, {said}"
