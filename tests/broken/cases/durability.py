"""Broken stacks that lose acknowledged data, or do not come back, after a power failure."""

from __future__ import annotations

from collections.abc import Callable

from tests.broken.broken import Broken, Props, pod

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


CASES = [
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
