"""Configuration and jobs of Glance."""

from __future__ import annotations

from blueprint.openstack.projects.records import own_records
from openstack import accounts, ceph_client
from openstack.config import cephx, sections
from openstack.config.layers import ConfigFile, Layer, Origin, WrittenFile
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import Wiring
from openstack.definition import JobDefinition

_CONFIGURATION = own_records()["glance"].file("glance-api.conf")
_ENTITY = "client.glance"
_POOL = "images"
_STORES = "https://docs.openstack.org/glance/2026.1/admin/multistores.html"
_IN_FILES = Layer(
    Origin.PROJECT,
    _STORES,
    {
        "DEFAULT": {"enabled_backends": ("files:file",)},
        "glance_store": {"default_backend": "files"},
        "files": {"filesystem_store_datadir": "/var/lib/glance/images"},
        "paste_deploy": {"flavor": "keystone"},
    },
)
"""A stack without Ceph, which only a Fuel-CCP topology describes. Fuel-CCP's Glance also had no volume
(ccp/services.yaml, glance-api: `volumes: []`)."""


def configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    return (
        ConfigFile(
            "glance-api.conf",
            "ini",
            (
                _in_ceph(wiring) if wiring.monitors else _IN_FILES,
                sections.database(wiring, "glance"),
                sections.authentication(wiring, "glance"),
                sections.locks("glance"),
                sections.behind_a_proxy(),
            ),
            # glance-api reads fragments named after the project (glance), not after the program (glance-api).
            fragment="/etc/glance/glance.conf.d/secrets.conf",
        ),
        uwsgi(wiring, "glance-api", "glance-api-uwsgi.ini", "glance.wsgi.api"),
        *ceph_client.files(wiring, _ENTITY),
    )


def _in_ceph(wiring: Wiring) -> Layer:
    pool, account = ceph_client.pools(wiring).images, ceph_client.client(wiring, _ENTITY)
    return Layer(
        Origin.PROJECT,
        _STORES,
        {
            # Nova reads it to clone an image's block device instead of copying the image. It names the cluster, the
            # pool and the device, and has no credentials.
            "DEFAULT": {"enabled_backends": ("ceph:rbd",), "show_image_direct_url": True},
            "glance_store": {"default_backend": "ceph"},
            "ceph": {"rbd_store_pool": pool, "rbd_store_user": account.name},
            "paste_deploy": {"flavor": "keystone"},
        },
    )


def jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    rights = cephx.entry(_ENTITY, **cephx.block_devices(_POOL))
    return (
        *accounts.storage(wiring, "glance", (rights,), (_POOL,)),
        accounts.databases(wiring, "glance"),
        accounts.migration(wiring, "glance", "glance-api", "glance-manage db_sync", (_CONFIGURATION,)),
        accounts.identity(wiring, "glance"),
    )
