"""Network cards with virtual functions (SR-IOV): which computes have the agent, and which stacks cannot have cards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blueprint.openstack.projects.records import own_records
from blueprint.plan.host_reserves import host_reserves
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from tests.stacks import full_size, parsed

AGENT = "neutron-sriov-nic-agent"
CARD = {"ens2f1": {"network": "physnet1"}}
NODES = {"cmp[2-3]": {"sriov": CARD}}
NETWORKS = {"physical": {"physnet1": {"vlans": "1001:1030"}}}
VLAN = {"neutron": {"options": {"ml2_conf.ini": {"ml2": {"project_network_types": ["vlan", "vxlan"]}}}}}


def planned(**settings: Any) -> Plan:
    made: dict[str, Any] = {"nodes": NODES, "networks": NETWORKS, "projects": VLAN, **settings}
    return plan(parsed(full_size("100", **made)))


def refused(**settings: Any) -> list[str]:
    with pytest.raises(InvalidStackError) as caught:
        planned(**settings)
    return list(map(str, caught.value.problems))


def test_only_computes_with_a_card_have_the_agent() -> None:
    made = planned()
    (agent,) = [each for each in made.companions if each.name == AGENT]
    assert (agent.only_nodes, agent.instances) == (("cmp2", "cmp3"), 2)
    assert [each.node for each in made.assignment if each.service == AGENT] == ["cmp2", "cmp3"]


def test_other_stacks_have_none_of_it() -> None:
    made = planned(nodes={})
    assert AGENT not in {each.name for each in made.companions}
    assert made.settings.records is own_records()


def test_tunnels_alone_are_refused() -> None:
    (problem,) = refused(projects={})
    assert problem.startswith("quorate:nodes: has devices of SR-IOV, which carry no tunnels, and networks of projects")
    assert (
        "are vxlan only; write quorate:projects.neutron.options.ml2_conf.ini.ml2.project_network_types: [vlan"
        in problem
    )
    (problem,) = refused(projects={}, release="2025.1")
    assert "ml2_conf.ini.ml2.tenant_network_types: [vlan, vxlan]" in problem


def test_a_network_of_vlans_has_some() -> None:
    (problem,) = refused(networks={})
    assert problem.startswith("quorate:networks.physical.physnet1.vlans: is missing, for SR-IOV; ")
    flat = {"neutron": {"options": {"ml2_conf.ini": {"ml2": {"project_network_types": "flat"}}}}}
    assert planned(networks={}, projects=flat)


def test_the_network_is_known() -> None:
    nodes = {"cmp2": {"sriov": {"ens2f1": {"network": "physnet2"}}}}
    (problem,) = refused(nodes=nodes)
    assert problem == (
        "quorate:nodes.cmp2.sriov.ens2f1.network: 'physnet2' is not a physical network (did you mean 'physnet1'?); "
        "write one of: physnet1"
    )


def test_only_computes_have_cards() -> None:
    (problem,) = refused(nodes={"ctl[01-02]": {"sriov": CARD}, **NODES})
    assert problem == "quorate:nodes.ctl[01-02].sriov: ctl01, ctl02 cannot run nova-compute; write computes"


def test_options_keep_the_driver_and_the_filter() -> None:
    ml2 = {**VLAN["neutron"]["options"]["ml2_conf.ini"]["ml2"], "mechanism_drivers": ["openvswitch", "l2population"]}
    nova = {"options": {"nova.conf": {"filter_scheduler": {"enabled_filters": ["ComputeFilter"]}}}}
    found = refused(projects={"neutron": {"options": {"ml2_conf.ini": {"ml2": ml2}}}, "nova": nova})
    assert [each.partition("need ")[2].partition(";")[0] for each in found] == [
        "sriovnicswitch among mechanism_drivers (ml2_conf.ini, ml2)",
        "PciPassthroughFilter among enabled_filters (nova.conf, filter_scheduler)",
    ]


@pytest.mark.parametrize("address", ["02:00.2", "0000:02:00.8", "0000:02:20.1", "ens2f1"])
def test_a_function_has_its_whole_address(address: str) -> None:
    with pytest.raises(InvalidStackError) as caught:
        planned(nodes={"cmp2": {"sriov": {"ens2f1": {"network": "physnet1", "exclude": [address]}}}})
    (problem,) = map(str, caught.value.problems)
    assert problem.startswith("quorate:nodes.cmp2.sriov.ens2f1.exclude[0]: ")


def test_ovn_is_refused() -> None:
    (problem,) = refused(networks={**NETWORKS, "backend": "ovn"})
    assert problem.startswith("quorate:nodes: has devices of SR-IOV, which are built for Open vSwitch's agents only: ")
    assert problem.endswith("remove sriov, or write quorate:networks.backend: ovs")


def test_only_these_computes_reserve_the_agent() -> None:
    reserves = host_reserves(planned())
    assert reserves["cmp2"].memory - reserves["cmp1"].memory == planned().sizes[AGENT].memory_mi
    assert reserves["cmp2"] == reserves["cmp3"]


def test_the_agent_is_one_workload_whatever_the_pools() -> None:
    made = planned()
    (agent,) = [each for each in made.companions if each.name == AGENT]
    mixed = replace(agent, pools=("controller", "compute"))
    assert mixed.parts(made.nodes) == ((AGENT, mixed),)


def test_what_is_excluded_is_not_excluded_in_nova() -> None:
    excluded = {"ens2f1": {"network": "physnet1", "exclude": ["0000:02:00.2"]}}
    (warning,) = [each for each in planned(nodes={"cmp2": {"sriov": excluded}}).warnings if "exclude" in each]
    assert warning.startswith("quorate:nodes.cmp2.sriov.ens2f1.exclude: Neutron sets these functions up for no port")
