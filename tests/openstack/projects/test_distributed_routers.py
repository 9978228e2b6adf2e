"""Neutron's files with distributed routers: the mode of each L3 agent, and what the server and the L2 agents know."""

from __future__ import annotations

import configparser
from collections.abc import Mapping

import pytest

from blueprint.stackfile.settings import Networks
from tests.trials.services.stack import documents
from trials.services.containers import TriedContainer, read

ROUTERS = Networks.model_validate({"distributedRouters": True, "physical": {"physnet1": {"interface": "ens8"}}})
ON_COMPUTES = "neutron-l3-agent-compute"


@pytest.fixture(scope="module")
def containers() -> Mapping[str, TriedContainer]:
    return read(documents("dev", networks=ROUTERS))


def option(container: TriedContainer, file: str, section: str, name: str) -> str | None:
    parser = configparser.ConfigParser(interpolation=None)
    path = next(each for each in container.files if each.endswith(f"/{file}"))
    parser.read_string(container.text(path))
    return parser.get(section, name, fallback=None)


def test_each_agent_has_its_mode(containers: Mapping[str, TriedContainer]) -> None:
    for workload, mode in (("neutron-l3-agent", "dvr_snat"), (ON_COMPUTES, "dvr")):
        agent = containers[f"{workload}/neutron-l3-agent"]
        assert option(agent, "l3_agent.ini", "DEFAULT", "agent_mode") == mode


def test_new_routers_are_distributed_and_have_copies(containers: Mapping[str, TriedContainer]) -> None:
    server = containers["neutron-server/neutron-server"]
    assert option(server, "neutron.conf", "DEFAULT", "router_distributed") == "true"
    assert option(server, "neutron.conf", "DEFAULT", "l3_ha") == "true"


def test_switches_route(containers: Mapping[str, TriedContainer]) -> None:
    for workload in ("neutron-l2-agent", "neutron-l2-agent-network"):
        agent = containers[f"{workload}/neutron-openvswitch-agent"]
        assert option(agent, "openvswitch_agent.ini", "agent", "enable_distributed_routing") == "true"
        assert option(agent, "openvswitch_agent.ini", "agent", "l2_population") == "true"


def test_the_agents_of_a_compute_share_the_socket_and_no_database(containers: Mapping[str, TriedContainer]) -> None:
    metadata = containers[f"{ON_COMPUTES}/neutron-metadata-agent"]
    assert option(metadata, "metadata_agent.ini", "DEFAULT", "metadata_workers") == "2"
    assert (
        option(
            containers["neutron-metadata-agent/neutron-metadata-agent"],
            "metadata_agent.ini",
            "DEFAULT",
            "metadata_workers",
        )
        is None
    )
    for name in ("neutron-l3-agent", "neutron-metadata-agent"):
        agent = containers[f"{ON_COMPUTES}/{name}"]
        assert (
            option(agent, "neutron.conf", "DEFAULT", "metadata_proxy_socket") == "/var/lib/neutron/kolla/metadata_proxy"
        )
        assert option(agent, "neutron.conf", "database", "connection") is None
        assert not any("mysql" in file.text for file in agent.files.values())


def test_a_stack_without_them_says_nothing_of_them() -> None:
    made = read(documents("dev"))
    assert not any(each.startswith(ON_COMPUTES) for each in made)
    texts = [file.text for each in made.values() for file in each.files.values()]
    for word in ("agent_mode", "router_distributed", "enable_distributed_routing"):
        assert not any(word in text for text in texts)
