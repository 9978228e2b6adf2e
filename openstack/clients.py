"""The projects whose pods are clients of a process (`Client` in blueprint/openstack/projects/process_definition.py)."""

from __future__ import annotations

from blueprint.openstack.projects.process_definition import ProcessDefinition
from openstack.config.wiring import Wiring, beside_galera

MONITORING = "prometheus"
"""The project whose pods may connect to ports for metrics."""


def needed_by(process: ProcessDefinition, wiring: Wiring) -> tuple[str, ...]:
    """Returns the projects whose pods connect to a process.

    These are the projects that need its project. For one of several clusters of RabbitMQ or Galera, only those that use
    the cluster.
    """
    needing = wiring.records.by_needs.items()
    projects = tuple(name for name, record in needing if process.project in record.needs)
    if process.name in wiring.brokers:
        used = ((wiring.broker(each, "rpc"), wiring.broker(each, "notifications")) for each in projects)
        return tuple(each for each, names in zip(projects, used, strict=True) if process.name in names)
    if any(process.name == beside_galera("proxysql", galera) for galera in wiring.galeras):
        return tuple(each for each in projects if process.name == beside_galera("proxysql", wiring.galera(each)))
    return projects
