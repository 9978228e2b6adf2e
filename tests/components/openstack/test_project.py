"""The order in which a project's processes are made."""

from __future__ import annotations

from blueprint.plan.planner import plan
from components.openstack.project import in_order
from tests.projects import PROCESSES
from tests.stacks import full_size, parsed

PLANNED = plan(parsed(full_size("100")))
PLACED = [(PROCESSES[each.process], each) for each in PLANNED.processes if each.process in PROCESSES]


def test_the_l2_agent_comes_after_the_server_and_the_switch() -> None:
    """An agent that starts before the switch may never serve its node."""
    names = [process.name for process, _ in in_order(PLACED)]
    chain = ("neutron-server", "openvswitch-db", "openvswitch-vswitchd", "neutron-l2-agent")
    assert sorted(chain, key=names.index) == list(chain)


def test_every_process_comes_once_and_after_the_one_that_must_be_ready() -> None:
    ordered = in_order(PLACED)
    assert sorted(each.name for _, each in ordered) == sorted(each.name for _, each in PLACED)
    names = [process.name for process, _ in ordered]
    assert all(names.index(process.after) < names.index(process.name) for process, _ in PLACED if process.after)


def test_processes_without_an_order_stay_where_they_were() -> None:
    free = [pair for pair in PLACED if pair[0].project not in {"neutron", "nova"}]
    assert in_order(free) == free
