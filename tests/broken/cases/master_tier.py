"""Broken stacks of the master tier: masters, etcd on machines, and the proxies to the API servers."""

from __future__ import annotations

from collections.abc import Callable

from tests.broken.broken import Broken, Props, on_server


def in_file(path: str, old: str, new: str) -> Callable[[Props], None]:
    """Returns a change that replaces a text in a machine's file."""

    def break_(props: Props) -> None:
        assert old in props["files"][path], f"{old} is not in {path}"
        props["files"][path] = props["files"][path].replace(old, new)

    return break_


def without_file(path: str) -> Callable[[Props], None]:
    """Returns a change that removes a file of a machine."""

    def break_(props: Props) -> None:
        del props["files"][path]

    return break_


MASTER1, CONTROLLER = "cloud-masters-master1", "cloud-ctl01"

CASES = [
    Broken(
        "two masters on one server",
        (("Machine", "cloud-masters-master2", on_server("master1")),),
        {"masters-apart": {"cloud-masters", "cloud-masters-etcd"}, "quorum-survives-host": {"cloud-masters-etcd"}},
    ),
    Broken(
        "a member of etcd with a list of its own",
        (("Machine", "cloud-masters-master3", in_file("/etc/etcd/member.env", "master1=https", "master9=https")),),
        {"etcd-members-agree": {"cloud-masters-etcd"}},
    ),
    Broken(
        "a member of etcd that starts a cluster of its own",
        (
            (
                "Machine",
                "cloud-masters-master1",
                in_file("/etc/etcd/etcd.env", "ETCD_DATA_DIR=", "ETCD_FORCE_NEW_CLUSTER=true\nETCD_DATA_DIR="),
            ),
        ),
        {"etcd-settings-keep-quorum": {"cloud-masters-etcd"}},
    ),
    Broken(
        "a member of etcd without a backup",
        (("Machine", "cloud-masters-master2", without_file("/etc/systemd/system/etcd-backup.timer")),),
        {"etcd-is-backed-up": {"cloud-masters-etcd"}},
    ),
    Broken(
        "a proxy that cuts watches after 3 seconds",
        (
            (
                "Machine",
                CONTROLLER,
                in_file("/etc/kubernetes/api-proxy/nginx.conf", "proxy_timeout 10m", "proxy_timeout 3s"),
            ),
        ),
        {"api-proxy-timeout": {CONTROLLER}},
    ),
    Broken(
        "computes that know two of three masters",
        (
            (
                "MachinePool",
                "cloud-compute-24c-256g",
                in_file("/etc/kubernetes/api-proxy/nginx.conf", "server 10.20.0.13:6443", "# 10.20.0.13"),
            ),
        ),
        {"api-proxy-knows-all-masters": {"cloud-compute-24c-256g"}},
    ),
    Broken(
        "schedulers without a leader",
        (("Machine", MASTER1, in_file("/etc/kubernetes/kubeadm.yaml", "value: 'true'", "value: 'false'")),),
        {"leader-election": {MASTER1}},
    ),
    Broken(
        "a proxy outside of kube-system",
        (
            (
                "Machine",
                CONTROLLER,
                in_file("/etc/kubernetes/manifests/api-proxy.yaml", "namespace: kube-system", "namespace: default"),
            ),
        ),
        {"control-plane-namespace": {CONTROLLER}},
    ),
    Broken(
        "a proxy that may write to its host",
        (
            (
                "Machine",
                CONTROLLER,
                in_file("/etc/kubernetes/manifests/api-proxy.yaml", "readOnly: true", "readOnly: false"),
            ),
        ),
        {"certificates-read-only": {CONTROLLER}},
    ),
    Broken(
        "API servers with the default limit at 1000 nodes",
        (("Machine", MASTER1, in_file("/etc/kubernetes/kubeadm.yaml", "'2000'", "'400'")),),
        {"api-requests-in-flight": {MASTER1}},
        stack="ra1000",
    ),
    Broken(
        "kubeadm's own DNS at 1000 nodes",
        (("Machine", MASTER1, without_file("/etc/kubernetes/dns/coredns.yaml")),),
        {"dns-scale": {MASTER1}},
        stack="ra1000",
    ),
    Broken(
        "a full mesh of 1000 nodes",
        (
            (
                "Machine",
                MASTER1,
                in_file("/etc/kubernetes/calico/network.yaml", "MeshEnabled: false", "MeshEnabled: true"),
            ),
        ),
        {"route-reflectors": {MASTER1}},
        stack="ra1000",
    ),
    Broken(
        "a master that hides its host's name from its own files",
        (
            (
                "Machine",
                "cloud-masters-master2",
                in_file("/etc/kubernetes/kubeadm.yaml", "quorate.io/server=master2", "quorate.io/server=master1"),
            ),
        ),
        {"machine-facts-match-files": {"cloud-masters-master2"}},
    ),
    Broken(
        "a node whose taint is only a property",
        (
            (
                "Machine",
                CONTROLLER,
                in_file("/etc/kubernetes/patches/kubeletconfiguration.yaml", "NoSchedule", "PreferNoSchedule"),
            ),
        ),
        {"machine-facts-match-files": {CONTROLLER}},
    ),
    Broken(
        "computes without kubelet's configuration",
        (
            (
                "MachinePool",
                "cloud-compute-24c-256g",
                without_file("/etc/kubernetes/patches/kubeletconfiguration.yaml"),
            ),
        ),
        {"machine-has-its-files": {"cloud-compute-24c-256g"}},
    ),
    Broken(
        "a member without etcd's unit",
        (("Machine", "cloud-masters-master3", without_file("/etc/systemd/system/etcd.service")),),
        {"machine-has-its-files": {"cloud-masters-master3"}},
    ),
    Broken(
        "masters without the list of etcd's members",
        tuple(("Machine", f"cloud-masters-master{each}", without_file("/etc/etcd/member.env")) for each in (1, 2, 3)),
        {"etcd-members-agree": {"cloud-masters-etcd"}},
    ),
    Broken(
        "a member that looks for another at a wrong address",
        (
            (
                "Machine",
                "cloud-masters-master3",
                in_file("/etc/etcd/member.env", "master1=https://10", "master1=https://11"),
            ),
        ),
        {"etcd-members-agree": {"cloud-masters-etcd"}},
    ),
    Broken(
        "a master that joins as a worker",
        (
            (
                "Machine",
                "cloud-masters-master2",
                in_file("/etc/kubernetes/kubeadm.yaml", "controlPlane:", "workerPlane:"),
            ),
        ),
        {"machine-facts-match-files": {"cloud-masters-master2"}},
    ),
]
