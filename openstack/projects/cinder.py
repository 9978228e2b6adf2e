"""Cinder, the volume service.

Volumes are in Ceph (source 004, 5.3.17), so cinder-volume needs no device and no privilege.
"""

from __future__ import annotations

from openstack import accounts, ceph_client
from openstack.config import cephx, sections
from openstack.config.layers import ConfigFile, Layer, Origin, WrittenFile
from openstack.config.ports import AMQP
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import REGION, Wiring
from openstack.definition import (
    HOST,
    ConfigurationFile,
    Container,
    Http,
    JobDefinition,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
    port_check,
)

UID = 42407
CONFIGURATION = ConfigurationFile("cinder.conf", "/etc/cinder/cinder.conf")

API = ProcessDefinition(
    name="cinder-api",
    project="cinder",
    kind="Deployment",
    uid=UID,
    exposed=((8776, "api"),),
    containers=(
        Container(
            name="cinder-api",
            image="cinder-api",
            user="cinder",
            command="uwsgi /etc/cinder/cinder-api-uwsgi.ini",
            ports=(Port("api", 8776, clients=("everyone",)),),
            ready=Http("api", "/healthcheck"),
            alive=Tcp("api"),
            files=(CONFIGURATION, ConfigurationFile("cinder-api-uwsgi.ini", "/etc/cinder/cinder-api-uwsgi.ini")),
        ),
    ),
)


def _worker(service: str, extra: tuple[ConfigurationFile, ...] = ()) -> ProcessDefinition:
    process = Container(
        name=service,
        image=service,
        user="cinder",
        command=f"{service} --config-file {CONFIGURATION.path}",
        ready=port_check(service, AMQP),
        files=(CONFIGURATION, *extra),
        owns=("/var/lib/cinder",),
        node_name=HOST,
    )
    return ProcessDefinition(name=service, project="cinder", kind="Deployment", uid=UID, containers=(process,))


_BACKUP_ENTITY = "client.cinder-backup"
SCHEDULER = _worker("cinder-scheduler")
_VOLUMES, _BACKUPS = "volumes", "backups"
_CEPH = (ceph_client.CONFIGURATION, ceph_client.keyring(cephx.CINDER))
VOLUME = _worker("cinder-volume", extra=_CEPH)
# cinder-backup reads a volume with Cinder's Ceph account and writes the copy with its own account.
BACKUP = _worker("cinder-backup", extra=(*_CEPH, ceph_client.keyring(_BACKUP_ENTITY)))

_RBD = "https://docs.openstack.org/cinder/2026.1/configuration/block-storage/drivers/ceph-rbd-volume-driver.html"


def _configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    volumes = Layer(
        Origin.PROJECT,
        _RBD,
        {
            "DEFAULT": {
                "enabled_backends": ("ceph",),
                "glance_catalog_info": ("image:glance:internalURL"),
                "backup_driver": "cinder.backup.drivers.ceph.CephBackupDriver",
                "backup_ceph_conf": "/etc/ceph/ceph.conf",
                "backup_ceph_user": "cinder-backup",
                "backup_ceph_pool": _BACKUPS,
                # Any instance may restore or delete a backup, not only the instance that made it.
                "backup_use_same_host": False,
            },
            "ceph": {
                "volume_driver": "cinder.volume.drivers.rbd.RBDDriver",
                "volume_backend_name": "ceph",
                # A common host name lets any instance manage a volume, not only the instance that created it.
                "backend_host": "ceph",
                "rbd_pool": _VOLUMES,
                "rbd_user": "cinder",
                "rbd_secret_uuid": cephx.libvirt_secret(cephx.CINDER),
                "rbd_ceph_conf": "/etc/ceph/ceph.conf",
                "rbd_flatten_volume_from_snapshot": False,
                "rbd_max_clone_depth": 5,
                "report_discard_supported": True,
            },
            "nova": sections.service_user(wiring, "cinder") | {"region_name": REGION, "interface": "internal"},
            "service_user": {"send_service_user_token": True} | sections.service_user(wiring, "cinder"),
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
        uwsgi(wiring, "cinder-api", "cinder-api-uwsgi.ini", "cinder.wsgi.api", 8776),
        *ceph_client.files(wiring, cephx.CINDER, _BACKUP_ENTITY),
    )


def _jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    endpoint = accounts.Endpoint("block-storage", "cinder", "cinder-api", "/v3")
    rights = (
        cephx.entry(cephx.CINDER, **cephx.block_devices(_VOLUMES, reads=("images",))),
        cephx.entry(_BACKUP_ENTITY, **cephx.block_devices(_BACKUPS)),
    )
    return (
        *accounts.storage(wiring, "cinder", rights, (_VOLUMES, _BACKUPS)),
        accounts.databases(wiring, "cinder"),
        *accounts.messaging(wiring, "cinder"),
        accounts.migration(wiring, "cinder", "cinder-api", "cinder-manage db sync", (CONFIGURATION,)),
        accounts.identity(wiring, "cinder", (endpoint,)),
    )


PROJECT = ProjectDefinition(
    name="cinder",
    needs=("keystone", "mariadb", "rabbitmq", "memcached", "ceph"),
    processes=(API, SCHEDULER, VOLUME, BACKUP),
    configure=_configure,
    jobs=_jobs,
)
