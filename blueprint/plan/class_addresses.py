"""Checks that every node has an address in each network beside management that a service on it uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blueprint.plan.layout import ServicePlan
from blueprint.plan.nodes import Node
from blueprint.problems import Problem
from blueprint.stackfile.addresses import KEY
from blueprint.stackfile.class_networks import ClassName
from blueprint.stackfile.inventory import NAMED
from blueprint.stackfile.settings import Settings
from text.quoting import first_of

_PROCESSES: Mapping[ClassName, str] = {
    "overlay": "neutron-l2-agent",
    "storage": "ceph-osd",
    "migration": "nova-compute",
}
"""The process that has its address in a network, by class."""
_WITH_OVN: Mapping[ClassName, str] = {"overlay": "ovn-controller"}
"""The process that has its address in a network in a stack with OVN, if it is another one."""
_OF_CLIENTS: Mapping[ClassName, str] = {"storage": "ceph.conf"}
"""The file that those processes read that connect to it, by class. They use the address of their node too."""


def problems(settings: Settings, running: Sequence[ServicePlan], nodes: Sequence[Node]) -> Iterator[Problem]:
    """Yields the nodes without an address that they need, and networks that nothing uses.

    `running`: the services of the stack.
    """
    for name in settings.networks.classes:
        main = _main(name, settings)
        if all(each.process != main for each in running):
            yield Problem(f"{KEY}.{name}", f"the stack has no {main}, which alone uses it; remove it")
            continue
        using = {pool: each.name for each in reversed(running) if _uses(name, each, settings) for pool in each.pools}
        missing = [node for node in nodes if node.pool in using and name not in node.machine.addresses]
        if missing:
            names = first_of([node.name for node in missing], NAMED)
            yield Problem(
                "quorate:servers",
                f"no address in the {name} network, which {using[missing[0].pool]} uses: {names}; write addresses: "
                f"{{{name}: …}} in their entries, for a pattern the address of number 1",
            )


def _main(name: ClassName, settings: Settings) -> str:
    return _WITH_OVN.get(name, _PROCESSES[name]) if settings.has_ovn else _PROCESSES[name]


def _uses(name: ClassName, service: ServicePlan, settings: Settings) -> bool:
    if service.process == _main(name, settings):
        return True
    containers = settings.records.processes[service.process].containers
    return any(file.name == _OF_CLIENTS.get(name) for container in containers for file in container.files)
