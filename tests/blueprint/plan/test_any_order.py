"""Which nodes have room for all pods that may share them."""

from __future__ import annotations

import pytest

from blueprint.openstack.projects.process_definition import Resources
from blueprint.plan.any_order import problems
from blueprint.plan.assignment import SYSTEM_CPU, SYSTEM_MEMORY
from tests.blueprint.plan.test_assignment import SIZE, Service, node


@pytest.mark.parametrize(("cpu", "memory"), [(0, 0), (1, 0), (0, 1)])
def test_requests_that_fill_a_node_fit_and_one_more_does_not(cpu: int, memory: int) -> None:
    """Each of the two services has an instance on every node, of 8 cores and 32 GiB. `cpu`, `memory`: what is more."""
    rest = Resources(
        cpu_m=8 * 1000 - SYSTEM_CPU - SIZE.cpu_m + cpu,
        memory_mi=32 * 1024 - SYSTEM_MEMORY - SIZE.memory_mi + memory,
        limit_memory_mi=32 * 1024,
    )
    services = [Service("keystone", 2), Service("nova-api", 2)]
    found = problems(services, [node("a", "r1"), node("b", "r1")], {"keystone": SIZE, "nova-api": rest})
    assert [each.key for each in found] == (["quorate:servers (a)"] if cpu or memory else [])
