"""Configuration and jobs of Cinder."""

from __future__ import annotations

from blueprint.openstack import options
from blueprint.openstack.projects.records import own_records
from openstack import accounts, ceph_client, scripts
from openstack.config import cephx, sections
from openstack.config.layers import ConfigFile, Layer, Origin, TextFile, WrittenFile
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import Wiring
from openstack.definition import JobDefinition

_CONFIGURATION = own_records()["cinder"].file("cinder.conf")
_BACKUP_ENTITY = "client.cinder-backup"
_VOLUMES, _BACKUPS = "volumes", "backups"

_RBD = "https://docs.openstack.org/cinder/2026.1/configuration/block-storage/drivers/ceph-rbd-volume-driver.html"


def configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    # The role "service" may ask Glance where an image is, so that a volume is a clone of its block device. Cinder of
    # 2025.1 reads it from the image.
    pools, account = ceph_client.pools(wiring), ceph_client.client(wiring, cephx.CINDER)
    asks_glance = "glance" in options.listed(wiring.release, "cinder.conf")
    volumes = Layer(
        Origin.PROJECT,
        _RBD,
        {
            "DEFAULT": {
                "enabled_backends": ("ceph",),
                "glance_catalog_info": ("image:glance:internalURL"),
                "backup_driver": "cinder.backup.drivers.ceph.CephBackupDriver",
                "backup_ceph_conf": "/etc/ceph/ceph.conf",
                "backup_ceph_user": ceph_client.client(wiring, _BACKUP_ENTITY).name,
                "backup_ceph_pool": pools.backups,
                # Any instance may restore or delete a backup, not only the instance that made it.
                "backup_use_same_host": False,
            },
            "ceph": {
                "volume_driver": "cinder.volume.drivers.rbd.RBDDriver",
                "volume_backend_name": "ceph",
                # A common host name lets any instance manage a volume, not only the instance that created it. One
                # instance runs at a time (scripts/one_manager).
                "backend_host": "ceph",
                "rbd_pool": pools.volumes,
                "rbd_user": account.name,
                "rbd_secret_uuid": cephx.libvirt_secret(cephx.CINDER),
                "rbd_ceph_conf": "/etc/ceph/ceph.conf",
                "rbd_flatten_volume_from_snapshot": False,
                "rbd_max_clone_depth": 5,
                "report_discard_supported": True,
            },
            # For each backup, a helper of os-brick reads files of the host as root. By default it asks for
            # CAP_SYS_ADMIN, which the pod does not have, and ends.
            "privsep_osbrick": {"capabilities": ("CAP_DAC_OVERRIDE",)},
            "nova": sections.service_user(wiring, "cinder") | {"region_name": wiring.region, "interface": "internal"},
            "service_user": {"send_service_user_token": True} | sections.service_user(wiring, "cinder"),
            **({"glance": sections.service_user(wiring, "cinder")} if asks_glance else {}),
        },
    )
    return (
        ConfigFile(
            "cinder.conf",
            "ini",
            (
                volumes,
                sections.database(wiring, "cinder"),
                sections.messaging(wiring, "cinder"),
                sections.authentication(wiring, "cinder"),
                sections.locks("cinder"),
                sections.behind_a_proxy(),
            ),
            fragment="/etc/cinder/cinder.conf.d/secrets.conf",
        ),
        *(TextFile(f"one_manager-{module}", (text,)) for module, text in scripts.modules("one_manager").items()),
        uwsgi(wiring, "cinder-api", "cinder-api-uwsgi.ini", "cinder.wsgi.api"),
        *ceph_client.files(wiring, cephx.CINDER, _BACKUP_ENTITY),
    )


def jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    rights = (
        cephx.entry(cephx.CINDER, **cephx.block_devices(_VOLUMES, reads=("images",))),
        cephx.entry(_BACKUP_ENTITY, **cephx.block_devices(_BACKUPS)),
    )
    return (
        *accounts.storage(wiring, "cinder", rights, (_VOLUMES, _BACKUPS)),
        accounts.databases(wiring, "cinder"),
        *accounts.messaging(wiring, "cinder"),
        accounts.migration(wiring, "cinder", "cinder-api", "cinder-manage db sync", (_CONFIGURATION,)),
        accounts.identity(wiring, "cinder"),
    )
