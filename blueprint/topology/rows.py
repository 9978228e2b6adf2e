"""Groups the services of a placed topology by what Quorate runs for them: rows of the architecture, and companions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from blueprint.topology.shapes import Placement, ServicePlacement

ByRow = Mapping[str, Mapping[str, ServicePlacement]]
"""Maps the service of a row to those services of a topology that belong to the row, by their names in the file."""


def companions_of(placement: Placement) -> ByRow:
    """Groups a topology's services that Quorate runs as companions of a row, by the companion's name."""
    found: dict[str, dict[str, ServicePlacement]] = defaultdict(dict)
    for name, placed in placement.services.items():
        if placement.known.services[placed.definition].companion:
            found[placed.definition][name] = placed
    return found


def by_row(placement: Placement) -> ByRow:
    """Groups a topology's services by row of the architecture. CCP's rpc and notifications both belong to RabbitMQ."""
    known = placement.known
    rows: dict[str, dict[str, ServicePlacement]] = defaultdict(dict)
    for name, placed in placement.services.items():
        if row := known.architecture_service(placed.definition):
            rows[row][name] = placed
    return {**{row: rows[leader] for row, leader in known.follows.items() if leader in rows}, **rows}


def agent_hosts(placement: Placement) -> Mapping[str, tuple[str, ...]]:
    """Returns the nodes of services whose work agents do, by agent. A stack without the agent's row has no such agent.

    Agents run on every node of a stack.
    """
    known, rows = placement.known, by_row(placement)
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for placed in placement.services.values():
        for agent in known.services[placed.definition].agents:
            if known.agents[agent] in rows:
                found[agent] |= dict.fromkeys(placed.hosts)
    return {agent: tuple(hosts) for agent, hosts in found.items()}
