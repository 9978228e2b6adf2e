"""Reports about memory and CPU: figures that depend on a site, and processes that were killed for them."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.openstack.projects.process_definition import Resources
from blueprint.plan.sizing import with_routers
from blueprint.problems import InvalidStackError
from tests.reports.stacks import named, objects, planned


def limit(**changed: Any) -> int:
    """MiB of an L3 agent's limit."""
    return planned(**changed).sizes["neutron-l3-agent"].limit_memory_mi


def test_an_l3_agent_has_memory_for_the_routers_of_its_architecture() -> None:
    """A process of 115 MB for each router ran in a pod of 1 GiB: the kernel ended all of them at 7 routers."""
    assert limit() >= 1024 + 100 * 115
    assert limit(networks={"routers": 1}) == 1024 + 120
    assert limit(networks={"routers": 300}) == 1024 + 300 * 120


@pytest.mark.parametrize(("agents", "carried"), [(1, 0), (2, 300), (3, 300), (6, 150), (7, 129)])
def test_each_router_is_on_three_agents_at_most(agents: int, carried: int) -> None:
    sizes = {"neutron-l3-agent": Resources(cpu_m=1, memory_mi=1, limit_memory_mi=1000, router_memory_mi=100)}
    found = with_routers(sizes, {"neutron-l3-agent": agents}, routers=300)
    assert found["neutron-l3-agent"].limit_memory_mi == 1000 + carried * 100


def test_a_stack_can_set_the_memory_and_cpu_of_any_process() -> None:
    given = {"resources": {"requests": {"cpu": 0.5, "memory": "2Gi"}, "limits": {"cpu": "2", "memory": "20Gi"}}}
    made = planned(services={"neutron-l3-agent": given, "proxysql": {"resources": {"requests": {"memory": "3Gi"}}}})
    pod = named(objects(made), "Deployment", "neutron-l3-agent")["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"] == {
        "requests": {"cpu": "500m", "memory": "2048Mi"},
        "limits": {"cpu": "2000m", "memory": "20480Mi"},
    }
    proxy = made.sizes["proxysql"]
    assert (proxy.memory_mi, proxy.limit_memory_mi) == (3072, 3072)


def test_what_a_stack_gives_to_a_process_must_fit_its_nodes() -> None:
    with pytest.raises(InvalidStackError, match="neutron-l3-agent"):
        planned(services={"neutron-l3-agent": {"resources": {"requests": {"memory": "65Gi"}}}})


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ({"requests": {"memory": 4096}}, r"requests.memory: '4096' does not fit; write memory such as 512Mi or 4Gi"),
        ({"requests": {"memory": "4GB"}}, r"requests.memory: '4GB' does not fit"),
        ({"limits": {"cpu": 0}}, r"limits.cpu: '0' does not fit; write cores such as 2 or 500m"),
        ({"limits": {"cpu": "1u"}}, r"limits.cpu: '1u' does not fit"),
        (
            {"requests": {"cpu": 2}, "limits": {"cpu": 1}},
            r"limits.cpu: is less than requests.cpu; write as much or more",
        ),
    ],
)
def test_amounts_that_mean_nothing_are_refused(resources: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidStackError, match=said):
        planned(services={"nova-api": {"resources": resources}})
