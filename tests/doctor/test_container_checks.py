"""What doctor finds in the versions and the configuration of a node's containerd, kubelet and network."""

from __future__ import annotations

from typing import Any

import pytest

from doctor import checks
from tests.doctor.test_checks import ETCD, MASTER, WORKER, problems, reading
from tests.stacks import full_size, parsed

CRI = 'plugins."io.containerd.grpc.v1.cri"'


def config(*, disabled: str = "[]", directory: str = '"/opt/cni/bin"', systemd: str = "true", image: str) -> list[str]:
    """What `containerd config dump` prints of containerd 1, as far as doctor reads it."""
    return [
        f"disabled_plugins = {disabled}",
        f"[{CRI}]",
        f'sandbox_image = "{image}"',
        f"[{CRI}.cni]",
        f"bin_dir = {directory}",
        f"[{CRI}.containerd]",
        'default_runtime_name = "runc"',
        f"[{CRI}.containerd.runtimes.runc.options]",
        f"SystemdCgroup = {systemd}",
    ]


SECOND = [
    "version = 3",
    "[plugins.'io.containerd.cri.v1.images'.pinned_images]",
    "sandbox = 'registry.k8s.io/pause:3.10.2'",
    "[plugins.'io.containerd.cri.v1.runtime'.cni]",
    "bin_dirs = ['/usr/libexec/cni', '/opt/cni/bin']",
    "[plugins.'io.containerd.cri.v1.runtime'.containerd]",
    "default_runtime_name = 'crun'",
    "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.crun.options]",
    "SystemdCgroup = true",
]
"""The same of containerd 2, with another runtime."""
PAUSE = "registry.k8s.io/pause:3.10.2"


@pytest.mark.parametrize(
    ("changed", "check", "problem"),
    [
        ({"kubelet-version": ["v1.36.9"]}, "versions", "its kubelet is 1.36.9, not 1.37.2"),
        ({"kubeadm-version": ["v1.37.1"]}, "versions", "its kubeadm is 1.37.1, not 1.37.2"),
        ({"kubectl-version": ["v1.35.0"]}, "versions", "its kubectl is 1.35.0, not 1.37.2"),
        ({"containerd-version": ["v1.5.9"]}, "versions", "its containerd is v1.5.9"),
        (
            {"containerd-config": config(disabled='["cri"]', image=PAUSE)},
            "containerd",
            "containerd does not serve kubelet: cri is disabled",
        ),
        (
            {"containerd-config": config(systemd="false", image=PAUSE)},
            "containerd",
            "containerd makes cgroups without systemd (SystemdCgroup is not true), unlike kubelet",
        ),
        (
            {"containerd-config": config(directory='"/usr/lib/cni"', image=PAUSE)},
            "containerd",
            "containerd looks for network plugins in /usr/lib/cni, not in /opt/cni/bin",
        ),
        (
            {"containerd-config": config(image="registry.k8s.io/pause:3.6")},
            "containerd",
            f"containerd's sandbox image is registry.k8s.io/pause:3.6, kubeadm's is {PAUSE}",
        ),
        ({"containerd-config": ["= x"]}, "containerd", "containerd's configuration cannot be read"),
        ({"forwarding": ["0"]}, "forwarding", "it does not forward packets (net.ipv4.ip_forward is 0)"),
        (
            {"nameserver": ["127.0.0.53"]},
            "resolver",
            "its name server is 127.0.0.53, at which pods find themselves (CoreDNS ends: Loop)",
        ),
    ],
)
def test_what_no_node_can_work_with_is_named(changed: dict[str, list[str]], check: str, problem: str) -> None:
    for node in (MASTER, WORKER):
        listens: dict[str, list[str]] = {} if node == MASTER else {"listens": []}
        assert (check, problem) in problems(node, reading(**changed, **listens))


def test_a_machine_of_etcd_runs_no_containers() -> None:
    other = reading(containerd_config=["= x"], forwarding=["0"], nameserver=["127.0.0.1"], kubectl_version=["v1.20.0"])
    assert [check for check, _ in problems(ETCD, other)] == []


def test_the_second_containerd_is_read_too() -> None:
    sound = reading(containerd_config=SECOND, containerd_version=["v2.1.4"])
    assert problems(MASTER, sound) == []
    without = [line.replace("true", "false").replace(", '/opt/cni/bin'", "") for line in SECOND]
    assert len(problems(MASTER, reading(containerd_config=without))) == 2


def test_nodes_of_a_running_cluster_keep_its_version_and_other_plugins_their_directory() -> None:
    older: dict[str, Any] = {"kubelet_version": ["v1.33.1"], "kubeadm_version": ["v1.33.1"]}
    assert problems(MASTER, reading(**older), machines="existing") == []
    elsewhere = reading(containerd_config=config(directory='"/usr/lib/cni"', image=PAUSE))
    assert problems(MASTER, elsewhere, cni="none") == []


def test_each_problem_has_a_command_that_keeps_the_rest_of_the_file() -> None:
    wrong = reading(containerd_config=config(systemd="false", directory='"/usr/lib/cni"', image="k8s.gcr.io/pause:3.5"))
    found = [each.remedy for each in checks.of_machine(MASTER, wrong, parsed(full_size("100")), has_member=True)]
    assert [each.partition("/^imports/d;")[2].partition("'")[0] for each in found] == [
        "s/SystemdCgroup = false/SystemdCgroup = true/",
        "s|/usr/lib/cni|/opt/cni/bin|",
        f"s|k8s.gcr.io/pause:3.5|{PAUSE}|",
    ]
