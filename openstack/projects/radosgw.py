"""Configuration and jobs of Ceph's object gateway."""

from __future__ import annotations

from blueprint.openstack.projects.records import own_records
from openstack import accounts, ceph_client
from openstack.config import cephx, ports
from openstack.config.layers import Layer, Origin, Secret, Section, TextFile, WrittenFile
from openstack.config.wiring import Wiring
from openstack.definition import JobDefinition

_MANUAL = "https://docs.ceph.com/en/tentacle/radosgw/keystone/"
_ENTITY = "client.radosgw"
_KEYRING = f"{_ENTITY}.keyring"
_RIGHTS = cephx.entry(_ENTITY, mon="allow rw", osd="allow rwx")
"""Rights of the gateway's Ceph account, which let it create its own pools
(https://docs.ceph.com/en/tentacle/radosgw/pools/)."""
_PASSWORD = "keystone-password"  # noqa: S105 - the name of a file
_PORT = ports.api(own_records(), "radosgw")


def configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    if name != "radosgw" or not wiring.monitors:
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


def jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    storage = accounts.storage(wiring, "radosgw", (_RIGHTS,))
    return (*storage, accounts.identity(wiring, "radosgw"))
