"""Recognizes quorum members on a machine by the names of their units, packages, ports and data directories.

Sources: the products' packages for Debian and Red Hat, and their documentation of ports and data directories.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from policy.shell.syntax import ASKED, UNKNOWN, Unreadable, is_known

_SOFTWARE = re.compile(
    r"(etcd|kubelet|containerd|docker|crio|cri-o|kube-(apiserver|scheduler|controller-manager|proxy)|k3s\S*|rke2\S*|"
    r"mariadb\S*|mysqld?|mysql-server|galera\S*|percona\S*|rabbitmq(-server)?|beam(\.smp)?|ceph(-(mon|osd|mgr|mds|radosgw))?|"
    r"opensearch|elasticsearch|influxdb|zookeeper|consul|vault|mongod|redis\S*|valkey\S*|patroni|postgresql\S*|"
    r"ovn-\S+|ovsdb-server|openvswitch\S*|corosync|pacemaker|nats-server|"
    r"libvirtd|virtqemud|nginx|haproxy|keepalived|networking|network|NetworkManager|systemd-networkd)"
)
_UNITS = (
    *("etcd", "kubelet", "containerd", "docker", "crio", "mariadb", "mysql", "mysqld", "galera", "percona"),
    *("rabbitmq-server", "ceph", "ceph-mon", "ceph-osd", "opensearch", "elasticsearch", "influxdb", "zookeeper"),
    *("consul", "vault", "mongod", "redis", "valkey", "patroni", "postgresql", "libvirtd", "nginx", "networking"),
    *("NetworkManager", "systemd-networkd"),
)
"""Names of units of quorum members, which patterns such as `etcd*` are matched with."""
_SUFFIX = re.compile(r"(@[^.]*)?(\.(service|target|socket|slice|scope))?$")
_PACKAGE = re.compile(
    r"(etcd(-server)?|kube(let|adm|-\S+)|kubernetes-cni|containerd(\.io)?|docker(-ce|\.io|-engine)?|cri-o\S*|"
    r"mariadb-server\S*|mysql-server\S*|galera\S*|percona-\S+|rabbitmq-server|erlang\S*|ceph(-(mon|osd|mgr|base))?|"
    r"opensearch|elasticsearch|influxdb\d?|zookeeper\S*|consul|mongodb-org\S*|libvirt-daemon\S*|qemu-kvm)"
)
_KUBERNETES = re.compile(r"etcd\S*|kube(let|adm|-\S+)")

PORTS = frozenset(
    {
        *(2379, 2380),  # etcd
        *(6443, 10250, 179),  # API server, kubelet, BGP
        *(3306, 4444, 4567, 4568),  # Galera
        *(4369, 5671, 5672, 25672),  # RabbitMQ
        *(3300, 6789),  # Ceph monitors
        *(9200, 9300),  # OpenSearch
        *(2181, 2888, 3888),  # ZooKeeper
        *(8300, 8301, 8201, 27017, 6379, 26379, 6641, 6642, 6643, 6644),  # Consul, Vault, MongoDB, Sentinel, OVN
    }
)
"""Peer and client ports of quorum members."""

DATA = (
    *("/var/lib/etcd", "/var/lib/mysql", "/var/lib/mariadb", "/var/lib/rabbitmq", "/var/lib/ceph", "/var/lib/kubelet"),
    *("/var/lib/containerd", "/var/lib/docker", "/var/lib/rancher", "/var/lib/opensearch", "/var/lib/elasticsearch"),
    *("/var/lib/influxdb", "/var/lib/influxdb2", "/var/lib/zookeeper", "/var/lib/consul", "/var/lib/vault"),
    *("/var/lib/mongodb", "/var/lib/mongo", "/var/lib/redis", "/var/lib/valkey", "/var/lib/postgresql"),
    *("/var/lib/prometheus", "/var/lib/ovn", "/var/lib/openvswitch", "/etc/openvswitch", "/var/lib/libvirt"),
    *("/etc/kubernetes", "/etc/etcd", "/etc/rabbitmq", "/etc/mysql", "/etc/ceph"),
)
"""Directories with the data, the identity or the static pods of quorum members."""
_NO_DATA = re.compile(r"/lost\+found(/\*)?$|\.(pid|sock|socket|lock)$|/\.erlang\.cookie$")
"""Matches files in a data directory that contain no data, such as PID files. A start script may delete them."""
_DISK = re.compile(r"/dev/(sd|vd|xvd|nvme|hd|md|dm-|mapper/|disk/|mmcblk|loop|rbd|zvol/)\S*|/dev/[\w-]+/[\w-]+")


def is_unit(name: str) -> bool:
    """Whether the systemd unit, init script or container `name` runs a quorum member, or software that members need.

    Raises Unreadable if the name is not known.
    """
    if not is_known(name):
        raise Unreadable("the unit that it stops is not known")
    bare = _SUFFIX.sub("", name)
    if any(char in bare for char in "*?["):
        return any(fnmatchcase(unit, bare) for unit in _UNITS)
    return bool(_SOFTWARE.fullmatch(bare))


def is_container(name: str) -> bool:
    """Whether the name of a container or process contains the name of a quorum member's software.

    Raises Unreadable if the name is not known.
    """
    if not is_known(name):
        raise Unreadable("the container or process that it stops is not known")
    bare = name.rpartition("/")[2]
    return is_unit(bare) or any(is_unit(part) for part in re.split(r"[_.:]|-\d|-(?=[a-z]+\d*$)", bare) if part)


def is_package(name: str) -> bool:
    """Whether a package, with or without a version, installs a quorum member. Clients and tools do not count."""
    return bool(_PACKAGE.fullmatch(re.split(r"[=<>]|-\d|_\d", name.rpartition("/")[2], maxsplit=1)[0]))


def is_kubernetes(name: str) -> bool:
    """Whether the package `name` belongs to Kubernetes or etcd."""
    return is_package(name) and bool(_KUBERNETES.match(name.rpartition("/")[2]))


def is_disk(path: str) -> bool:
    """Whether a path is a block device."""
    return bool(_DISK.fullmatch(path))


def in_data(path: str) -> bool:
    """Whether a path is a data directory of a quorum member, or within one.

    Raises Unreadable if this depends on a part of the path that is not known.
    """
    if _NO_DATA.search(path):
        return False
    known = re.split(f"[{UNKNOWN}{ASKED}]", path, maxsplit=1)[0]
    if known != path:
        if any(_is_within(known.rstrip("/"), data) for data in DATA):
            return True
        if not known or any(data.startswith(known) for data in DATA):
            raise Unreadable("a path that it deletes is not known")
        return False
    return any(_matches(path, data) for data in DATA)


def is_state(path: str) -> bool:
    """Whether a path is in a data directory of quorum members under /var/lib, not in a directory of settings."""
    return path.startswith("/var/lib/") and in_data(path)


def holds_data(path: str) -> bool:
    """Whether deleting a path recursively deletes members' data: the path is in a data directory, or contains one."""
    return in_data(path) or any(_is_above(path, data) for data in DATA)


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")


def _parts(path: str) -> list[str]:
    return [part for part in posixpath.normpath(path).split("/") if part]


def _matches(path: str, data: str) -> bool:
    """Whether a path, which may have wildcards, is the directory `data` or within it."""
    parts, wanted = _parts(path), _parts(data)
    return path.startswith("/") and len(parts) >= len(wanted) and _agree(zip(wanted, parts, strict=False))


def _is_above(path: str, data: str) -> bool:
    return (
        path.startswith("/")
        and len(_parts(path)) < len(_parts(data))
        and _agree(zip(_parts(data), _parts(path), strict=False))
    )


def _agree(pairs: Iterable[tuple[str, str]]) -> bool:
    return all(fnmatchcase(one, pattern) for one, pattern in pairs)
