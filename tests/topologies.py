"""Fuel-CCP topologies for tests: where the real ones are, and small ones made of a few words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict, cast

import pytest

from blueprint.topology import Placement, TopologyError, place, read_topology
from commands.command_line import main

ROOT = Path(__file__).parent.parent
REAL = ROOT / "tests" / "data" / "topologies"

BACKENDS = """
services:
  database: {service_def: galera}
  rpc: {service_def: rabbitmq}
  notifications: {service_def: rabbitmq}
"""


class Output(TypedDict):
    """What the command prints with --json; `environments` in the place of `services` where it read several files."""

    services: dict[str, dict[str, object]]
    lines: list[dict[str, str]]
    environments: dict[str, dict[str, object]]
    findings: list[dict[str, str]]


def numbered(count: int) -> list[str]:
    return [f"node{number}" for number in range(1, count + 1)]


def on_three(services: str, rest: str = "") -> str:
    """Three nodes that share one role with these services."""
    return f"nodes: {{'node[1-3]': {{roles: [all]}}}}\nroles: {{all: [{services}]}}\n{rest}"


CACHE = on_three("memcached")
"""The plainest topology: nothing is wrong with it."""


def placed(folder: Path, text: str, nodes: int = 3) -> Placement:
    """Returns the placement of a topology with this text on node1, node2, …, also for an invalid text."""
    file = folder / "topology.yaml"
    file.write_text(text)
    try:
        topology = read_topology(file)
    except TopologyError as error:
        topology = error.topology
    return place(topology, numbered(nodes))


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Output]:
    """Exit status and output of the command."""
    status = main(["topology", *map(str, arguments), "--json"])
    return status, cast("Output", json.loads(capsys.readouterr().out))
