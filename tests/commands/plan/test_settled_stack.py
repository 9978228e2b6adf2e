"""Files of other deployers become stacks that have a plan, and each part of them has a line of the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.imports import ImportFormat, ImportLine, import_file
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import from_pulumi
from commands.plan.settled_stack import ImportedStack, settled

KOLLA = """
[control]
ctl[1:3] ansible_user=kolla
[network]
net1 neutron_external_interface=ens8 ansible_host=10.0.0.11 ansible_user=kolla
[compute]
Cmp_1 ansible_host=10.0.0.21 neutron_external_interface=ens9 ansible_user=kolla api_interface=em1
Cmp_1 ansible_password=hunter2
[keystone:children]
control
[nova-api:children]
control
network
[rabbitmq]
ctl1
ctl2
[mariadb]
db1 ansible_host=10.0.0.31
db2
db3
[barbican:children]
control
[ours]
ctl1 made_up=1
[empty]
[deployment]
localhost ansible_connection=local
"""

KUBESPRAY = """
all:
  vars: {kube_pods_subnet: 10.233.64.0/18, kube_version: 1.35.0}
  hosts:
    node1: {ansible_host: 203.0.113.1, ip: 10.0.0.1}
    node2: {ip: 10.0.0.2, node_labels: {openstack-control-plane: enabled, topology.kubernetes.io/zone: r1, mine: a}}
    node3: {ip: 10.0.0.3, node_labels: {openstack-compute-node: enabled, topology.kubernetes.io/zone: r1}}
    node4: {ip: "fe80::1", node_labels: {openstack-compute-node: enabled}}
    node5: {ip: 10.0.0.5}
  children:
    kube_control_plane: {hosts: {node1: }}
    etcd: {hosts: {node1: }}
    kube_node: {hosts: {node2: , node3: , node4: , node5: }}
    k8s_cluster: {children: {kube_control_plane: , kube_node: }}
"""

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "lcm.mirantis.com/v1alpha1",
    "kind": "OpenStackDeployment",
    "metadata": {"name": "cloud"},
    "spec": {
        "openstack_version": "gazpacho",
        "preset": "core",
        "size": "tiny",
        "region_name": "North",
        "public_domain_name": "cloud.example.org",
        "nodes": {"kubernetes.io/hostname::a": {"features": {}}},
        "features": {
            "services": ["compute", "key-manager", "made-up"],
            "neutron": {
                "backend": "ml2/ovn",
                "tenant_network_types": ["vxlan", "vlan"],
                "external_networks": [
                    {"physnet": "phys", "interface": "ens8", "bridge": "br-ex", "vlan_ranges": "100:200", "mtu": 9000},
                    {"bridge": "br-two"},
                ],
                "floating_network": {
                    "physnet": "phys",
                    "subnet": {
                        "range": "203.0.113.0/24",
                        "gateway": "203.0.113.1",
                        "pool_start": "203.0.113.10",
                        "pool_end": "203.0.113.90",
                    },
                    "enabled": True,
                },
            },
            "nova": {"allocation_ratios": {"cpu": 4.0}},
            "logging": {"nova": {"level": "DEBUG"}, "heat": {"level": "INFO"}, "cinder": {"level": "ERROR"}},
            "ssl": {"public_endpoints": {"api_key": "hunter2"}},
        },
        "services": {
            "identity": {
                "keystone": {
                    "values": {
                        "pod": {"replicas": {"api": 2}},
                        "conf": {"keystone": {"token": {"expiration": 7200}, "ldap": {"password": "hunter2"}}},
                    }
                }
            },
            "compute": {"nova": {"values": {"pod": {"replicas": {"osapi": 3, "scheduler": 9}}}}},
        },
    },
}


def imported(form: ImportFormat, text: str, folder: Path) -> ImportedStack:
    file = folder / ("file.yaml" if form != "kolla" else "inventory")
    file.write_text(text)
    return settled(import_file(form, file))


def deployment(folder: Path, **spec: object) -> ImportedStack:
    return imported(
        "rockoon", yaml.safe_dump({**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], **spec}}, sort_keys=False), folder
    )


def planned(stack: ImportedStack) -> Plan:
    config = {f"quorate:{key}": json.dumps(value) for key, value in stack.settings.items()}
    return plan(
        from_pulumi({key: json.loads(value) if value[0] == '"' else value for key, value in config.items()}, ())
    )


def lines(stack: ImportedStack) -> dict[str, ImportLine]:
    return {line.key: line for line in stack.lines}


def fates(stack: ImportedStack, *keys: str) -> list[str]:
    return [lines(stack)[key].fate for key in keys]


def servers(stack: ImportedStack) -> dict[str, tuple[object, Sequence[str]]]:
    found: Any = stack.settings["servers"]
    return {each["name"]: (each["address"], each["roles"]) for each in found}


def test_an_inventory_of_kolla(tmp_path: Path) -> None:
    stack = imported("kolla", KOLLA, tmp_path)
    assert servers(stack) == {
        **{f"master{number}": (f"198.18.0.{number}", ["master"]) for number in (1, 2, 3)},
        **{f"ctl{number}": (f"198.18.0.{number + 3}", ["controller"]) for number in (1, 2, 3)},
        "net1": ("10.0.0.11", ["controller"]),
        "cmp-1": ("10.0.0.21", ["compute"]),
        "db1": ("10.0.0.31", ["controller"]),
        "db2": ("198.18.0.7", ["controller"]),
        "db3": ("198.18.0.8", ["controller"]),
    }
    assert {key: stack.settings[key] for key in stack.settings if key != "servers"} == {
        "profile": "lab",
        "nodes": {"net1": {"interfaces": {"physnet1": "ens8"}}, "cmp-1": {"interfaces": {"physnet1": "ens9"}}},
        "services": {"nova-api": {"replicas": 4}},
        "ssh": {"user": "kolla"},
    }
    counts = {process.name: process.instances for process in planned(stack).processes}
    assert (counts["keystone"], counts["nova-api"], counts["rabbitmq"], counts["mysqld"]) == (3, 4, 3, 3)


def test_the_report_of_an_inventory_of_kolla(tmp_path: Path) -> None:
    stack = imported("kolla", KOLLA, tmp_path)
    assert fates(stack, "[control]", "[keystone]", "[mariadb]", "[rabbitmq]", "[barbican]", "[ours]", "[empty]") == [
        "becomes", "same", "same", "left out", "left out", "unknown", "left out",
    ]  # fmt: skip
    assert "is even" in lines(stack)["[rabbitmq]"].text
    assert fates(stack, "localhost", "Cmp_1", "masters", "globals.yml") == [
        "left out", "becomes", "placeholder", "left out",
    ]  # fmt: skip
    assert fates(stack, "made_up (ctl1)", "api_interface (Cmp_1)", "ansible_password (Cmp_1)") == [
        "unknown", "left out", "left out",
    ]  # fmt: skip
    assert "hunter2" not in str(stack)


def test_an_inventory_of_kubespray(tmp_path: Path) -> None:
    stack = imported("kubespray", KUBESPRAY, tmp_path)
    assert servers(stack) == {
        "node1": ("10.0.0.1", ["master"]),
        "node2": ("10.0.0.2", ["controller"]),
        "node3": ("10.0.0.3", ["compute"]),
        "node4": ("198.18.0.1", ["compute"]),
    }
    assert stack.settings["machines"] == "existing"
    assert stack.settings["networks"] == {"pods": "10.233.64.0/18"}
    assert [node.rack for node in planned(stack).nodes if node.name == "node2"] == ["r1"]
    assert fates(stack, "node5", "ansible_host (node1)", "ip (node4)", "address (node4)") == [
        "left out", "left out", "left out", "placeholder",
    ]  # fmt: skip
    assert fates(stack, "[etcd]", "[k8s_cluster]") == ["same", "same"]
    assert fates(stack, "node_labels mine=a (node2)", "kube_version ([all:vars])") == ["same", "same"]


def test_workers_without_labels_carry_both_roles(tmp_path: Path) -> None:
    stack = imported("kubespray", "kube_control_plane: {hosts: {a: }}\nkube_node: {hosts: {a: , b: }}", tmp_path)
    assert servers(stack) == {
        "a": ("198.18.0.1", ["master", "controller", "compute"]),
        "b": ("198.18.0.2", ["controller", "compute"]),
    }
    assert planned(stack)


def test_labels_in_an_ini_inventory(tmp_path: Path) -> None:
    labels = "node_labels=\"{'openstack-control-plane': 'enabled'}\""
    stack = imported("kolla", f"[control]\na\n[x]\nb {labels}", tmp_path)
    assert "b" not in servers(stack)
    file = tmp_path / "hosts.ini"
    file.write_text(f"[kube_control_plane]\na\n[kube_node]\nb {labels}\n")
    assert servers(settled(import_file("kubespray", file)))["b"][1] == ["controller"]


def test_labels_that_are_no_mapping_are_named(tmp_path: Path) -> None:
    stack = imported("kubespray", "kube_node: {hosts: {a: {node_labels: x=y}, b: }}", tmp_path)
    assert fates(stack, "node_labels (a)") == ["left out"]


def test_a_deployment_of_rockoon(tmp_path: Path) -> None:
    stack = deployment(tmp_path)
    assert servers(stack) == {
        "master[1-3]": ("198.18.0.1", ["master"]),
        "ctl[1-3]": ("198.18.0.4", ["controller"]),
        "cmp[01-10]": ("198.18.0.7", ["compute"]),
    }
    assert {key: value for key, value in stack.settings.items() if key != "servers"} == {
        "profile": "lab",
        "machines": "existing",
        "release": "2026.1",
        "region": "North",
        "ingress": {"domain": "cloud.example.org", "className": "openstack-ingress-nginx"},
        "networks": {"physical": {"phys": {"interface": "ens8", "bridge": "br-ex", "vlans": "100:200"}}},
        "bootstrap": {
            "networks": {
                "external": {
                    "physicalNetwork": "phys",
                    "network": "203.0.113.0/24",
                    "gateway": "203.0.113.1",
                    "pool": {"start": "203.0.113.10", "end": "203.0.113.90"},
                }
            }
        },
        "projects": {
            "neutron": {"options": {"ml2_conf.ini": {"ml2": {"project_network_types": ["vxlan", "vlan"]}}}},
            "nova": {"options": {"nova.conf": {"DEFAULT": {"cpu_allocation_ratio": 4.0, "debug": True}}}},
            "keystone": {"options": {"keystone.conf": {"token": {"expiration": 7200}}}},
        },
        "services": {"keystone": {"replicas": 2}},
    }
    assert planned(stack)


def test_the_report_of_a_deployment(tmp_path: Path) -> None:
    stack = deployment(tmp_path, made_up={"a": 1}, draft=False)
    features = "spec.features."
    assert fates(stack, *(f"{features}services.{name}" for name in ("compute", "key-manager", "made-up"))) == [
        "same", "left out", "left out",
    ]  # fmt: skip
    external = f"{features}neutron.external_networks"
    assert fates(stack, f"{external}[0].mtu", f"{external}[1]", f"{features}neutron.backend", "spec.nodes") == [
        "left out",
    ] * 4  # fmt: skip
    assert fates(stack, f"{features}logging.heat.level", f"{features}logging.cinder.level", "spec.draft") == [
        "same", "left out", "same",
    ]  # fmt: skip
    nova = "spec.services.compute.nova.values.pod.replicas"
    assert fates(stack, f"{nova}.osapi", f"{nova}.scheduler", "spec.made_up.a") == ["same", "left out", "unknown"]
    assert "nova-scheduler needs 9 instances" in lines(stack)[f"{nova}.scheduler"].text
    secret = lines(stack)["spec.services.identity.keystone.values.conf.keystone.ldap.password"]
    assert secret.fate == "left out"
    assert "hunter2" not in str(stack)


def test_a_network_that_lacks_a_part_is_left_out(tmp_path: Path) -> None:
    features: Any = {"neutron": {"floating_network": {"enabled": True, "subnet": {"range": "203.0.113.0/24"}}}}
    stack = deployment(tmp_path, features=features)
    key = "spec.features.neutron.floating_network"
    assert fates(stack, f"{key}.enabled", f"{key}.subnet.range") == ["becomes", "left out"]
    assert stack.settings["bootstrap"] == {}
    features["neutron"]["floating_network"]["enabled"] = False
    assert fates(deployment(tmp_path, features=features), key) == ["same"]


@pytest.mark.parametrize("size", ["single", "tiny", "small", "medium"])
def test_every_size_has_a_plan(size: str, tmp_path: Path) -> None:
    assert planned(deployment(tmp_path, size=size))


@pytest.mark.parametrize(
    ("form", "text", "words"),
    [
        ("kolla", "[control]\n", "has no host; write one on a line below its group"),
        ("kolla", "[compute]\na\n", "gives no server the role controller; put the hosts of the control plane below"),
        ("kolla", "[control]\na+b\n", "'a+b' cannot name a node"),
        ("kolla", "[control]\nA\na\n", "are both the server 'a'"),
        ("kolla", "[control]\na ansible_host=127.0.0.1\n", "is a loopback address"),
        ("kolla", "[control]\na ansible_host=10.0.0.1\nb ansible_host=10.0.0.1\n", "have one address, 10.0.0.1"),
        ("kubespray", "kube_control_plane: {hosts: {a: }}", "put a host below [kube_node]"),
        ("rockoon", "a: 1", "kind: is nothing; write OpenStackDeployment"),
        ("rockoon", "kind: OpenStackDeployment\nspec: []", "spec: is an empty list; write a mapping"),
        ("rockoon", "kind: OpenStackDeployment\nspec: {size: huge}", "write one of single, tiny, small, medium"),
    ],
)
def test_a_file_of_which_no_stack_is_made(form: ImportFormat, text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidStackError) as caught:
        imported(form, text, tmp_path)
    assert words in str(caught.value)


def test_all_problems_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidStackError) as caught:
        imported("kolla", "[control]\na+b\nB\nb\n", tmp_path)
    assert len(caught.value.problems) == 2


def test_variables_of_groups_and_values_that_differ(tmp_path: Path) -> None:
    text = "[control]\na\nb ansible_port=2200\n[all:vars]\nansible_port=22\n[control:vars]\nansible_port=2222\n"
    stack = imported("kolla", text, tmp_path)
    assert "these differ" in lines(stack)["ansible_port ([all:vars], [control:vars], b)"].text
    assert imported("kolla", text.replace("2200", "2222"), tmp_path).settings["ssh"] == {"port": 2222}


def test_a_value_of_one_server_is_not_one_of_all(tmp_path: Path) -> None:
    text = "[control]\na neutron_external_interface=ens8\nb neutron_external_interface=ens8\n"
    assert imported("kolla", text, tmp_path).settings["networks"] == {"physical": {"physnet1": {"interface": "ens8"}}}
    stack = imported("kolla", f"{text}c\n", tmp_path)
    assert "networks" not in stack.settings
    assert stack.settings["nodes"] == {name: {"interfaces": {"physnet1": "ens8"}} for name in ("a", "b")}


def test_a_host_that_is_named_by_its_address(tmp_path: Path) -> None:
    assert servers(imported("kolla", "[control]\n10.0.0.5\n", tmp_path))["10.0.0.5"][0] == "10.0.0.5"


def test_counts_for_which_there_are_too_few_servers_are_left_out_alone(tmp_path: Path) -> None:
    """The problem is that of the servers: mysqld on five of seven nodes leaves too few to RabbitMQ."""
    stack = imported("kolla", "[control]\nctl[1:7] ansible_user=kolla\n[mariadb]\nctl[1:5]\n", tmp_path)
    assert "dedicates 8 nodes" in lines(stack)["[mariadb]"].text
    assert (stack.settings["ssh"], "services" in stack.settings) == ({"user": "kolla"}, False)


def test_a_value_that_the_stack_refuses_is_left_out(tmp_path: Path) -> None:
    stack = imported("kolla", "[control]\na ansible_user=UPPER neutron_external_interface=eth1,eth2\n", tmp_path)
    assert set(stack.settings) == {"profile", "servers"}
    assert lines(stack)["ansible_user (a)"].text.startswith("the stack refuses quorate:ssh.user: ")


def test_many_refused_options_are_left_out_at_once(tmp_path: Path) -> None:
    """The problems of a stack merge similar ones, so that each round of checks names few."""
    conf = {"nova": {"DEFAULT": {f"made_up_{number}": number for number in range(300)}}}
    stack = deployment(tmp_path, services={"compute": {"nova": {"values": {"conf": conf}}}})
    assert fates(stack, "spec.services.compute.nova.values.conf.nova.DEFAULT.made_up_299") == ["left out"]
    assert stack.settings["region"] == "North"
    assert planned(stack)


WORDS = st.sampled_from(
    ["a", "compute", "conf", "enabled", "features", "level", "neutron", "nova", "services", "values"]
)
SCALARS = st.none() | st.booleans() | st.integers(-9, 99) | WORDS
TREES = st.recursive(SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(WORDS, below, max_size=4))


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(WORDS, TREES, max_size=4), st.dictionaries(WORDS, TREES, max_size=4))
def test_no_key_is_dropped(features: Mapping[str, object], more: Mapping[str, object]) -> None:
    """Each key has a line of the report, or a key above it, or one below it, has one."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - hypothesis runs a test often, with one tmp_path

    with TemporaryDirectory() as folder:
        stack = deployment(Path(folder), features=features, **{f"x{key}": value for key, value in more.items()})
    found = [line.key for line in stack.lines]
    for key in _keys(("spec", "features"), features):
        assert any(
            line == key or line.startswith((f"{key}.", f"{key}[")) or key.startswith(f"{line}.") for line in found
        )


def _keys(path: tuple[str, ...], value: object) -> list[str]:
    if isinstance(value, dict):
        below: dict[str, object] = value  # pyright: ignore[reportUnknownVariableType]
        return [".".join(path), *(key for name, each in below.items() for key in _keys((*path, name), each))]
    return [".".join(path)]
