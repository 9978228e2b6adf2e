"""Settings of `quorate:ceph`: a Ceph cluster that Quorate does not run (source 004, 2.3), and the accounts for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, StringConstraints

from blueprint.stackfile.values import HOST, OthersSecret, Strict

CEPH_SERVICES = ("ceph-mon", "ceph-osd", "radosgw")
"""Services of the architecture that a stack with an external Ceph does not run."""
CEPH_PROJECTS = ("ceph", "radosgw")
"""Projects of these services."""
FSID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
"""Matches the identifier of a Ceph cluster as `ceph fsid` prints it."""
CEPH_NAME = r"^[A-Za-z0-9][-A-Za-z0-9_.]{0,127}$"
"""Matches names of pools and accounts. Ceph takes more, but they are words of files and commands."""
OBJECT_STORE_URL = r"^https?://[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?(:[0-9]{1,5})?(/[-A-Za-z0-9._~/%()]*)?$"
"""Matches URLs of a catalog's endpoint, such as https://rgw.example/swift/v1/AUTH_%(project_id)s."""

CephName = Annotated[str, StringConstraints(pattern=CEPH_NAME)]
ObjectStoreUrl = Annotated[str, StringConstraints(pattern=OBJECT_STORE_URL, max_length=500)]


class CephAccount(Strict):
    """An account of the external cluster: what its keyring has as [client.<name>]."""

    name: Annotated[
        CephName | None, Field(description="its name without client.; left out: glance, cinder, nova or cinder-backup")
    ] = None
    key: Annotated[OthersSecret, Field(description="where 'quorate up' finds what 'ceph auth get-key' prints")]


class CephAccounts(Strict):
    """The accounts with which programs use the external cluster. Source 004, 2.3.1, has two: glance and cinder."""

    glance: Annotated[CephAccount, Field(description="writes images")]
    cinder: Annotated[CephAccount, Field(description="writes volumes, also with libvirt, and reads images")]
    nova: Annotated[CephAccount | None, Field(description="writes disks of virtual machines; left out: cinder's")] = (
        None
    )
    cinder_backup: Annotated[
        CephAccount | None, Field(alias="cinder-backup", description="writes backups; left out: cinder's")
    ] = None


class CephPools(Strict):
    """The pools of the external cluster. They must exist."""

    images: Annotated[CephName, Field(description="pool of Glance's images")] = "images"
    volumes: Annotated[CephName, Field(description="pool of Cinder's volumes")] = "volumes"
    vms: Annotated[CephName, Field(description="pool of the disks of virtual machines")] = "vms"
    backups: Annotated[CephName, Field(description="pool of Cinder's backups")] = "backups"


class ObjectStore(Strict):
    """The object gateway of the external cluster, which Keystone's catalog gets as object-store."""

    internal: Annotated[
        ObjectStoreUrl,
        Field(description="URL for services, such as https://rgw.example/swift/v1/AUTH_%(project_id)s"),
    ]
    public: Annotated[ObjectStoreUrl | None, Field(description="URL for users; left out: the internal one")] = None
    password: Annotated[
        OthersSecret,
        Field(description="password of the Keystone user radosgw, with which the gateway checks tokens"),
    ]


class ExternalCeph(Strict):
    """A Ceph cluster that another team runs."""

    fsid: Annotated[str, StringConstraints(pattern=FSID), Field(description="what 'ceph fsid' prints")]
    monitors: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=HOST)], ...],
        Field(min_length=1, description="names or addresses of the monitors; clients try port 3300, then 6789"),
    ]
    accounts: Annotated[CephAccounts, Field(description="accounts of the programs, with their keys")]
    pools: CephPools = CephPools()
    object_store: Annotated[ObjectStore | None, Field(description="left out: the cloud has no object storage")] = None

    @property
    def written_accounts(self) -> Mapping[str, CephAccount]:
        """The accounts in the stack file, by program: glance, cinder, nova and cinder-backup."""
        named = (
            (field.alias or name, getattr(self.accounts, name)) for name, field in CephAccounts.model_fields.items()
        )
        return {program: account for program, account in named if account is not None}

    def account(self, program: str) -> tuple[str, CephAccount]:
        """Returns the account of a program, with its name in the cluster."""
        written = self.written_accounts
        own = program if program in written else "cinder"
        return written[own].name or own, written[own]


class CephSettings(Strict):
    """Which Ceph the stack uses. Left out: the monitors and OSDs of the plan."""

    external: Annotated[ExternalCeph, Field(description="a cluster that Quorate does not run")]
