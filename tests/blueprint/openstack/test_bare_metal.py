"""A stack with Ironic: what it has then, and with which settings it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from tests.stacks import full_size, parsed, server
from tests.topologies import BACKENDS, on_three

INGRESS = {"domain": "cloud.example.org", "className": "nginx"}
SERVICES = {"ironic-api": 3, "ironic-conductor": 3, "nova-compute-ironic": 1, "ironic-neutron-agent": 1}
CONTROL = (
    "database, rpc, notifications, keystone, memcached, glance-api, neutron-server, neutron-openvswitch-agent, "
    "neutron-dhcp-agent, neutron-l3-agent, neutron-metadata-agent, openvswitch-db, openvswitch-vswitchd, nova-api, "
    "nova-scheduler, nova-conductor, nova-compute, nova-libvirt"
)


def planned(**settings: Any) -> Plan:
    return plan(parsed(full_size("100", ingress=INGRESS, **settings)))


def metal(made: Plan) -> dict[str, int]:
    return {each.name: each.instances for each in made.companions if "ironic" in each.name}


def refused(**settings: Any) -> list[str]:
    with pytest.raises(InvalidStackError) as error:
        plan(parsed(full_size("100", projects={"ironic": {}}, **settings)))
    return list(map(str, error.value.problems))


def test_a_stack_has_all_of_it_if_its_file_names_it() -> None:
    made = planned(projects={"ironic": {}})
    assert metal(made) == SERVICES
    others = [each for each in made.companions if each.name not in SERVICES]
    assert (others, made.services) == (list(planned().companions), planned().services)


@pytest.mark.parametrize("size", ["100", "300", "500", "1000"])
def test_several_conductors_run_beside_neutrons_server(size: str) -> None:
    made = plan(parsed(full_size(size, projects={"ironic": {}}, ingress=INGRESS)))
    by_name = {each.name: each for each in made.processes}
    assert metal(made)["ironic-conductor"] >= 2
    assert by_name["ironic-conductor"].pools == by_name["neutron-server"].pools


def test_its_nova_compute_alone_is_refused() -> None:
    with pytest.raises(InvalidStackError) as error:
        planned(services={"nova-compute-ironic": {"image": "registry.example/nova@sha256:" + "0" * 64}})
    assert [str(each) for each in error.value.problems] == [
        "quorate:services.nova-compute-ironic: is only in stacks that ask for it; write quorate:projects.ironic: {} too"
    ]


def test_it_needs_a_public_name_and_neutrons_agents() -> None:
    about = refused(networks={"backend": "ovn"})
    assert len(about) == 2
    assert "Ironic is built for Neutron's agents only" in about[0]
    assert "machines call Ironic's API while they are deployed" in about[1]


FILTERS = ("nova", "nova.conf", "filter_scheduler", "enabled_filters")
DRIVERS = ("neutron", "ml2_conf.ini", "ml2", "mechanism_drivers")


@pytest.mark.parametrize(
    ("option", "value", "needed"),
    [(FILTERS, ["ComputeFilter"], "ImagePropertiesFilter"), (DRIVERS, ["openvswitch"], "baremetal")],
)
def test_options_may_not_take_away_what_it_needs(option: tuple[str, ...], value: list[str], needed: str) -> None:
    project, file, section, name = option
    with pytest.raises(InvalidStackError) as error:
        planned(projects={"ironic": {}, project: {"options": {file: {section: {name: value}}}}})
    assert [str(each) for each in error.value.problems] == [
        f"quorate:projects.ironic: Ironic needs {needed} among {name} ({file}, {section}); add it, or remove {name}"
    ]
    kept = planned(projects={"ironic": {}, project: {"options": {file: {section: {name: [*value, needed]}}}}})
    assert metal(kept) == SERVICES


def by_topology(path: Path, placed: str, **settings: Any) -> Plan:
    path.write_text(on_three(placed, BACKENDS), encoding="utf-8")
    servers = [server("master[1-3]", ["master"], "10.20.0.1"), server("node[1-3]", [], "10.20.1.1")]
    given = {"profile": "lab", "architecture": "100", "topology": str(path), "servers": servers, "ingress": INGRESS}
    return plan(parsed(given | settings))


def test_a_stack_has_it_if_its_topology_places_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    placed = f"{CONTROL}, ironic-api, ironic-conductor, nova-compute-ironic"
    made = by_topology(Path("topology.yaml"), placed)
    # Fuel-CCP would run one on each of the three nodes. Nova gives each machine to one of them.
    assert metal(made)["nova-compute-ironic"] == 1
    assert metal(made).keys() == SERVICES.keys()


def test_its_nova_compute_in_a_topology_needs_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidStackError) as error:
        by_topology(Path("topology.yaml"), f"{CONTROL}, nova-compute-ironic")
    assert any("nova-compute-ironic is only in stacks that ask for it" in str(each) for each in error.value.problems)
