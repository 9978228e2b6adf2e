"""A real Ceph cluster as another team's: the rendered files let the stack's clients in, with the documented rights."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from doctor import ceph_checks
from doctor.facts import parse as facts
from tests.stacks import external_ceph, parsed, without_storage
from tests.trials.services.stack import objects
from trials.services import ceph
from trials.services.ceph import CephCluster
from trials.services.containers import TriedContainer, read
from trials.services.testbed import ServiceMachine, ServiceTestbed

POOLS = {"images": "east-i", "volumes": "east-v", "vms": "east-d", "backups": "east-b"}
RIGHTS = {
    "east-images": ("profile rbd pool=east-i", "profile rbd pool=east-i"),
    "east-volumes": ("profile rbd pool=east-v, profile rbd pool=east-d, profile rbd pool=east-i",) * 2,
    "cinder-backup": ("profile rbd pool=east-b", "profile rbd pool=east-b"),
}
"""Rights of the accounts on OSDs and managers, as docs/openstack.md has them. Nova uses Cinder's account."""
ACCOUNTS = {
    "glance": {"name": "east-images", "key": {"environment": "IMAGES"}},
    "cinder": {"name": "east-volumes", "key": {"environment": "VOLUMES"}},
    "cinder-backup": {"key": {"environment": "BACKUPS"}},
}


def keys_of(cluster: CephCluster) -> dict[str, str]:
    """Makes the pools and accounts, as the other team does. Returns the key of each account."""
    for pool in POOLS.values():
        cluster.ceph("osd", "pool", "create", pool, "8")
        cluster.ceph("osd", "pool", "application", "enable", pool, "rbd")
    found: dict[str, str] = {}
    for name, (osd, mgr) in RIGHTS.items():
        cluster.ceph("auth", "get-or-create", f"client.{name}", "mon", "profile rbd", "osd", osd, "mgr", mgr)
        found[name] = cluster.ceph("auth", "get-key", f"client.{name}").strip()
    return found


def placed(testbed: ServiceTestbed, container: TriedContainer) -> ServiceMachine:
    """A machine with a container's files below /etc/ceph, and nothing else of it."""
    machine = testbed.add(f"other-{container.workload}")
    for path, file in container.files.items():
        if path.startswith("/etc/ceph/"):
            machine.write(path, file.text)
    return machine


def block_devices(machine: ServiceMachine, *words: str) -> None:
    machine.run(["timeout", "120", "rbd", *words], seconds=150)


def test_clients_of_an_external_cluster_are_let_in(ceph_root: Path, containers: Mapping[str, TriedContainer]) -> None:
    with ServiceTestbed(ceph_root) as testbed:
        cluster = CephCluster(testbed, containers)
        ceph.begin(cluster)
        keys = keys_of(cluster)
        monitors = [monitor.address for monitor in cluster.monitors.values()]
        fsid = cluster.ceph("fsid").strip()
        changed = external_ceph(fsid=fsid, monitors=monitors, accounts=ACCOUNTS, pools=POOLS)
        settings = parsed(without_storage("100") | {"ceph": changed})
        names = {"IMAGES": "east-images", "VOLUMES": "east-volumes", "BACKUPS": "cinder-backup"}
        given = {f"given/{variable}": keys[name] for variable, name in names.items()}
        rendered = read(objects(settings, "external", given))
        clients = {
            each: placed(testbed, rendered[f"{each}/{each}"])
            for each in ("glance-api", "cinder-volume", "cinder-backup", "nova-compute")
        }

        block_devices(clients["glance-api"], "--id", "east-images", "create", "--size", "8M", "east-i/image")
        block_devices(clients["glance-api"], "--id", "east-images", "snap", "create", "east-i/image@snap")
        block_devices(clients["glance-api"], "--id", "east-images", "snap", "protect", "east-i/image@snap")
        volumes = ("--id", "east-volumes", "clone", "east-i/image@snap")
        block_devices(clients["cinder-volume"], *volumes, "east-v/volume")
        block_devices(clients["nova-compute"], *volumes, "east-d/disk")
        block_devices(clients["cinder-backup"], "--id", "cinder-backup", "create", "--size", "8M", "east-b/backup")
        block_devices(clients["cinder-backup"], "--id", "east-volumes", "info", "east-v/volume")
        with pytest.raises(subprocess.CalledProcessError) as refused:
            block_devices(clients["glance-api"], "--id", "east-images", "create", "--size", "8M", "east-v/image")
        assert "Operation not permitted" in f"{refused.value.stdout}{refused.value.stderr}"

        secrets = {path: file.text for path, file in rendered["nova-libvirt/nova-libvirt"].files.items()}
        values = [text for path, text in secrets.items() if path.endswith(".base64")]
        assert values == [keys["east-volumes"]] * 2, "libvirt opens disks and volumes with Cinder's account"

        external = settings.external_ceph
        assert external
        reached = facts(clients["glance-api"].run(["sh", "-s"], ceph_checks.script(external), seconds=120))
        assert sorted(reached.all("monitor")) == sorted(monitors)
