"""Sound stacks whose storage and probes look unlike Quorate's own, and keep data all the same."""

from __future__ import annotations

from tests.policy.world import Given, Props
from tests.sound.sound import Sound, nodes, quorum

LOCAL: Props = {"metadata": {"name": "data"}, "spec": {"storageClassName": "disks", "accessModes": ["ReadWriteOnce"]}}
CLASS: Props = {"metadata": {"name": "disks"}, "reclaimPolicy": "Retain", "mountOptions": ["noatime", "nodiratime"]}


def _on_disks(given: list[Given]) -> list[Given]:
    return [given[0].but(spec__volumeClaimTemplates=[LOCAL]), *given[1:]]


def _disk(number: int) -> Given:
    """A volume without reclaim policy, whose default is Retain."""
    spec: Props = {
        "storageClassName": "disks",
        "local": {"path": f"/srv/disk{number}"},
        "accessModes": ["ReadWriteOnce"],
    }
    return Given(
        "kubernetes:core/v1:PersistentVolume", f"disk{number}", {"metadata": {"name": f"disk{number}"}, "spec": spec}
    )


def _probed(given: list[Given]) -> list[Given]:
    (container,) = given[0].props["spec"]["template"]["spec"]["containers"]
    socket: Props = {"tcpSocket": {"port": 2379}}
    probed = {**container, "livenessProbe": {**socket, "periodSeconds": 5}, "readinessProbe": socket}
    return [given[0].but(spec__template__spec__containers=[probed]), *given[1:]]


CASES = [
    Sound(
        "members on local disks of a class that retains",
        [
            *nodes(3),
            *_on_disks(quorum("meta", "etcd")),
            *map(_disk, (1, 2, 3)),
            Given("kubernetes:storage.k8s.io/v1:StorageClass", "disks", CLASS),
        ],
    ),
    Sound("members whose probes open connections, and are patient", [*nodes(3), *_probed(quorum("meta", "etcd"))]),
]
