"""Hosts of an inventory become servers, with the roles of their groups and labels, an address and a rack."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.imports import ImportLine, ReadFile, import_file
from blueprint.problems import InvalidStackError

HOSTS = """
[all]
ctl_1 ip=10.0.0.11 ansible_host=192.0.2.11
cmp1 access_ip=10.0.0.21
cmp2
proxy ansible_host=10.0.0.31
[kube_control_plane]
ctl_1
[kube_node]
cmp1
cmp2
[all:vars]
ansible_user=deploy
"""
LABELS = """
[kube_node:vars]
node_labels={'openstack-compute-node': 'enabled', 'topology.kubernetes.io/zone': 'r1', 'tier': 'x'}
[kube_control_plane:vars]
node_labels={'openstack-control-plane': 'enabled'}
"""


def imported(folder: Path, text: str) -> ReadFile:
    (folder / "hosts").write_text(text, encoding="utf-8")
    return import_file("kubespray", folder / "hosts")


def test_groups_and_labels_give_roles(tmp_path: Path) -> None:
    """A host without a role is not a server."""
    read = imported(tmp_path, HOSTS + LABELS)
    servers = {each["name"]: (each["roles"], each["address"], each.get("rack")) for each in read.servers}
    assert servers == {
        "ctl-1": (["master", "controller"], "10.0.0.11", None),
        "cmp1": (["compute"], "10.0.0.21", "r1"),
        "cmp2": (["compute"], "198.18.0.1", "r1"),
    }
    assert ImportLine("cmp1, cmp2", "becomes", "2 servers with roles: compute") in read.lines
    named = "the server ctl-1: names are in small letters, with - for _"
    assert ImportLine("ctl_1", "becomes", named) in read.lines
    fates = {line.key: line.fate for line in read.lines}
    assert fates["proxy"] == "left out"
    assert fates["ansible_host (ctl_1)"] == "left out"
    assert fates["address (cmp2)"] == "placeholder"
    assert fates["node_labels tier=x (cmp1, cmp2)"] == "same"


def test_workers_without_a_label_have_both_roles_and_masters_are_placeholders(tmp_path: Path) -> None:
    read = imported(tmp_path, "[kube_node]\nn1 ip=10.0.0.1\nn2\n")
    servers = {each["name"]: (each["roles"], each["address"]) for each in read.servers}
    assert servers == {
        "master1": (["master"], "198.18.0.1"),
        "master2": (["master"], "198.18.0.2"),
        "master3": (["master"], "198.18.0.3"),
        "n1": (["controller", "compute"], "10.0.0.1"),
        "n2": (["controller", "compute"], "198.18.0.4"),
    }
    assert "masters" in {line.key for line in read.lines}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[kube_node]\n", "hosts: has no host; write one on a line below its group"),
        ("[kube_control_plane]\nm1\n", "hosts: gives no server the role controller; put a host below [kube_node], or"),
        ("[kube_node]\na_1\nA-1\n", "hosts a_1, A-1: are both the server 'a-1', in small letters and with - for _;"),
    ],
)
def test_an_inventory_without_usable_servers_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidStackError) as caught:
        imported(tmp_path, text)
    (found,) = caught.value.problems
    assert str(found).startswith(f"{tmp_path}/{problem}")
