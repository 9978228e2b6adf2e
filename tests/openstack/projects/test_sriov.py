"""Files of Neutron and Nova with network cards that have virtual functions: those of their nodes, and of no others."""

from __future__ import annotations

import configparser
import json
from collections.abc import Mapping
from typing import Any

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.settings import Settings
from openstack.config.wiring import ENVIRONMENT, wiring
from tests.blueprint.plan.test_sriov import NETWORKS, VLAN
from tests.stacks import full_size, parsed
from tests.trials.services.stack import objects
from trials.services.containers import TriedContainer, read

AGENT = "neutron-sriov-nic-agent"
NODES = {
    "cmp[1-2]": {"sriov": {"ens2f1": {"network": "physnet1"}}},
    "cmp2": {"sriov": {"ens3f0": {"network": "physnet1", "exclude": ["0000:05:00.2", "0000:05:00.3"]}}},
}


def settings() -> Settings:
    made = full_size("100", computes=4, nodes=NODES, networks=NETWORKS, projects=VLAN, profile="lab")
    return parsed(made)


@pytest.fixture(scope="module")
def documents() -> list[dict[str, Any]]:
    return objects(settings(), "sriov")


@pytest.fixture(scope="module")
def containers(documents: list[dict[str, Any]]) -> Mapping[str, TriedContainer]:
    return read(documents)


def one(documents: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = [each for each in documents if each["kind"] == kind and each["metadata"]["name"] == name]
    return found


def ini(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    return parser


def test_the_agent_runs_on_nodes_with_a_card(documents: list[dict[str, Any]]) -> None:
    pod = one(documents, "DaemonSet", AGENT)["spec"]["template"]["spec"]
    selector = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = selector["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "quorate.io/pool", "operator": "In", "values": ["compute"]},
        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["cmp1", "cmp2"]},
    ]


def test_each_node_s_agent_has_its_cards(documents: list[dict[str, Any]]) -> None:
    data = one(documents, "ConfigMap", f"{AGENT}-nodes")["data"]
    assert sorted(data) == ["cmp1.conf", "cmp2.conf"]
    assert dict(ini(data["cmp1.conf"])["sriov_nic"]) == {"physical_device_mappings": "physnet1:ens2f1"}
    assert dict(ini(data["cmp2.conf"])["sriov_nic"]) == {
        "exclude_devices": "ens3f0:0000:05:00.2;0000:05:00.3",
        "physical_device_mappings": "physnet1:ens2f1,physnet1:ens3f0",
    }


def test_nova_gives_the_functions_of_these_cards(documents: list[dict[str, Any]]) -> None:
    data = one(documents, "ConfigMap", "nova-compute-nodes")["data"]
    lines = [line for line in data["cmp2.conf"].splitlines() if line.startswith("device_spec")]
    assert [json.loads(line.partition("=")[2]) for line in lines] == [
        {"devname": "ens2f1", "physical_network": "physnet1"},
        {"devname": "ens3f0", "physical_network": "physnet1"},
    ]
    assert not any("device_spec" in data.get(f"{name}.conf", "") for name in ("cmp3", "cmp4"))


def test_the_server_and_the_scheduler_know_such_ports(containers: Mapping[str, TriedContainer]) -> None:
    ml2 = ini(containers["neutron-server/neutron-server"].text("/etc/neutron/plugins/ml2/ml2_conf.ini"))
    assert ml2["ml2"]["mechanism_drivers"] == "openvswitch,l2population,sriovnicswitch"
    nova = ini(containers["nova-scheduler/nova-scheduler"].text("/etc/nova/nova.conf"))
    assert nova["filter_scheduler"]["enabled_filters"].split(",")[-1] == "PciPassthroughFilter"
    agent = ini(containers[f"{AGENT}/{AGENT}"].text("/etc/neutron/plugins/ml2/sriov_agent.ini"))
    assert agent["securitygroup"]["firewall_driver"] == "noop"


def test_a_stack_without_cards_says_nothing_of_them() -> None:
    made = wiring(plan(parsed(full_size("100"))), ENVIRONMENT)
    assert made.sriov_devices == {}
    assert not made.has(AGENT)
