"""What becomes of a topology's configuration keys: each key is a setting, a warning or an error, and none vanishes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from blueprint import topology_settings
from blueprint.topology import NamedService, NodeKey, Topology, TopologyLine, place
from blueprint.topology.config_fates import Path as KeyPath
from blueprint.topology.definitions import catalogue
from blueprint.topology.document import merged
from tests.projects import RECORDS
from tests.topologies import numbered

KNOWN = catalogue(RECORDS)
COMPUTES = ("nova-api", "nova-compute", "nova-libvirt", "neutron-server", "neutron-openvswitch-agent")


def topology(configs: Any = None, service: Any = None, node: Any = None, secret: Any = None) -> Topology:
    """Three nodes with Nova, Neutron and Keystone, and configuration of the file, of Keystone and of node2."""
    return Topology(
        path=Path("t.yaml"),
        known=KNOWN,
        nodes={
            "node[1-3]$": NodeKey(re.compile("node[1-3]$"), ("all",), {}),
            "node2": NodeKey(re.compile("node2"), (), node or {}),
        },
        roles={"all": (*COMPUTES, "identity")},
        services={"identity": NamedService("keystone", {}, service or {})},
        configs=configs or {},
        secret_configs=secret or {},
    )


def lines(**configs: Any) -> dict[str, TopologyLine]:
    """Returns what became of the keys, by key."""
    placement = place(topology(**configs), numbered(3))
    return {line.key: line for line in placement.configs}


def settings(**configs: Any) -> Any:
    """Returns the settings that the keys became, as in a stack file of 2026.1."""
    return topology_settings.tree(lines(**configs).values(), "2026.1")


def test_a_key_of_the_file_is_an_option_of_the_project() -> None:
    found = settings(configs={"nova": {"debug": True, "allocation_ratio": {"cpu": 4.0, "ram": 0.0}}})
    default = {"debug": True, "cpu_allocation_ratio": 4.0}
    assert found == {"projects": {"nova": {"options": {"nova.conf": {"DEFAULT": default}}}}}


def test_a_key_of_a_service_is_an_option_of_the_service() -> None:
    found = settings(service={"keystone": {"debug": True}})
    assert found == {"services": {"keystone": {"options": {"keystone.conf": {"DEFAULT": {"debug": True}}}}}}


def test_a_key_of_a_node_is_an_option_there_and_the_rest_is_named() -> None:
    line = lines(node={"nova": {"debug": True}})["nodes.node2.configs.nova.debug"]
    (setting,) = line.settings
    assert setting.place == "quorate:nodes.node2.services.nova-compute.options.nova.conf.DEFAULT.debug"
    assert line.rule == "config-in-part"
    assert line.text.endswith(
        "nova-api on these nodes take no options of single nodes: write theirs under quorate:services"
    )


def test_a_later_key_of_a_node_wins() -> None:
    made = topology(node={"neutron": {"debug": False}})
    first = NodeKey(re.compile("node"), (), {"neutron": {"debug": True}})
    placement = place(replace(made, nodes={**made.nodes, "node": first}), numbered(3))
    found: Any = topology_settings.tree(placement.configs, "2026.1")["nodes"]
    values = {
        node: each["services"]["neutron-l2-agent"]["options"]["neutron.conf"]["DEFAULT"]["debug"]
        for node, each in found.items()
    }
    assert values == {"node1": True, "node2": False, "node3": True}


def test_a_renamed_option_has_the_name_of_the_release() -> None:
    made = lines(configs={"neutron": {"ml2": {"tenant_network_types": ["vlan"]}}}).values()
    names = {
        release: list(topology_settings.tree(made, release)["projects"]["neutron"]["options"]["ml2_conf.ini"]["ml2"])
        for release in ("2025.1", "2026.1")
    }
    assert names == {"2025.1": ["tenant_network_types"], "2026.1": ["project_network_types"]}


PHYSNETS = [
    {"name": "ext", "bridge_name": "br-x", "interface": "ens5", "flat": True, "vlan_range": False, "dpdk": False}
]


def test_physical_networks_are_the_stack_s() -> None:
    found = settings(configs={"neutron": {"physnets": PHYSNETS}})
    assert found == {"networks": {"physical": {"ext": {"bridge": "br-x", "interface": "ens5"}}}}
    assert settings(configs={"neutron": {"physnets": []}}) == {"networks": {"physical": {}}}
    assert settings(configs={"neutron_external_interface": "eth2"}) == {
        "networks": {"physical": {"physnet1": {"interface": "eth2"}}}
    }


def test_a_node_may_have_another_interface_and_no_other_network() -> None:
    shared = {"neutron": {"physnets": PHYSNETS}}
    own = {"neutron": {"physnets": [{**PHYSNETS[0], "interface": "ens9"}]}}
    assert settings(configs=shared, node=own)["nodes"] == {"node2": {"interfaces": {"ext": "ens9"}}}
    other = {"neutron": {"physnets": [{**PHYSNETS[0], "bridge_name": "br-y"}]}}
    assert lines(configs=shared, node=other)["nodes.node2.configs.neutron.physnets"].fate == "refused"


def test_an_ingress_is_that_of_the_documents() -> None:
    found = settings(configs={"ingress": {"domain": "cloud.example.org", "enabled": True}})
    assert found == {"ingress": {"domain": "cloud.example.org", "port": 8443, "className": "traefik"}}
    assert settings(configs={"ingress": {"enabled": False, "domain": "x"}}) == {}


def test_an_external_ceph_is_that_of_the_documents() -> None:
    """The example of source 004, 2.3.1, with the account and the pool of another cloud."""
    ceph = {"fsid": "afca8524-2c47-4b81-a0b7-2300e62212f9", "mon_host": "10.90.0.2, 10.90.0.3"}
    cinder = {"ceph": {"enable": True, "key": "AQBSHfJXID9pFRAAm4VLpbNXa4XJ9zgAh7dm2g==", "username": "east"}}
    glance = {"ceph": {"enable": True, "pool_name": "pictures"}}
    written = {"ceph": ceph, "cinder": cinder, "glance": glance, "nova": {"ceph": {"enable": True}}}
    found = lines(configs=written)
    accounts = {
        "glance": {"key": {"environment": "CEPH_GLANCE_KEY"}},
        "cinder": {"key": {"environment": "CEPH_CINDER_KEY"}, "name": "east"},
    }
    assert topology_settings.tree(found.values(), "2026.1") == {
        "ceph": {
            "external": {
                "fsid": ceph["fsid"],
                "monitors": ["10.90.0.2", "10.90.0.3"],
                "accounts": accounts,
                "pools": {"images": "pictures"},
            }
        }
    }
    assert not list(topology_settings.problems(found.values()))
    key = found["configs.cinder.ceph.key"]
    assert (key.fate, "AQBS" in key.text) == ("left out", False)
    assert {found[f"configs.{each}.ceph.enable"].fate for each in ("cinder", "glance", "nova")} == {"same"}
    assert "set CEPH_GLANCE_KEY and CEPH_CINDER_KEY to the keys" in found["configs.ceph.mon_host"].text


@pytest.mark.parametrize(
    ("configs", "key", "fate", "said"),
    [
        ({"nova": {"ceph": {"enable": True}}}, "nova.ceph.enable", "refused", "no Ceph is named, so disks"),
        ({"nova": {"ceph": {"enable": False}}}, "nova.ceph.enable", "same", "asks for what every stack has"),
        ({"nova": {"ceph": {"enable": 1}}}, "nova.ceph.enable", "refused", "is 1; write true or false"),
        ({"glance": {"ceph": {"enable": False}}}, "glance.ceph.enable", "same", "images are in the file system of"),
        ({"glance": {"ceph": {"enable": True}}}, "glance.ceph.enable", "left out", "no Ceph is named; write ceph.fsid"),
        (
            {"ceph": {"mon_host": "a"}, "glance": {"ceph": {"enable": False}}},
            "glance.ceph.enable",
            "left out",
            "it stores in Ceph unless",
        ),
        ({"glance": {"ceph": {"pool_name": "p"}}}, "glance.ceph.pool_name", "left out", "belongs to an external Ceph"),
        ({"ceph": {"mon_host": 5}}, "ceph.mon_host", "refused", "is 5; write names or addresses with commas"),
        (
            {"ceph": {"mon_host": "a"}, "nova": {"ceph": {"enable": False}}},
            "nova.ceph.enable",
            "left out",
            "disks of virtual machines are in Ceph unless",
        ),
        ({"radosgw": {"key": "x"}}, "radosgw.key", "left out", "Quorate runs no gateway of an external Ceph"),
    ],
)
def test_what_differs_about_ceph_is_named(configs: Any, key: str, fate: str, said: str) -> None:
    line = lines(configs=configs)[f"configs.{key}"]
    assert (line.fate, line.text.startswith(said)) == (fate, True), line.text


def test_half_an_external_ceph_is_refused() -> None:
    for half, missing in (({"fsid": "x"}, "monitors"), ({"mon_host": "a"}, "fsid")):
        problems = list(topology_settings.problems(lines(configs={"ceph": half}).values()))
        assert [text for text in map(str, problems) if f"quorate:ceph.external.{missing} is missing; write it" in text]


EXTERNAL = {"physnet": "ext", "network": "10.90.2.0/24", "gateway": "10.90.2.1", "pool": {"start": "10.90.2.9"}}


def test_a_new_cloud_gets_what_the_documents_give_it() -> None:
    neutron = {"internal": {"enable": False, "network": "10.0.9.0/24"}, "external": {"enable": True, **EXTERNAL}}
    flavors = [{"name": "a", "id": 42, "ram": 1, "disk": 1, "vcpus": 1}]
    found = settings(
        configs={
            "neutron": {"bootstrap": neutron},
            "nova": {"bootstrap": {"flavors": flavors}},
            "glance": {"bootstrap": {"enable": True, "image": {"name": "x"}}},
        }
    )["bootstrap"]
    external = {
        "physicalNetwork": "ext",
        "network": "10.90.2.0/24",
        "gateway": "10.90.2.1",
        "pool": {"start": "10.90.2.9"},
    }
    assert found == {"networks": {"internal": None, "external": external}, "flavors": flavors, "image": {"name": "x"}}


def test_what_is_off_has_no_effect() -> None:
    bootstrap = {"external": {**EXTERNAL}, "internal": {}}
    assert settings(configs={"neutron": {"bootstrap": bootstrap}, "glance": {"bootstrap": {"enable": False}}}) == {}


def test_secrets_are_not_printed() -> None:
    found = lines(secret={"nova": {"password": "hunter2"}}, configs={"radosgw": {"key": "hunter2"}})
    assert [line.fate for line in found.values()] == ["left out", "left out"]
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        ({"nova": {"virt_type": 7}}, "is 7; write text"),
        ({"nova": {"allocation_ratio": {"cpu": float("nan")}}}, "write a number"),
        ({"neutron": {"db": {"max_overflow": True}}}, "is true; write a whole number"),
        ({"neutron": {"ml2": {"vni_ranges": []}}}, "write a list of names, at least one"),
        ({"neutron": {"physnets": "ens8"}}, "write a list of networks"),
        ({"ingress": {"enabled": "yes"}}, "write true or false"),
        ({"nova": {"bootstrap": {"enable": 1}}}, "write true or false"),
    ],
)
def test_a_value_of_another_kind_is_refused(configs: Any, said: str) -> None:
    refused = [line for line in lines(configs=configs).values() if line.fate == "refused"]
    assert [said in line.text for line in refused] == [True]
    assert refused[0].rule == "bad-config-value"


# Properties

VALUES = st.one_of(
    st.booleans(),
    st.integers(-3, 70_000),
    st.floats(),
    st.text(max_size=8),
    st.none(),
    st.sampled_from(["vlan", "vxlan", "10.0.0.0/24", "physnet1", "RamFilter", "rabbit", "calico"]),
    st.lists(st.sampled_from(["vlan", "RamFilter", "PciPassthroughFilter"]), max_size=2),
    st.sampled_from([PHYSNETS, [], [7], [{"name": "ext"}]]),
)


STRUCTURES = [path for path in tuple(KNOWN.configs.by_path) if KNOWN.configs.by_path[path].structure]
"""Keys that are converted together, which are drawn as often as all others."""


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Any]:
    """Draws configuration with known keys, and with unknown ones at any place."""
    found: Any = {}
    paths: list[KeyPath] = draw(
        st.lists(st.sampled_from(tuple(KNOWN.configs.by_path)) | st.sampled_from(STRUCTURES), max_size=6, unique=True)
    )
    for path in paths:
        whole = draw(st.sampled_from([path, (*path[:-1], "colour"), ("colour", *path)]))
        found = merged(found, nested(whole, draw(VALUES)))
    return found


def nested(path: KeyPath, value: Any) -> dict[object, object]:
    return {path[0]: nested(path[1:], value) if path[1:] else value}


def leaves(tree: Any, above: str) -> Iterator[str]:
    for name, value in tree.items():
        key = f"{above}.{name}"
        if isinstance(value, dict) and value:
            yield from leaves(value, key)
        else:
            yield key


@given(trees(), trees(), trees(), trees())
def test_no_key_is_dropped_in_silence(configs: Any, service: Any, node: Any, secret: Any) -> None:
    """Each key is a setting, is what a stack has, or has a finding; an unknown one is an error."""
    check_every_key(configs, service, node, secret)


EACH: list[Any] = [
    {},
    True,
    False,
    0.0,
    7,
    -1,
    "",
    "rabbit",
    "10.0.0.0/24",
    None,
    [],
    ["vlan"],
    ["RamFilter"],
    PHYSNETS,
    [7],
    [{}],
]


@pytest.mark.parametrize("value", EACH, ids=str)
def test_no_key_is_dropped_whatever_its_value(value: Any) -> None:
    """All keys at once have the value, in each place that a topology has for configuration."""
    every: Any = {}
    for path in KNOWN.configs.by_path:
        every = merged(every, nested(path, value))
    check_every_key(every, {}, {}, {})
    check_every_key({}, every, {}, {})
    check_every_key({}, {}, every, {})
    check_every_key({}, {}, {}, every)


def check_every_key(configs: Any, service: Any, node: Any, secret: Any) -> None:
    placement = place(topology(configs, service, node, secret), numbered(3))
    places = {
        "configs": configs, "services.identity.configs": service, "nodes.node2.configs": node, "secret_configs": secret,
    }  # fmt: skip
    findings = {(finding.key, finding.severity) for finding in placement.findings}
    for key in (key for place_of, tree in places.items() for key in leaves(tree, place_of)):
        about = [line for line in placement.configs if _is_about(line.key, key)]
        assert about, key
        for line in about:
            assert line.settings or line.fate != "becomes", line
            assert (line.key, "warning") in findings or line.fate != "left out", line
            assert (line.key, "error") in findings or line.fate != "refused", line
        if "colour" in key:
            assert {line.fate for line in about} == {"refused"}
    # What becomes settings can be checked, whatever the values are.
    assert isinstance(list(topology_settings.problems(placement.configs)), list)
    json.dumps(topology_settings.tree(placement.configs, "2026.1"), default=str)


def _is_about(line: str, key: str) -> bool:
    """Whether a line tells of a key: of itself, of a part of its list, or of a wrong key above it."""
    return line == key or line.startswith(f"{key}[") or key.startswith(f"{line}.")


def test_an_unknown_key_names_the_one_it_resembles() -> None:
    line = lines(configs={"neutron": {"dvrr": True}})["configs.neutron.dvrr"]
    assert "(did you mean 'dvr'?)" in line.text


def test_the_keys_are_those_of_the_files_in_the_tests() -> None:
    """The samples of source 004 and the real files have no key that is unknown."""
    for file in (Path(__file__).parents[2] / "data" / "topologies").rglob("*.yaml"):
        if file.name != "placement-golden.yaml":
            content = file.read_text().replace("!include", "included:")
            for document in yaml.safe_load_all(content):
                placement = place(topology(document.get("configs")), numbered(3))
                assert "unknown-config" not in {line.rule for line in placement.configs}, file
