"""Which nodes agents have work on: those of the topology's services that they take the place of."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.topology import agent_hosts
from tests.topologies import numbered, on_three, placed


@pytest.mark.parametrize(
    ("services", "agents"),
    [
        ("heka, elasticsearch", {"log-collector": tuple(numbered(3))}),
        ("heka", {}),
        ("elasticsearch", {}),
    ],
)
def test_an_agent_is_on_the_nodes_of_its_service_if_its_row_runs(
    services: str, agents: dict[str, tuple[str, ...]], tmp_path: Path
) -> None:
    assert agent_hosts(placed(tmp_path, on_three(services))) == agents
