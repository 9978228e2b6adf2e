"""The distributions that Quorate prepares: a table with the packages and the names in which they differ.

What is the same everywhere is in components/preparation. A distribution is one entry here, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A distribution with apt, by ID and VERSION_ID of its /etc/os-release."""

    node: Mapping[str, str]
    """Packages that a Kubernetes node needs, each with the program by which it is found. A program that is there
    already, such as containerd of another repository, is kept."""
    member: Mapping[str, str]
    """The same of a machine that has nothing but a member of etcd."""
    clock: str
    """Unit of chrony."""
    clock_file: str
    """File that chrony reads."""


_EVERY = {
    "ca-certificates": "update-ca-certificates",
    "chrony": "chronyd",
    "curl": "curl",
    "iproute2": "ip",
    "kmod": "modprobe",
    "openssl": "openssl",
    "procps": "sysctl",
}
_NODE = _EVERY | {
    "conntrack": "conntrack",
    "containerd": "containerd",
    "ethtool": "ethtool",
    "iptables": "iptables",
    "nftables": "nft",
    "runc": "runc",
}
"""What kubeadm's preflight checks demand, Calico's and kube-proxy's modes use, and `doctor` reads."""
_DEBIAN = Distribution(node=_NODE, member=_EVERY, clock="chrony.service", clock_file="/etc/chrony/chrony.conf")

DISTRIBUTIONS: Mapping[str, Distribution] = {"debian-12": _DEBIAN, "debian-13": _DEBIAN, "ubuntu-24.04": _DEBIAN}
