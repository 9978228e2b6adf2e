"""A stack's virtual machines are connected by Neutron's agents or by OVN, and by one of them only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blueprint.openstack.projects.records import own_records
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from openstack.config.wiring import wiring
from openstack.planned_versions import planned_versions
from tests.stacks import full_size, parsed, server
from tests.topologies import on_three

OVN = {"backend": "ovn"}
AGENTS = {"neutron-l2-agent", "neutron-l3-agent", "neutron-dhcp-agent", "neutron-metadata-agent"}


def planned(size: str = "100", **settings: Any) -> Plan:
    return plan(parsed(full_size(size, **settings)))


def refused(**settings: Any) -> list[str]:
    with pytest.raises(InvalidStackError) as error:
        plan(parsed(settings))
    return list(map(str, error.value.problems))


@pytest.mark.parametrize("size", ["100", "300", "500", "1000"])
def test_ovn_takes_the_place_of_the_agents(size: str) -> None:
    made = planned(size, networks=OVN)
    by_name = {each.name: each for each in made.processes}
    server_, controller = by_name["neutron-server"], by_name["ovn-controller"]
    assert not AGENTS & by_name.keys()
    for name in ("ovn-nb", "ovn-sb", "ovn-northd"):
        assert (by_name[name].instances, by_name[name].pools) == (3, server_.pools)
        assert by_name[name].quorum == (name != "ovn-northd")
    assert controller.everywhere
    assert set(controller.pools) == {"compute", *server_.pools}
    for name in ("openvswitch-db", "openvswitch-vswitchd", "neutron-ovn-metadata-agent"):
        assert (by_name[name].companion_of, by_name[name].instances) == ("ovn-controller", controller.instances)


@pytest.mark.parametrize(
    ("size", "relays", "pools"),
    [
        ("300", 6, {"keystone", "rabbitmq", "mysqld"}),
        ("500", 8, {"mysqld", "keystone"}),
        ("1000", 8, {"nova-api", "keystone"}),
    ],
)
def test_a_relay_serves_fifty_computes_where_there_are_nodes(size: str, relays: int, pools: set[str]) -> None:
    (found,) = (each for each in planned(size, networks=OVN).processes if each.name == "ovn-sb-relay")
    assert (found.instances, set(found.pools), found.quorum) == (relays, pools, False)


def test_members_serve_a_small_cloud_without_relays() -> None:
    assert "ovn-sb-relay" not in {each.name for each in planned("100", networks=OVN).processes}


def test_the_nodes_of_neutrons_server_are_gateways() -> None:
    assert wiring(planned(networks=OVN), "openstack").gateways == {"ovn-controller-network"}
    assert wiring(planned(), "openstack").gateways == frozenset()


def test_the_only_nodes_are_gateways_too() -> None:
    servers = [
        server("master1", ["master"], "10.20.0.1"),
        server("all1", ["controller", "compute", "storage"], "10.20.1.1"),
    ]
    made = plan(parsed({"profile": "lab", "architecture": "100", "networks": OVN, "servers": servers}))
    by_name = {each.name: each for each in made.processes}
    assert (by_name["ovn-nb"].instances, by_name["ovn-controller"].instances) == (1, 1)
    assert wiring(made, "openstack").gateways & {name for name, _ in by_name["ovn-controller"].parts(made.nodes)}


def test_a_stack_has_the_agents_without_asking() -> None:
    made = planned()
    names = {each.name for each in made.processes}
    assert names >= AGENTS
    assert not {name for name in names if name.startswith("ovn-")}
    assert made.settings.records is own_records()


@pytest.mark.parametrize("networks", [{}, OVN])
def test_ovn_is_no_project_to_ask_for(networks: dict[str, str]) -> None:
    (said,) = refused(**full_size("100", networks=networks, projects={"ovn": {}}))
    assert said.startswith("quorate:projects.ovn: is not a project with options")


def test_a_topology_is_refused_with_ovn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("topology.yaml").write_text(on_three("database, rpc, keystone"), encoding="utf-8")
    servers = [server("master[1-3]", ["master"], "10.20.0.1"), server("node[1-3]", [], "10.20.1.1")]
    stack = {"profile": "lab", "architecture": "100", "topology": "topology.yaml", "servers": servers}
    said = refused(**stack, networks=OVN)
    assert any(each.startswith("quorate:networks.backend: a topology of Fuel-CCP places") for each in said)


def test_services_of_the_agents_are_refused_with_ovn() -> None:
    said = refused(**full_size("100", networks=OVN, services={"neutron-l3-agent": {"replicas": 3}}))
    assert len(said) == 1
    assert said[0].startswith("quorate:services.neutron-l3-agent: no such service")


def test_another_number_of_members_is_refused() -> None:
    said = refused(**full_size("100", networks=OVN, services={"ovn-nb": {"replicas": 5}}))
    assert said[0].startswith("quorate:services.ovn-nb.replicas: 5 members are too many")


def test_the_backend_is_recorded_with_the_versions() -> None:
    assert planned_versions(planned(networks=OVN))["networks"] == "ovn"
    assert "networks" not in planned_versions(planned())
