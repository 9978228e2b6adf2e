"""Files with the address of a node in a network beside management, for scripts of processes without options for it.

Like the values of single nodes, they are in a ConfigMap of all nodes that the pod template does not depend on. Only the
workload of a stack with such a network mounts it. Imports no Pulumi.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from blueprint.openstack.projects.process_definition import ProcessDefinition
from blueprint.stackfile.class_networks import ClassName
from openstack import node_values
from openstack.config.wiring import Wiring

_PROCESSES: Mapping[str, ClassName] = {"ceph-osd": "storage", "ovn-controller": "overlay"}
"""Class of the network in which a process has its address. Its script takes the address from POD_IP. That of a
container with Kolla's start script, whose command is not a shell's, reads the file itself."""


def with_address(process: ProcessDefinition, wiring: Wiring) -> ProcessDefinition:
    """Returns a process whose script uses the address in its network if the stack has this one, otherwise unchanged."""
    name = _PROCESSES.get(process.name)
    if name not in wiring.networks:
        return process
    first = f'POD_IP=$(cat "{node_values.DIRECTORY}/$NODE_NAME.{name}")\n'
    containers = (
        each if each.kolla else replace(each, command=f"{first}{each.command}", node_values=True)
        for each in process.containers
    )
    return replace(process, containers=tuple(containers))


def texts(process: str, wiring: Wiring, nodes: Iterable[str]) -> dict[str, str]:
    """Returns the files, by name, of the nodes of a process; {} for a process whose script needs none."""
    name = _PROCESSES.get(process)
    if name is None:
        return {}
    addresses = ((node, wiring.addresses.get(node, {}).get(name)) for node in nodes)
    return {f"{node}.{name}": f"{address}\n" for node, address in addresses if address}
