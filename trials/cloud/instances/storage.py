"""Disks of instances: volumes, what is on a root disk, and copies of both."""

from __future__ import annotations

from typing import Any

from trials.cloud.instances import moves
from trials.cloud.instances.steps import step
from trials.cloud.instances.tenant import AWAIT_VOLUME, LIMIT, TRIAL, Home, Tenant

WRITTEN = "written with fsync"
ROOT = "on the root disk"
_WRITE_ROOT, _READ_ROOT = f"echo {ROOT} >/written && sync", "cat /written"
_FAILED = ["error", "error_restoring"]
_READ = f"{AWAIT_VOLUME}; head -c {{}} /dev/vdb"


def volume(tenant: Tenant, servers: tuple[Any, Any], addresses: tuple[str, str], host: str) -> None:
    """Writes to a volume in one instance and reads it in the other, which then migrates to `host` with the volume."""
    volumes = tenant.cloud.block_storage
    first, second = servers
    made = step("volume", tenant.volume, TRIAL)
    step("volume is attached", tenant.attach, first, made)
    write = f"{AWAIT_VOLUME}; echo {WRITTEN} | dd of=/dev/vdb conv=fsync"
    step("volume is written, with fsync", tenant.answers, addresses[0], write)
    step("volume is detached", tenant.detach, first, made)
    step("volume is attached to the other instance", tenant.attach, second, made)
    read = _READ.format(len(WRITTEN))
    step("what was written is read there", tenant.answers, addresses[1], read, WRITTEN)
    moves.live(tenant, second, host, addresses[1])
    again = f"echo again | dd of=/dev/vdb conv=fsync,notrunc; {read}"
    step("the volume is written and read after the migration", tenant.answers, addresses[1], again, "again")
    step("volume is detached again", tenant.detach, second, made)
    snapshot = volumes.create_snapshot(name=TRIAL, volume_id=made.id)
    step("snapshot of the volume", volumes.wait_for_status, snapshot, "available", ["error"], 2, LIMIT)
    copy = step("volume of the snapshot", lambda: tenant.volume(f"{TRIAL}-copy", snapshot_id=snapshot.id))
    step("the copy is attached", tenant.attach, first, copy)
    step("the copy has what the volume had", tenant.answers, addresses[0], read, "again")
    step("the copy is detached", tenant.detach, first, copy)
    backup = volumes.create_backup(name=TRIAL, volume_id=made.id)
    step("backup of the volume", volumes.wait_for_status, backup, "available", ["error"], 2, LIMIT)
    restored = tenant.volume(f"{TRIAL}-restored")
    volumes.restore_backup(backup, volume_id=restored.id)
    restoring = volumes.get_volume(restored)
    step("the backup is restored", volumes.wait_for_status, restoring, "available", _FAILED, 2, LIMIT)
    step("the restored volume is attached", tenant.attach, second, restored)
    step("it has what the volume had", tenant.answers, addresses[1], read, "again")
    step("the restored volume is detached", tenant.detach, second, restored)


def root_disk(tenant: Tenant, servers: tuple[Any, Any], addresses: tuple[str, str]) -> None:
    """Makes an image of one instance, and rebuilds the other from it: its root disk has what the first one wrote."""
    compute = tenant.cloud.compute
    first, second = servers
    step("the root disk is written", tenant.answers, addresses[0], _WRITE_ROOT)
    image = step("image of an instance", lambda: compute.create_server_image(first, TRIAL, wait=True, timeout=LIMIT))
    step("the other instance is rebuilt from it", _rebuild, tenant, second, image)
    step("it has its address and the first one's root disk", tenant.answers, addresses[1], _READ_ROOT, ROOT, LIMIT)


def _rebuild(tenant: Tenant, server: Any, image: Any) -> None:
    tenant.cloud.compute.rebuild_server(server, image=image.id)
    tenant.cloud.compute.wait_for_server(server, status="ACTIVE", failures=["ERROR"], wait=LIMIT)


def bootable_volume(tenant: Tenant, home: Home, host: str) -> None:
    """Boots an instance from a volume, which outlives it with what the guest wrote."""
    volume = step("volume of an image", lambda: tenant.volume(f"{TRIAL}-root", image_id=home.image.id))
    server = step("instance of the volume is ACTIVE", tenant.boot, home, 3, host, volume)
    step("its guest writes to it", tenant.answers, tenant.floating_ip(server, home.external), _WRITE_ROOT, "", LIMIT)
    step("the instance is deleted", tenant.delete, server)
    second = step("another instance of the volume is ACTIVE", tenant.boot, home, 4, host, volume)
    address = tenant.floating_ip(second, home.external)
    step("its guest reads what the first one wrote", tenant.answers, address, _READ_ROOT, ROOT, LIMIT)
    step("that instance is deleted too", tenant.delete, second)
