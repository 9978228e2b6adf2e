"""Reads ovn-controller and the metadata agent of each node from OVN's southbound database, by the answers of a member.

Neutron's own database has no row of them, and they send no heartbeat. A list of agents by Neutron's API counts a number
up in OVN, `nb_cfg`, and each agent writes the last number that it has seen into the row of its node, Chassis_Private.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace

from cluster.objects import Object, listed
from openstack.ovn_clients import DATABASE_NAMES, SB
from operations.living.agents import LivingAgent, LivingAgents
from operations.living.answers import Answer, Unanswered

CHASSIS, NOW = "chassis", "time"
CONTROLLER, METADATA = "ovn-controller", "neutron-ovn-metadata-agent"
_METADATA_NUMBER = "neutron:ovn-metadata-sb-cfg"
"""Key of the metadata agent's number (OVN_AGENT_METADATA_SB_CFG_KEY in Neutron's neutron/common/ovn/constants.py)."""
_COLUMNS = ["name", "nb_cfg", "nb_cfg_timestamp", "external_ids"]
_QUERY = json.dumps(
    [
        DATABASE_NAMES[SB],
        {"op": "select", "table": "Chassis_Private", "where": [], "columns": _COLUMNS},
        {"op": "select", "table": "SB_Global", "where": [], "columns": ["nb_cfg"]},
    ]
)
_SOCKET = "unix:/tmp/ovsdb-server.sock"  # in the member's container (openstack/scripts/ovn_member/)


def questions() -> dict[str, str]:
    """Returns the questions to a member of the southbound database."""
    return {
        CHASSIS: f"ovsdb-client --timeout=8 --no-leader-only query {_SOCKET} {shlex.quote(_QUERY)}",
        NOW: "date +%s",
    }


def read(answer: Answer, others: LivingAgents) -> LivingAgents:
    """Returns the agents of OVN beside `others`, by the answer of a member."""
    try:
        found, age = _read(answer)
    except Unanswered as error:
        return replace(others, unasked=(*others.unasked, f"the agents of OVN were not read: {error}"))
    return replace(others, agents=(*others.agents, *found), ovn_asked=age)


def _read(answer: Answer) -> tuple[list[LivingAgent], int | None]:
    """Returns the agents, and the seconds since they were last asked; none and None while nobody has asked them."""
    tables = [listed(each, "rows") for each in answer.objects(CHASSIS)]
    try:
        now = int(answer.text(NOW))
        rows, (general,) = tables
        newest = int(general["nb_cfg"])
        if not (newest and rows):
            return [], None
        numbers = [int(row["nb_cfg"]) for row in rows]
        asked = max(int(row["nb_cfg_timestamp"]) // 1000 for row in rows)
        # Between the question and the first answer, nobody has the newest number.
        due = max([newest - 1, *numbers])
        age = max(0, now - asked)
        found = [each for row in rows for each in _agents(row, due, age)]
    except (KeyError, TypeError, ValueError):
        raise Unanswered("what the southbound database says is not what was asked for") from None
    return found, age


def _agents(row: Object, due: int, age: int) -> Iterator[LivingAgent]:
    """Yields the agents in the row of a node. `due`: the number that they must have; `age`: seconds since it was asked.

    A metadata agent without a number has not been asked since it, or ovn-controller, has started.
    """
    node = str(row["name"])
    _, pairs = row["external_ids"]
    written: dict[str, str] = dict(pairs)
    numbers = {CONTROLLER: int(row["nb_cfg"])}
    if _METADATA_NUMBER in written:
        numbers[METADATA] = int(written[_METADATA_NUMBER])
    for kind, number in numbers.items():
        yield LivingAgent("neutron", kind, node, 0 if number >= due else age, is_disabled=False)
