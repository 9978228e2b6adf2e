"""Fuel-CCP's keys of SR-IOV (source 004, 2.5.2): they become cards of single nodes, or say what to write."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from blueprint import topology_settings
from blueprint.topology import NodeKey, Topology, TopologyLine, place
from blueprint.topology.definitions import catalogue
from tests.projects import RECORDS
from tests.topologies import numbered

KNOWN = catalogue(RECORDS)
CARD = {"name": "ens2f1", "physnets": ["physnet1"]}
PHYSNETS = [{"name": "physnet1", "vlan_range": "50:1030"}]


def lines(
    neutron: dict[str, Any] | None = None,
    nova: dict[str, Any] | None = None,
    node: Any = None,
    agents: str = "node[1-2]$",
) -> dict[str, TopologyLine]:
    """Returns what became of the keys, by key, on three computes. `agents`: those with Neutron's agent."""
    made = Topology(
        path=Path("t.yaml"),
        known=KNOWN,
        nodes={
            "node[1-3]$": NodeKey(re.compile("node[1-3]$"), ("all",), {}),
            agents: NodeKey(re.compile(agents), ("cards",), node or {}),
        },
        roles={"all": ("nova-compute", "neutron-server"), "cards": ("neutron-sriov-nic-agent",)},
        services={},
        configs={
            "neutron": {"physnets": PHYSNETS, "sriov": {"enabled": True, "devices": [CARD], **(neutron or {})}},
            "nova": {"sriov": {"enabled": True, **(nova or {})}},
        },
        secret_configs={},
    )
    return {line.key: line for line in place(made, numbered(3)).configs}


def test_a_device_is_a_card_of_the_nodes_with_the_agent() -> None:
    found: Any = topology_settings.tree(
        lines({"devices": [{**CARD, "exclude_vfs": ["0000:02:00.2"]}]}).values(), "2026.1"
    )
    card = {"ens2f1": {"network": "physnet1", "exclude": ["0000:02:00.2"]}}
    assert found["nodes"] == {"node1": {"sriov": card}, "node2": {"sriov": card}}


def test_what_is_switched_off_has_no_effect() -> None:
    found = lines({"enabled": False}, {"enabled": False})
    assert {key: each.fate for key, each in found.items() if "sriov" in key} == {
        "configs.neutron.sriov.enabled": "same",
        "configs.neutron.sriov.devices": "same",
        "configs.nova.sriov.enabled": "same",
    }


@pytest.mark.parametrize(
    ("neutron", "key", "words"),
    [
        ({"enabled": "yes"}, "enabled", "write true or false"),
        ({"devices": []}, "enabled", "no device is named; write neutron.sriov.devices"),
        ({"devices": "ens2f1"}, "devices", "write a list of devices"),
        ({"devices": ["ens2f1"]}, "devices[0]", "write a mapping with name, physnets, exclude_vfs"),
        ({"devices": [CARD, CARD]}, "devices[1]", "is a second device 'ens2f1'; write each name once"),
        ({"devices": [{**CARD, "vfs": 7}]}, "devices[0]", "has vfs; write only name, physnets, exclude_vfs"),
        (
            {"devices": [{**CARD, "physnets": ["physnet1", "physnet2"]}]},
            "devices[0].physnets",
            "write a list with one physical network",
        ),
        ({"devices": [{**CARD, "physnets": "physnet1"}]}, "devices[0].physnets", "write a list with one"),
        ({"devices": [{**CARD, "exclude_vfs": "all"}]}, "devices[0].exclude_vfs", "write a list of PCI addresses"),
        ({"devices": [{**CARD, "exclude_vfs": [120.2]}]}, "devices[0].exclude_vfs[0]", "with quotation marks"),
    ],
)
def test_a_device_that_no_stack_can_have_is_refused(neutron: Any, key: str, words: str) -> None:
    line = lines(neutron)[f"configs.neutron.sriov.{key}"]
    assert line.fate == "refused"
    assert words in line.text


def test_neutron_and_nova_have_it_together() -> None:
    line = lines(nova={"enabled": False})["configs.nova.sriov.enabled"]
    assert (line.fate, line.text) == (
        "refused",
        "is for Neutron and Nova together; write the same in neutron.sriov.enabled",
    )


def test_some_node_has_the_agent() -> None:
    line = lines(agents="absent")["configs.neutron.sriov.enabled"]
    assert line.text.startswith("no node has neutron-sriov-nic-agent; name it in a role of the computes")


def test_devices_of_single_nodes_are_for_the_stack_file() -> None:
    line = lines(node={"neutron": {"sriov": {"devices": [CARD]}}})["nodes.node[1-2]$.configs.neutron.sriov.devices"]
    assert line.fate == "refused"
    assert "write quorate:nodes.<node>.sriov there" in line.text


@pytest.mark.parametrize(
    ("devices", "fate"),
    [
        ([{"devname": "ens2f1", "physical_network": "physnet1"}], "same"),
        ([], "refused"),
        ([{"devname": "ens2f1", "physical_network": "physnet2"}], "refused"),
        ([{"devname": "ens2f1", "physical_network": ["physnet1"]}], "refused"),
        ([{"address": "0000:02:00.2"}], "refused"),
        ("ens2f1", "refused"),
    ],
)
def test_novas_list_is_neutrons(devices: Any, fate: str) -> None:
    line = lines(nova={"pci_passthrough_whitelist": devices})["configs.nova.sriov.pci_passthrough_whitelist"]
    assert line.fate == fate


def test_an_alias_is_text() -> None:
    """Nova refuses a number, and YAML reads 1572 as one."""
    alias = {"name": "X710", "product_id": 1572, "vendor_id": "8086"}
    line = lines(nova={"pci_alias": [alias]})["configs.nova.sriov.pci_alias[0].product_id"]
    assert line.text == "is 1572; write a text with quotation marks"
    found: Any = topology_settings.tree(lines(nova={"pci_alias": [{**alias, "product_id": "1572"}]}).values(), "2026.1")
    written = '{"name": "X710", "product_id": "1572", "vendor_id": "8086"}'
    assert found["projects"]["nova"]["options"]["nova.conf"]["pci"]["alias"] == [written]
