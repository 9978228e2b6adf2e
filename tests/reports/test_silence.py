"""Reports about settings that were accepted and had no effect, or were refused for the wrong reason."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.problems import InvalidStackError
from cluster.api import Api, Unreachable
from cluster.kubeconfig import Access, ServerProxy, read_kubeconfig
from console.errors import UserError
from contract import MACHINE
from openstack import configuration, node_values
from openstack.config.wiring import ENVIRONMENT, wiring
from tests.reports.stacks import objects, planned, setting
from tests.stacks import server


def node(options: dict[str, Any], service: str) -> str:
    """The file with a service's options on one compute."""
    made = planned(nodes={"host1": {"services": {service: {"options": options}}}})
    files = configuration.of_service(made, service)
    names = [each.name for each in made.nodes]
    return node_values.texts(files, wiring(made, ENVIRONMENT), made.settings, service, names)["host1.conf"]


def test_a_network_for_tunnels_takes_effect_on_a_node_and_is_refused_for_all() -> None:
    tunnel = {"openvswitch_agent.ini": {"ovs": {"local_ip": "10.40.0.51"}}}
    assert "[ovs]\nlocal_ip = 10.40.0.51" in node(tunnel, "neutron-l2-agent")
    with pytest.raises(
        InvalidStackError, match=r"local_ip: has no effect on neutron-l2-agent.*write it under quorate:"
    ):
        planned(services={"neutron-l2-agent": {"options": tunnel}})


def test_calico_has_the_addresses_that_the_stack_file_has_and_no_tunnels() -> None:
    """`first-found` skips br-mgmt of virt hosts; packets from tunnels would meet no rule of a NetworkPolicy."""
    path = "/etc/kubernetes/calico/changes.yaml"
    machines = [each.inputs.get("files", {}) for each in objects(planned()) if each.type == MACHINE]
    texts = [files[path] for files in machines if path in files]
    assert texts
    for text in texts:
        (changed,) = (each for each in yaml.safe_load_all(text) if each["metadata"]["name"] == "calico-node")
        (container,) = changed["spec"]["template"]["spec"]["containers"]
        values = {each["name"]: each.get("value") for each in container["env"]}
        assert values["IP_AUTODETECTION_METHOD"] == "kubernetes-internal-ip"
        assert (values["CALICO_IPV4POOL_IPIP"], values["CALICO_IPV4POOL_VXLAN"]) == ("Never", "Never")


def test_a_compute_keeps_what_runs_beside_tenants() -> None:
    """Nova reported all but 512 MiB of a virt host, where the control plane's machines held 48 GiB."""
    guests: list[dict[str, Any]] = [
        {"id": 0, "name": "kube[1-3]", "cpu": 4, "ram": 8, "address": "10.30.0.61", "roles": ["master"]},
        {"id": 1, "name": "queue[1-3]", "cpu": 8, "ram": 16, "address": "10.30.0.71", "roles": ["controller"]},
        {"id": 2, "name": "data[1-3]", "cpu": 8, "ram": 16, "address": "10.30.0.81", "roles": ["controller"]},
        {"id": 3, "name": "osd[1-3]", "cpu": 4, "ram": 8, "disk": 200, "address": "10.30.0.91", "roles": ["storage"]},
    ]
    servers = [server("iron[1-3]", ["virt", "compute"], "10.30.0.11", cpu=32, memory=128, vms=guests)]
    made = planned(features=["reduced-footprint"], servers=servers)
    kept = setting(made, "nova-compute", "nova.conf", "DEFAULT", "reserved_host_memory_mb")
    assert kept is not None
    assert 52 * 1024 < int(str(kept.value)) < 60 * 1024
    cores = setting(made, "nova-compute", "nova.conf", "DEFAULT", "reserved_host_cpus")
    assert cores is not None
    assert 24 < int(str(cores.value)) < 30


def test_names_and_ranges_of_real_clouds() -> None:
    external = {"physicalNetwork": "physnet1", "vlan": 2101, "network": "203.0.113.0/24", "gateway": "203.0.113.1"}
    made = planned(
        networks={"physical": {"physnet1": {"interface": "bond0.100", "vlans": "200:250,251:300"}}},
        ssh={"user": "jane.doe"},
        bootstrap={
            "networks": {"external": external | {"pool": {"start": "203.0.113.10", "end": "203.0.113.250"}}},
            "flavors": [
                {"name": "SCS-4V:16:100", "id": "1", "ram": 16384, "disk": 100, "vcpus": 4}
                | {"ephemeral": 10, "public": False, "extraSpecs": {"hw:cpu_policy": "shared"}}
            ],
        },
    )
    ranges = setting(made, "neutron-server", "ml2_conf.ini", "ml2_type_vlan", "network_vlan_ranges")
    assert ranges is not None
    assert ranges.value == ("physnet1:200:250", "physnet1:251:300")
    with pytest.raises(InvalidStackError, match="does not fit; write ranges of VLAN IDs such as 1001:1030 or") as said:
        planned(networks={"physical": {"physnet1": {"interface": "bond0", "vlans": "200-250"}}})
    assert "^[" not in str(said.value)


def test_a_topology_with_etcd_is_read_and_its_images_have_a_store(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    document = {
        "nodes": {"n[1-3]": {"roles": ["all"]}},
        "services": {"database": {"service_def": "galera"}, "rpc": {"service_def": "rabbitmq"}},
        "roles": {"all": ["etcd", "database", "rpc", "memcached", "keystone", "glance-api", "glance-registry"]},
    }
    (tmp_path / "ccp.yaml").write_text(yaml.safe_dump(document))
    nodes = server("n[1-3]", [], "10.30.0.21", cpu=16, memory=64)
    masters = server("control[1-3]", ["master"], "10.30.0.11", cpu=8, memory=16)
    made = planned(topology="ccp.yaml", servers=[nodes, masters])
    assert any("etcd" in each for each in made.warnings)
    assert any("glance-api keeps images in the file system of its pod" in each for each in made.warnings)
    assert not any("the Ceph cluster has no OSD" in each for each in made.warnings)
    stores = setting(made, "glance-api", "glance-api.conf", "DEFAULT", "enabled_backends")
    place = setting(made, "glance-api", "glance-api.conf", "files", "filesystem_store_datadir")
    assert (stores and stores.value, place and place.value) == (("files:file",), "/var/lib/glance/images")
    assert setting(made, "glance-api", "glance-api.conf", "ceph", "rbd_store_pool") is None


def test_no_key_of_a_kubeconfig_is_ignored(tmp_path: Path) -> None:
    cluster = {"proxy-url": "http://127.0.0.1:13128", "tls-server-name": "k8s.example.org"}
    document: dict[str, object] = {
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:16443", **cluster}}],
        "users": [{"name": "u", "user": {"token": "t", "as": "viewer"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document))
    access = read_kubeconfig(path, context="c")
    assert (access.proxy, access.server_name) == (ServerProxy("http", "127.0.0.1", 13128), "k8s.example.org")
    assert access.impersonation == (("Impersonate-User", "viewer"),)
    document["users"] = [{"name": "u", "user": {"auth-provider": {"name": "gcp"}}}]
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(UserError, match="auth-provider would be ignored"):
        read_kubeconfig(path, context="c")


def test_a_credential_plugin_is_found_beside_its_kubeconfig(tmp_path: Path) -> None:
    plugin = tmp_path / "login.sh"
    answer = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"abc"}}'
    plugin.write_text(f"#!/bin/sh\necho '{answer}'\n")
    plugin.chmod(0o755)
    ask = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login.sh", "interactiveMode": "Never"}
    cluster = {"server": "https://127.0.0.1:16443", "insecure-skip-tls-verify": True}
    document = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"exec": ask}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document))
    assert read_kubeconfig(path, context="c").headers["Authorization"] == "Bearer abc"
    plugin.unlink()
    ask["installHint"] = "install it\nfrom tools.example.org"
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(UserError) as refused:
        read_kubeconfig(path, context="c")
    missing = "credential plugin './login.sh' cannot be run: no such file or directory"
    assert str(refused.value) == f"{path}: {missing}; its kubeconfig says: install it from tools.example.org"


def test_a_server_that_refuses_is_named_by_its_address_and_without_numbers() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    access = Access("127.0.0.1", port, "", ssl.create_default_context(), {})
    with pytest.raises(Unreachable) as refused:
        Api(access).items("/api/v1/nodes")
    assert str(refused.value) == f"GET /api/v1/nodes: Connection refused (127.0.0.1:{port})"
