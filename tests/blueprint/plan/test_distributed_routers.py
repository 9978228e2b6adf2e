"""Distributed routers (DVR): which agents a stack has with them, and which stacks cannot have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blueprint.openstack.projects.records import own_records
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from contract import COMPUTE_POOL
from tests.stacks import ROOT, full_size, parsed, server
from tests.topologies import BACKENDS

AGENT = "neutron-l3-agent-compute"
ON = {"distributedRouters": True, "physical": {"physnet1": {"interface": "ens8"}}}
KEY = "quorate:networks.distributedRouters: "


def planned(**settings: Any) -> Plan:
    return plan(parsed(full_size("100", **settings)))


def refused(**settings: Any) -> list[str]:
    with pytest.raises(InvalidStackError) as caught:
        planned(**settings)
    return list(map(str, caught.value.problems))


def test_every_compute_has_the_agent() -> None:
    made = planned(networks=ON)
    (agent,) = [each for each in made.companions if each.name == AGENT]
    assert (agent.pools, agent.everywhere, agent.instances) == ((COMPUTE_POOL,), True, 3)
    assert agent.companion_of == "nova-compute"


def test_other_stacks_have_none_of_it() -> None:
    made = planned()
    assert AGENT not in {each.name for each in made.companions}
    assert made.settings.records is own_records()
    assert made.settings.records.without[AGENT] == "distributed-routers"


def test_the_agent_alone_does_not_ask_for_them() -> None:
    (problem,) = refused(services={AGENT: {"options": {"neutron.conf": {"DEFAULT": {"debug": True}}}}})
    text = "is only in stacks that ask for it; write quorate:networks.distributedRouters: true too"
    assert problem == f"quorate:services.{AGENT}: {text}"
    assert planned(networks=ON, services={AGENT: {"options": {"neutron.conf": {"DEFAULT": {"debug": True}}}}})


def test_it_has_no_number_of_its_own() -> None:
    (problem,) = refused(networks=ON, services={AGENT: {"replicas": 2}})
    assert "runs once on every node of its pools" in problem


@pytest.mark.parametrize(
    ("networks", "nodes", "named"),
    [
        ({"distributedRouters": True}, {}, "cmp1, cmp2, cmp3"),
        ({"distributedRouters": True}, {"cmp[1-2]": {"interfaces": {"physnet1": "eno2"}}}, "cmp3"),
    ],
)
def test_a_compute_without_an_external_network_is_refused(
    networks: dict[str, Any], nodes: dict[str, Any], named: str
) -> None:
    (problem,) = refused(networks=networks, nodes=nodes)
    assert problem.startswith(f"{KEY}no interface on the external network, ")
    assert f"floating addresses: {named}; write quorate:networks.physical.physnet1.interface" in problem


def test_the_network_of_the_bootstrap_is_the_external_one() -> None:
    physical = {"physnet1": {"interface": "ens8"}, "public": {"bridge": "br-public"}}
    external = {
        "network": "10.90.2.0/24",
        "gateway": "10.90.2.1",
        "pool": {"start": "10.90.2.10", "end": "10.90.2.20"},
        "physicalNetwork": "public",
    }
    content = {"networks": {"external": external}}
    (problem,) = refused(networks={**ON, "physical": physical}, bootstrap=content)
    assert "write quorate:networks.physical.public.interface" in problem


def test_a_node_with_both_agents_is_refused() -> None:
    servers = [
        server("master[1-3]", ["master"], "10.20.0.1"),
        server("node[1-2]", ["controller", "compute", "storage"], "10.20.1.1"),
    ]
    with pytest.raises(InvalidStackError) as caught:
        plan(parsed({"profile": "lab", "architecture": "100", "servers": servers, "networks": ON}))
    found = list(map(str, caught.value.problems))
    for name in ("neutron-l3-agent", "neutron-metadata-agent"):
        text = f"{KEY}node1, node2 can run {name} and nova-compute, and a node has one such agent; run {name} on nodes"
        assert any(each.startswith(text) for each in found), found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"neutron.conf": {"DEFAULT": {"router_distributed": True}}}, "alone decides router_distributed (neutron.conf"),
        ({"l3_agent.ini": {"DEFAULT": {"agent_mode": "dvr"}}}, "alone decides agent_mode (l3_agent.ini, DEFAULT)"),
    ],
)
@pytest.mark.parametrize("networks", [{}, ON], ids=["without", "with"])
def test_only_the_key_asks_for_them(options: dict[str, Any], said: str, networks: dict[str, Any]) -> None:
    (problem,) = refused(networks=networks, projects={"neutron": {"options": options}})
    assert problem.startswith(f"{KEY}{said}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ml2_conf.ini": {"ml2": {"mechanism_drivers": ["openvswitch"]}}}, "needs l2population among"),
        ({"openvswitch_agent.ini": {"agent": {"l2_population": False}}}, "needs l2_population (openvswitch"),
    ],
)
def test_tunnels_know_the_routers(options: dict[str, Any], said: str) -> None:
    projects = {"neutron": {"options": options}}
    (problem,) = refused(networks=ON, projects=projects)
    assert problem.startswith(f"{KEY}{said}")
    assert planned(projects=projects)


def test_ovn_has_routers_of_its_own() -> None:
    assert f"{KEY}is for Open vSwitch; OVN's routers are on every compute by themselves; remove it" in refused(
        networks={**ON, "backend": "ovn"}
    )


# Topologies of Fuel-CCP


def by_topology(text: str, folder: Path) -> Plan:
    (folder / "topology.yaml").write_text(text, encoding="utf-8")
    servers = [server("master[1-3]", ["master"], "10.20.0.1"), server("node[1-3]", [], "10.20.1.1")]
    settings = {"profile": "lab", "architecture": "100", "topology": "topology.yaml", "servers": servers}
    return plan(parsed(settings))


def test_the_sample_of_the_document_is_a_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "tests" / "data" / "topologies" / "texts" / "2.6.2-dvr.yaml").read_text(encoding="utf-8")
    made = by_topology(text, tmp_path)
    assert made.settings.networks.distributed_routers
    pools = {each.name: set(each.pools) for each in made.processes}
    nodes = {name: {node.name for node in made.nodes if node.pool in found} for name, found in pools.items()}
    assert nodes[AGENT] == nodes["nova-compute"] == {"node2", "node3"}
    assert nodes["neutron-l3-agent"] == nodes["neutron-metadata-agent"] == {"node1"}


def test_a_topology_that_places_the_agent_asks_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    services = "nova-compute, nova-api, nova-conductor, nova-scheduler, neutron-server, neutron-l3-agent-compute"
    roles = f"{{all: [database, rpc, notifications, {services}]}}"
    text = f"nodes: {{'node[1-3]': {{roles: [all]}}}}\nroles: {roles}\n{BACKENDS}"
    with pytest.raises(InvalidStackError) as caught:
        by_topology(text, tmp_path)
    (problem,) = map(str, caught.value.problems)
    assert problem == (
        f"quorate:topology (roles.all): {AGENT} is only in stacks that ask for it; write configs.neutron.dvr: true "
        f"here, or quorate:networks.distributedRouters: true in the stack file, or remove {AGENT}"
    )
