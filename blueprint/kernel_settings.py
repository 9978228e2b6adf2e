"""Kernel settings of a node: which, and how large by the node's size. Steps set them, and `doctor` compares them."""

from __future__ import annotations

from collections.abc import Mapping

MODULES = ("br_netfilter", "nf_conntrack", "overlay")
"""Kernel modules of a node: pods' bridges, connection tracking (whose limit is set below), containerd's snapshots."""

FORWARDING = "net.ipv4.ip_forward"
CONNECTIONS_LIMIT = "net.netfilter.nf_conntrack_max"

CONNECTIONS_A_CORE = 32 * 1024
"""Tracked connections for each core: kube-proxy's default, conntrack.maxPerCore."""
CONNECTIONS = 256 * 1024
"""Tracked connections at least: the kernel's own limit with more than 4 GiB of memory (nf_conntrack_init_start), twice
kube-proxy's minimum. kube-proxy raises the limit only."""
INSTANCES = 8192
"""inotify instances of a user, which is root for all containers. With cgroup v2, containerd's shim needs one for each
container; the kernel's 128 end at a node's first 100 containers. Project figure, which many public set-ups of nodes
have: 74 for each of the 110 pods that kubelet admits."""
WATCHES = 1024 * 1024
"""inotify watches of a user: the largest limit that the kernel chooses by memory (fs/notify/inotify/inotify_user.c).
Log collectors watch every file of every container."""


def kernel_settings(cores: int) -> Mapping[str, int]:
    """Returns the least value of each sysctl of a Kubernetes node. `cores`: of the node."""
    return {
        FORWARDING: 1,
        "fs.inotify.max_user_instances": INSTANCES,
        "fs.inotify.max_user_watches": WATCHES,
        CONNECTIONS_LIMIT: max(CONNECTIONS, CONNECTIONS_A_CORE * cores),
    }
