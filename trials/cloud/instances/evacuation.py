# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
"""Evacuates the tenant's instances of a compute that has failed, as an operator does.

Runs with the account in the environment. Arguments: the compute, and then those of trial.py. Waits until Nova reports
the compute as down, and then until each of its instances is on another one, where Nova leaves it stopped (Compute API,
microversion 2.95), and starts it. Prints a line for each step with its seconds.
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
    """Returns whether an instance is on another compute. Raises RuntimeError if its evacuation has failed."""
    found = cloud.compute.get_server(server)
    if found.status == "ERROR":
        raise RuntimeError(f"{server.name}: {found.fault}")
    return found.compute_host != host and found.status == "SHUTOFF" and not found.task_state


def start(cloud: Any, server: Any) -> None:
    cloud.compute.start_server(server)
    cloud.compute.wait_for_server(server, status="ACTIVE", failures=["ERROR"], wait=LIMIT)


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
        step(f"{server.name} is on another one", until, "evacuated", partial(evacuated, cloud, server, host), LIMIT)
        step(f"{server.name} is started there", start, cloud, server)


if __name__ == "__main__":
    main()
