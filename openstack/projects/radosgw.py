"""Ceph's object gateway on the nodes of Ceph's monitors (source 004, 5.4.14). It serves the API of Swift.

Users are Keystone's. The gateway has its own account and pools in Ceph. A user's containers belong to the user's
project.
"""

from __future__ import annotations

from openstack import accounts, ceph_client
from openstack.config import cephx
from openstack.config.layers import Layer, Origin, Secret, Section, TextFile, WrittenFile
from openstack.config.ports import APIS
from openstack.config.wiring import Wiring
from openstack.definition import Container, Http, JobDefinition, Port, ProcessDefinition, ProjectDefinition, Tcp
from openstack.projects import ceph

_MANUAL = "https://docs.ceph.com/en/tentacle/radosgw/keystone/"
_ENTITY = "client.radosgw"
_KEYRING = f"{_ENTITY}.keyring"
_RIGHTS = cephx.entry(_ENTITY, mon="allow rw", osd="allow rwx")
"""Rights of the gateway's Ceph account, which let it create its own pools
(https://docs.ceph.com/en/tentacle/radosgw/pools/)."""
_PASSWORD = "keystone-password"  # noqa: S105 - the name of a file
_PORT = APIS["radosgw"]

RADOSGW = ProcessDefinition(
    name="radosgw",
    project="radosgw",
    kind="Deployment",
    uid=ceph.UID,
    exposed=((_PORT, "http"),),
    containers=(
        Container(
            name="radosgw",
            image="ceph",
            user="ceph",
            command=f"exec radosgw --foreground --setuser ceph --setgroup ceph --name {_ENTITY}",
            ports=(Port("http", _PORT, clients=("everyone",)),),
            ready=Http("http", "/swift/healthcheck"),
            alive=Tcp("http"),
            files=(ceph_client.CONFIGURATION, *map(ceph.secret_file, (_KEYRING, _PASSWORD))),
            kolla=False,
        ),
    ),
)


def _configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    if name != RADOSGW.name or not wiring.monitors:
        return ()
    gateway: Section = {
        "rgw_frontends": f"beast port={_PORT}",
        "rgw_keystone_url": wiring.url("keystone"),
        "rgw_keystone_api_version": 3,
        "rgw_keystone_admin_user": "radosgw",
        "rgw_keystone_admin_password_path": f"/var/lib/kolla/secrets/{_PASSWORD}",
        "rgw_keystone_admin_domain": "Default",
        "rgw_keystone_admin_project": "service",
        "rgw_keystone_accepted_roles": "member, admin",
        "rgw_keystone_implicit_tenants": True,
        "rgw_swift_account_in_url": True,
    }
    return (
        ceph_client.configuration(wiring, ceph_client.daemons(), Layer(Origin.PROJECT, _MANUAL, {_ENTITY: gateway})),
        TextFile(_KEYRING, (cephx.entry(_ENTITY),)),
        TextFile(_PASSWORD, (Secret("radosgw/identity"),)),
    )


def _jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    endpoint = accounts.Endpoint("object-store", "swift", "radosgw", "/swift/v1/AUTH_%(project_id)s")
    storage = accounts.storage(wiring, "radosgw", (_RIGHTS,))
    return (*storage, accounts.identity(wiring, "radosgw", (endpoint,)))


PROJECT = ProjectDefinition(
    name="radosgw", needs=("keystone", "ceph"), processes=(RADOSGW,), configure=_configure, jobs=_jobs
)
