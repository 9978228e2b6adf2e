# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
"""Evacuates the tenant's instances of a compute that has failed, as an operator does.

Runs with the account in the environment. Arguments: the compute, and then those of trial.py. Waits until Nova reports
the compute as down, and then until each of its instances is ACTIVE on another one. Prints a line for each step with its
seconds.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import openstack

# At the end, because openstacksdk's package has the name of one of Quorate's.
sys.path.append(str(Path(__file__).parents[3]))

from trials.cloud.instances.steps import step, until
from trials.cloud.instances.tenant import LIMIT, TRIAL


def is_down(cloud: Any, host: str) -> bool:
    """Returns whether Nova has missed the heartbeats of a compute: it evacuates from no other."""
    return any(each.state == "down" for each in cloud.compute.services(binary="nova-compute", host=host))


def evacuated(cloud: Any, server: Any, host: str) -> bool:
    """Returns whether an instance is ACTIVE on another compute. Raises RuntimeError if its evacuation has failed."""
    found = cloud.compute.get_server(server)
    if found.status == "ERROR":
        raise RuntimeError(f"{server.name}: {found.fault}")
    return found.status == "ACTIVE" and not found.task_state and found.compute_host != host


def main() -> None:
    """Evacuates all instances of the compute that the first argument names."""
    host = sys.argv[1]
    cloud = openstack.connect()
    step(f"Nova reports {host} as down", until, "down", lambda: is_down(cloud, host), LIMIT)
    servers = [each for each in cloud.compute.servers(name=f"^{TRIAL}") if each.compute_host == host]
    if not servers:
        raise RuntimeError(f"{host} has no instance to evacuate")
    for server in servers:
        cloud.compute.evacuate_server(server)
    for server in servers:
        step(f"{server.name} is ACTIVE elsewhere", until, "ACTIVE", partial(evacuated, cloud, server, host), LIMIT)


if __name__ == "__main__":
    main()
