"""What a domain lacks until it is whole again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from operations.living.agents import LivingAgent, LivingAgents
from operations.living.ceph import Storage
from operations.maintenance.failure_domains import MaintenanceDomain, named
from operations.maintenance.wholeness import lacking
from tests.operations.living.living_cloud import pod
from tests.operations.maintenance.small_cloud import PLAN, SmallCloud


def domain(name: str) -> MaintenanceDomain:
    found = named(PLAN, name)
    assert found
    return found


@pytest.fixture
def cloud() -> SmallCloud:
    return SmallCloud()


def test_a_whole_cloud_lacks_nothing(cloud: SmallCloud) -> None:
    assert [lacking(cloud.read(), domain(name)) for name in ("virt1", "database1")] == [[], []]


def test_a_lost_member_is_lacked_where_it_is(cloud: SmallCloud) -> None:
    cloud.lost["mysqld-0"] = "Joining"
    assert lacking(cloud.read(), domain("virt1")) == ["mysqld-0 of mysqld: Joining"]
    assert lacking(cloud.read(), domain("virt2")) == []


def test_a_member_without_a_node_is_lacked_by_the_last_domain_that_comes_back(cloud: SmallCloud) -> None:
    cloud.pods["mysqld-0"] |= {"spec": {}}
    assert lacking(cloud.read(), domain("virt2")) == ["mysqld-0 of mysqld: it has no pod"]
    cloud.nodes["database1"]["spec"]["unschedulable"] = True
    assert lacking(cloud.read(), domain("virt2")) == [], "it may be of the node that is still closed"
    assert "mysqld-0 of mysqld: it has no pod" in lacking(cloud.read(), domain("virt1"))


def test_pods_nodes_and_agents(cloud: SmallCloud) -> None:
    cloud.pods["agent-virt1"]["status"]["conditions"][0]["status"] = "False"
    cloud.pods["api-virt1"]["status"] = {"phase": "Succeeded"}
    cloud.nodes["messaging1"]["status"]["conditions"][0]["status"] = "Unknown"
    agents = tuple(LivingAgent("nova", "nova-compute", host, age, is_disabled=True) for host, age in
                   (("virt1", 100), ("virt2", 100), ("messaging1", 10)))  # fmt: skip
    found = replace(cloud.read(), agents=LivingAgents(agents))
    assert lacking(found, domain("virt1")) == [
        "node messaging1 is not Ready",
        "pod agent-virt1 on virt1 is not ready: is Running",
        "nova-compute on virt1 has sent no heartbeat for 100 s",
    ]


def test_a_scheduler_that_moved_away_is_not_waited_for(cloud: SmallCloud) -> None:
    scheduler = LivingAgents((LivingAgent("nova", "nova-scheduler", "virt1", 100, is_disabled=False),))
    elsewhere = pod("nova-scheduler-1", "nova-scheduler", "virt2")
    found = replace(cloud.read(), agents=scheduler, pods=[elsewhere])
    assert lacking(found, domain("virt1")) == []
    here = pod("nova-scheduler-2", "nova-scheduler", "virt1")
    assert lacking(replace(found, pods=[elsewhere, here]), domain("virt1")) == [
        "nova-scheduler on virt1 has sent no heartbeat for 100 s"
    ]


@pytest.mark.parametrize(
    ("storage", "lack"),
    [
        (None, ["Ceph could not be asked about its OSDs"]),
        (Storage({"storage1": 0}, (), 0), ["no OSD of storage1 is up"]),
        (Storage({"storage1": 1}, (), 3), ["3 placement groups have not all copies where they belong"]),
    ],
)
def test_osds(cloud: SmallCloud, storage: Storage | None, lack: list[str]) -> None:
    found = replace(cloud.read(), storage=storage)
    assert lacking(found, domain("storage1")) == lack
    assert lacking(found, domain("database1")) == []


def test_what_could_not_be_asked_is_lacked(cloud: SmallCloud) -> None:
    assert lacking(replace(cloud.read(), problems=("no API server",)), domain("virt1"))[0] == "no API server"
