"""Glance, the image service. Images are in Ceph (source 004, 5.3.17). glance-api has replaced glance-registry."""

from __future__ import annotations

from openstack import accounts, ceph_client
from openstack.config import cephx, sections
from openstack.config.layers import ConfigFile, Layer, Origin, WrittenFile
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import Wiring
from openstack.definition import (
    ConfigurationFile,
    Container,
    Http,
    JobDefinition,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
)

_CONFIGURATION = ConfigurationFile("glance-api.conf", "/etc/glance/glance-api.conf")
_ENTITY = "client.glance"
_POOL = "images"
_STORES = "https://docs.openstack.org/glance/2026.1/admin/multistores.html"

API = ProcessDefinition(
    name="glance-api",
    project="glance",
    kind="Deployment",
    uid=42415,
    exposed=((9292, "api"),),
    containers=(
        Container(
            name="glance-api",
            image="glance-api",
            user="glance",
            command="uwsgi /etc/glance/glance-api-uwsgi.ini",
            ports=(Port("api", 9292, clients=("everyone",)),),
            ready=Http("api", "/healthcheck"),
            alive=Tcp("api"),
            files=(
                _CONFIGURATION,
                ConfigurationFile("glance-api-uwsgi.ini", "/etc/glance/glance-api-uwsgi.ini"),
                ceph_client.CONFIGURATION,
                ceph_client.keyring(_ENTITY),
            ),
        ),
    ),
)


def _configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    stores = Layer(
        Origin.PROJECT,
        _STORES,
        {
            "DEFAULT": {"enabled_backends": ("ceph:rbd",)},
            "glance_store": {"default_backend": "ceph"},
            "ceph": {"rbd_store_pool": _POOL, "rbd_store_user": "glance"},
            "paste_deploy": {"flavor": "keystone"},
        },
    )
    return (
        ConfigFile(
            "glance-api.conf",
            "ini",
            (
                stores,
                sections.database(wiring, "glance"),
                sections.authentication(wiring, "glance"),
                sections.locks("glance"),
                sections.behind_a_proxy(),
            ),
            # glance-api reads fragments named after the project (glance), not after the program (glance-api).
            fragment="/etc/glance/glance.conf.d/secrets.conf",
        ),
        uwsgi(wiring, "glance-api", "glance-api-uwsgi.ini", "glance.wsgi.api", 9292),
        *ceph_client.files(wiring, _ENTITY),
    )


def _jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    endpoint = accounts.Endpoint("image", "glance", "glance-api")
    rights = cephx.entry(_ENTITY, **cephx.block_devices(_POOL))
    return (
        *accounts.storage(wiring, "glance", (rights,), (_POOL,)),
        accounts.databases(wiring, "glance"),
        accounts.migration(wiring, "glance", "glance-api", "glance-manage db_sync", (_CONFIGURATION,)),
        accounts.identity(wiring, "glance", (endpoint,)),
    )


PROJECT = ProjectDefinition(
    name="glance",
    needs=("keystone", "mariadb", "memcached", "ceph"),
    processes=(API,),
    configure=_configure,
    jobs=_jobs,
)
