"""Checks that every node has an address in each network beside management that a service on it uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blueprint.plan.layout import ServicePlan
from blueprint.plan.nodes import Node
from blueprint.problems import Problem
from blueprint.stackfile.addresses import KEY
from blueprint.stackfile.class_networks import ClassName
from blueprint.stackfile.inventory import NAMED
from blueprint.stackfile.settings import Settings
from text.quoting import first_of

_PROCESSES: dict[ClassName, str] = {"overlay": "neutron-l2-agent"}
"""The process that uses a network, by class."""


def problems(settings: Settings, running: Sequence[ServicePlan], nodes: Sequence[Node]) -> Iterator[Problem]:
    """Yields the nodes without an address that they need, and networks that nothing uses.

    `running`: the services of the stack.
    """
    for name in settings.networks.classes:
        using = [each for each in running if each.process == _PROCESSES[name]]
        if not using:
            yield Problem(f"{KEY}.{name}", f"the stack has no {_PROCESSES[name]}, which alone uses it; remove it")
        pools = {pool for service in using for pool in service.pools}
        missing = [node.name for node in nodes if node.pool in pools and name not in node.machine.addresses]
        if missing:
            yield Problem(
                "quorate:servers",
                f"no address in the {name} network, which {using[0].name} uses: {first_of(missing, NAMED)}; write "
                f"addresses: {{{name}: …}} in their entries, for a pattern the address of number 1",
            )
