"""Which files and steps prepare a machine, by what it is and what the stack says."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from components import machine_files, preparation
from components.machine import filled, variables
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.components.preparation.certificate import certificate
from tests.stacks import full_size, parsed, server

DIGEST = "0" * 64
ARCHIVES = {
    name: {"url": f"https://site.example/{name}", "sha256": DIGEST}
    for name in ("etcd", "kubeadm", "kubectl", "kubelet")
}
CONTAINERD = "/etc/containerd/config.toml"
UNIT = "/etc/systemd/system/kubelet.service"


def made(prepare: Any, **changes: Any) -> Plan:
    return plan(parsed(full_size("100", prepare=prepare, **changes)))


def machine(of: Plan, name: str) -> Node:
    return next(each for each in of.machines if each.name == name)


def files(of: Plan, name: str) -> dict[str, str]:
    node = machine(of, name)
    return filled(preparation.parts(of, node, CERTIFICATES.keyring), variables(node))


def steps(of: Plan, name: str) -> list[str]:
    parts = machine_files.parts(of, machine(of, name), CERTIFICATES)
    return [step.name for step in parts.ordered_steps()]


def values(of: Plan, name: str) -> dict[str, str]:
    lines = files(of, name)["/etc/quorate/prepare.env"].splitlines()
    return {key: value.strip("'") for key, _, value in (line.partition("=") for line in lines)}


def test_nothing_is_prepared_unless_the_stack_says_so() -> None:
    assert plan(parsed(full_size("100"))).settings.prepare.is_done is False
    for name in ("master1", "cmp1"):
        assert files(made("none"), name) == {}
        assert not [step for step in steps(made("none"), name) if step.startswith("prepare-")]


@pytest.mark.parametrize("name", ["master1", "ctl01", "cmp1"])
def test_preparation_precedes_all_other_steps(name: str) -> None:
    found = steps(made("packages"), name)
    assert found[:6] == [
        f"prepare-{part}" for part in ("packages", "programs", "kernel", "swap", "clock", "containerd")
    ]
    assert not [step for step in found[6:] if step.startswith("prepare-")]


def test_a_machine_of_etcd_gets_what_its_member_needs() -> None:
    servers = [
        *full_size("100")["servers"],
        server("etcd[1-3]", ["etcd"], "10.20.0.101", rack="r[1-3]"),
    ]
    of = made("packages", servers=servers)
    assert steps(of, "etcd1")[:3] == ["prepare-packages", "prepare-programs", "prepare-clock"]
    assert (values(of, "etcd1")["PROGRAMS"], values(of, "etcd1")["HAS_MEMBER"]) == ("kubectl", "yes")
    assert "containerd" not in files(of, "etcd1")["/etc/quorate/distributions"]
    assert values(of, "master1")["HAS_MEMBER"] == "", "its member is elsewhere"
    assert files(of, "master1").keys() >= {CONTAINERD, "/etc/sysctl.d/90-quorate.conf"}
    assert files(of, "etcd1").keys().isdisjoint({CONTAINERD, "/etc/sysctl.d/90-quorate.conf"})


def test_containerd_is_configured_as_kubelet_and_calico_assume() -> None:
    of = made(
        {
            "programs": "packages",
            "registries": {"registry.k8s.io": "https://mirror.example/k8s", "quay.io:8443": "http://10.20.0.5:5000"},
        },
        kubernetes="1.35.4",
    )
    found = files(of, "cmp1")
    cri = tomllib.loads(found[CONTAINERD])["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["containerd"]["runtimes"]["runc"]["options"] == {"SystemdCgroup": True}
    assert cri["cni"]["bin_dir"] == "/opt/cni/bin"
    assert cri["sandbox_image"] == "registry.k8s.io/pause:3.10.1"
    hosts = {
        path: tomllib.loads(text) for path, text in found.items() if path.startswith(cri["registry"]["config_path"])
    }
    assert hosts == {
        f"/etc/containerd/certs.d/{directory}/hosts.toml": {
            "server": mirror,
            "override_path": True,
            "host": {mirror: {"capabilities": ["pull", "resolve"], "override_path": True}},
        }
        for directory, mirror in (
            ("registry.k8s.io", "https://mirror.example/v2/k8s"),
            ("quay.io_8443_", "http://10.20.0.5:5000/v2"),
        )
    }


def test_kernel_settings_follow_the_nodes_size() -> None:
    big = [server("cmp[1-3]", ["compute"], "10.20.4.1", cpu=96)]
    of = made("packages", servers=[*full_size("100")["servers"][:3], *big])
    lines = {name: files(of, name)["/etc/sysctl.d/90-quorate.conf"].splitlines() for name in ("master1", "cmp1")}
    # kube-proxy's default: 32768 connections for each core.
    assert "net.netfilter.nf_conntrack_max=3145728" in lines["cmp1"]
    assert "net.netfilter.nf_conntrack_max=786432" in lines["master1"]
    assert "net.ipv4.ip_forward=1" in lines["master1"]


def test_packages_are_of_the_version_and_etcd_is_pinned() -> None:
    of = made("packages", kubernetes="1.36.3")
    assert values(of, "master1")["REPOSITORY"] == "https://pkgs.k8s.io/core:/stable:/v1.36/deb"
    assert values(of, "master1")["KUBERNETES"] == "1.36.3"
    assert [line.split()[0] for line in files(of, "master1")["/etc/quorate/archives"].splitlines()] == [
        "etcd-x86_64",
        "etcd-aarch64",
    ]
    own = made({"programs": "packages", "archives": {"etcd": ARCHIVES["etcd"]}})
    assert files(own, "master1")["/etc/quorate/archives"] == f"etcd {DIGEST} https://site.example/etcd\n"
    assert UNIT not in files(of, "master1"), "the package has it"


def test_archives_name_nothing_outside_of_the_stack() -> None:
    of = made({"programs": "archives", "archives": ARCHIVES})
    found = files(of, "master1")
    assert values(of, "master1")["REPOSITORY"] == ""
    assert found["/etc/quorate/archives"] == "".join(
        f"{name} {DIGEST} https://site.example/{name}\n" for name in sorted(ARCHIVES)
    )
    assert "ConditionPathExists=/var/lib/kubelet/config.yaml" in found[UNIT]


def test_a_proxy_is_for_addresses_outside() -> None:
    found = files(made({"programs": "packages", "proxy": "http://proxy.example:3128"}), "cmp1")
    assert 'Acquire::https::Proxy "http://proxy.example:3128";' in found["/etc/apt/apt.conf.d/90quorate-proxy"]
    drop_in = found["/etc/systemd/system/containerd.service.d/proxy.conf"]
    assert '"HTTPS_PROXY=http://proxy.example:3128"' in drop_in
    assert "172.16.0.0/13,172.24.0.0/16,.svc,.cluster.local" in drop_in


def test_what_the_site_reaches_by_itself_is_not_asked_of_the_proxy() -> None:
    wanted = {"programs": "packages", "proxy": "http://proxy.example:3128", "direct": [".site.example", "10.0.0.0/8"]}
    of = made(wanted, networks={"management": "10.20.0.0/16"})
    networks = "10.20.0.0/16,172.16.0.0/13,172.24.0.0/16"
    expected = f"localhost,127.0.0.1,{networks},.svc,.cluster.local,.site.example,10.0.0.0/8"
    assert f'"NO_PROXY={expected}"' in files(of, "cmp1")["/etc/systemd/system/containerd.service.d/proxy.conf"]
    assert values(of, "cmp1")["DIRECT"] == expected


@pytest.mark.parametrize("name", ["master1", "cmp1"])
def test_the_sites_authorities_are_trusted_before_anything_is_downloaded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = certificate("first"), certificate("second")
    (tmp_path / "one.pem").write_text(f"subject=first\n{first}\nissuer=x\n{second}")
    (tmp_path / "two.pem").write_text(first)
    of = made({"programs": "packages", "authorities": ["one.pem", "two.pem"]})
    found = {path: text for path, text in files(of, name).items() if path.startswith("/etc/quorate/authorities/")}
    assert sorted(found.values()) == sorted([first, second])
    assert steps(of, name)[:3] == ["prepare-packages", "prepare-authorities", "prepare-programs"]
    other = made({"programs": "packages", "authorities": ["two.pem", "one.pem"]})
    assert files(other, name) == files(of, name)


def test_a_system_container_keeps_its_hosts_kernel_swap_and_clock() -> None:
    vm = {"id": 0, "name": "vm1", "cpu": 4, "ram": 8, "address": "10.20.9.20", "roles": ["compute"]}
    host = server("v1", ["virt"], "10.20.9.9", hypervisor="lxc", vms=[vm])
    of = made("packages", servers=[*full_size("100")["servers"], host], features=["reduced-footprint"])
    found = steps(of, "vm1")
    assert [step for step in found if step.startswith("prepare-")] == [
        "prepare-packages",
        "prepare-programs",
        "prepare-containerd",
    ]
