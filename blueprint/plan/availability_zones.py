"""Assigns the computes of a plan to availability zones, by their racks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blueprint.plan.layout import ServicePlan
from blueprint.plan.nodes import Node
from blueprint.problems import Problem
from blueprint.stackfile import cloud_content
from blueprint.stackfile.cloud_content import ZONES_KEY, Bootstrap
from blueprint.stackfile.inventory import NAMED
from text.quoting import first_of

_PROCESS = "nova-compute"


def hosts(
    bootstrap: Bootstrap | None, running: Sequence[ServicePlan], nodes: Sequence[Node]
) -> Mapping[str, tuple[str, ...]]:
    """Returns the names of the computes in each availability zone; {} if the stack file sets none.

    `running`: the services of the stack.
    """
    zone_of = cloud_content.zone_of_racks(bootstrap)
    computes = _computes(running, nodes)
    return {
        zone: tuple(node.name for node in computes if node.rack and zone_of.get(node.rack) == zone)
        for zone in dict.fromkeys(zone_of.values())
    }


def problems(bootstrap: Bootstrap | None, running: Sequence[ServicePlan], nodes: Sequence[Node]) -> Iterator[Problem]:
    """Yields computes without a rack or in a rack of no zone, and zones without a compute."""
    zone_of = cloud_content.zone_of_racks(bootstrap)
    if not zone_of:
        return
    computes = _computes(running, nodes)
    if without := [node.name for node in computes if not node.rack]:
        advice = "write rack: … in their entries, for a pattern of names one such as r[1-3]"
        yield Problem(ZONES_KEY, f"computes without a rack: {first_of(without, NAMED)}; {advice}")
    if outside := [f"{node.name} ({node.rack})" for node in computes if node.rack and node.rack not in zone_of]:
        yield Problem(ZONES_KEY, f"no zone has the racks of {first_of(outside, NAMED)}; write each rack in a zone")
    for zone, names in hosts(bootstrap, running, nodes).items():
        if not names and not without:
            yield Problem(f"{ZONES_KEY}.{zone}", "no compute is in its racks; write racks of computes, or remove it")


def _computes(running: Sequence[ServicePlan], nodes: Sequence[Node]) -> list[Node]:
    pools = {pool for each in running if each.process == _PROCESS for pool in each.pools}
    return [node for node in nodes if node.pool in pools]
