"""Broken stacks that lose acknowledged data, or do not come back, after a power failure."""

from __future__ import annotations

from collections.abc import Callable

from tests.broken.broken import Broken, Props, pod
from tests.policy.tables.commands import ssh
from tests.policy.world import Given

GALERA, RABBITMQ = "cloud-openstack-mariadb-mysqld", "cloud-openstack-rabbitmq"


def _names_of_ready_members_only(props: Props) -> None:
    props["spec"].pop("publishNotReadyAddresses")


def _in_memory(props: Props) -> None:
    props["spec"]["local"]["path"] = "/run/galera"


def _goes_with_its_claim(props: Props) -> None:
    props["spec"]["persistentVolumeReclaimPolicy"] = "Delete"


def _read_only(props: Props) -> None:
    props["spec"]["mountOptions"] = ["ro"]


def _probing(kind: str, **probe: object) -> Callable[[Props], None]:
    """Returns a change that replaces a probe of the first container."""

    def break_(props: Props) -> None:
        pod(props)["containers"][0][kind] = probe

    return break_


def _unsafe(props: Props) -> None:
    text = props["definition"]["domain.xml"]
    assert "cache='none'" in text
    props["definition"]["domain.xml"] = text.replace("cache='none'", "cache='unsafe'")


def _without_barriers(props: Props) -> None:
    props["files"]["/etc/systemd/system/var-lib-etcd.mount"] = "[Mount]\nWhat=/dev/sdb\nOptions=nobarrier\n"


UNSAFE = "ETCD_UNSAFE_NO_FSYNC=true"
ETCD = "cloud-masters-etcd"

POOL = "kubernetes:ceph.rook.io/v1:CephBlockPool"

CASES = [
    Broken(
        "a pool of Ceph with one copy",
        (),
        {"ceph-acknowledges-two-copies": {"vms"}},
        adds=(Given(POOL, "vms", {"metadata": {"name": "vms"}, "spec": {"replicated": {"size": 1}}}),),
    ),
    Broken(
        "a pool of Ceph whose copies are on the disks of one server",
        (),
        {"ceph-copies-on-servers": {"vms"}},
        adds=(
            Given(
                POOL, "vms", {"metadata": {"name": "vms"}, "spec": {"failureDomain": "osd", "replicated": {"size": 3}}}
            ),
        ),
    ),
    Broken(
        "a sound pool of Ceph",
        (),
        {},
        adds=(Given(POOL, "vms", {"metadata": {"name": "vms"}, "spec": {"replicated": {"size": 3}}}),),
    ),
    Broken(
        "unsafe writes of etcd by a command on a master",
        (),
        {"etcd-settings-keep-quorum": {ETCD}},
        adds=(ssh("tune", f"echo {UNSAFE} | sudo tee -a /etc/etcd/etcd.env", "master1"),),
    ),
    Broken(
        "unsafe writes of etcd by sed on every master",
        (),
        {"etcd-settings-keep-quorum": {ETCD}},
        adds=tuple(
            ssh(f"tune-{node}", "sed -i '/NO_FSYNC/s/=.*/=1/' /etc/etcd/*.env", node)
            for node in ("master1", "master2", "master3")
        ),
    ),
    Broken(
        "unsafe writes of etcd by a drop-in",
        (),
        {"etcd-settings-keep-quorum": {ETCD}},
        adds=(
            ssh(
                "tune",
                "install -d /etc/systemd/system/etcd.service.d\n"
                f"printf '[Service]\\nEnvironment={UNSAFE}\\n' > /etc/systemd/system/etcd.service.d/fast.conf",
                "master1",
            ),
        ),
    ),
    Broken(
        "sound commands on a master",
        (),
        {},
        adds=(
            ssh("tune", "sed -i 's/^#*vm.swappiness=.*/vm.swappiness=1/' /etc/sysctl.conf; sysctl -p", "master1"),
            ssh("mount", "echo '/dev/sdc /srv/logs xfs noatime 0 2' >> /etc/fstab && mount -a", "master1"),
            ssh("note", "echo '# by the network team' >> /etc/etcd/etcd.env", "master2"),
        ),
    ),
    Broken(
        "members that are not found after a power cut",
        (("Service", f"{GALERA}-members", _names_of_ready_members_only),),
        {"members-find-each-other": {GALERA}},
    ),
    Broken(
        "brokers that are not found after a power cut",
        (("Service", f"{RABBITMQ}-members", _names_of_ready_members_only),),
        {"members-find-each-other": {RABBITMQ}},
    ),
    Broken(
        "a volume of Galera in memory",
        (("PersistentVolume", f"{GALERA}-ctl04", _in_memory),),
        {"members-volumes-keep-data": {GALERA}},
    ),
    Broken(
        "a volume of RabbitMQ that goes with its claim",
        (("PersistentVolume", f"{RABBITMQ}-ctl01", _goes_with_its_claim),),
        {"members-volumes-keep-data": {RABBITMQ}},
    ),
    Broken(
        "a volume that is read-only",
        (("PersistentVolume", f"{RABBITMQ}-ctl01", _read_only),),
        {"members-volumes-keep-data": {RABBITMQ}},
    ),
    Broken(
        "a database that is ready as soon as it listens",
        (("StatefulSet", GALERA, _probing("readinessProbe", tcpSocket={"port": 3306})),),
        {"readiness-can-fail": {GALERA}},
    ),
    Broken(
        "a broker that is restarted after a second",
        (
            (
                "StatefulSet",
                RABBITMQ,
                _probing("livenessProbe", tcpSocket={"port": 5672}, periodSeconds=1, failureThreshold=1),
            ),
        ),
        {"liveness-is-patient": {RABBITMQ}},
    ),
    Broken(
        "a virtual disk that ignores flushes",
        (("Machine", "cloud-virt1-master1", _unsafe),),
        {"virtual-disks-flush": {"cloud-virt1-master1"}},
        stack="virt",
    ),
    Broken(
        "etcd on a file system without barriers",
        (("Machine", "cloud-masters-master1", _without_barriers),),
        {"mounts-keep-barriers": {"cloud-masters-master1"}},
    ),
]
