"""Names of the secrets of services, and which of them can be replaced while the services run.

A secret is replaced by a new generation of it, with a higher number (docs/adr/0018-rotation-of-secrets.md). For an
account of MariaDB, RabbitMQ or Keystone, the new generation is a second account, so that both are valid until every
process has been restarted.
"""

from __future__ import annotations

ACCOUNTS = frozenset(
    {
        *(f"{user}/database" for user in ("keystone", "glance", "placement", "nova", "neutron", "cinder", "heat")),
        *(
            f"{user}/{kind}"
            for user in ("nova", "neutron", "cinder", "heat")
            for kind in ("messaging", "notifications")
        ),
        *(f"{user}/identity" for user in ("glance", "placement", "nova", "neutron", "cinder")),
    }
)
"""Secrets that are passwords of accounts. Two generations of such an account can exist at the same time."""
CACHE_KEYS = frozenset(f"{user}/memcached" for user in ("glance", "placement", "nova", "neutron", "cinder", "heat"))
"""Secrets that encrypt cached tokens.

A process that cannot decrypt a token of another generation asks Keystone again.
"""

_BINDING = "Keystone's trusts belong to the user, and a second user could not use them"
_BOOTSTRAP = "it is one account that jobs and monitoring share, and it has one password at a time"
_DATA = "it encrypts data that is stored, which would have to be encrypted again"
_CEPH = "Ceph reads it when the cluster is made"
_TOKENS = "tokens that it signed would become invalid"
FIXED = {
    "heat/identity": _BINDING,
    "heat/domain": _BINDING,
    "heat/encryption": _DATA,
    "keystone/credential-key-0": _DATA,
    "keystone/credential-key-1": _DATA,
    "keystone/fernet-key-0": _TOKENS,
    "keystone/fernet-key-1": _TOKENS,
    "keystone/admin": _BOOTSTRAP,
    "mysqld/root": _BOOTSTRAP,
    "rabbitmq/admin": _BOOTSTRAP,
    "proxysql/monitor": _BOOTSTRAP,
    "mysqld-exporter/database": _BOOTSTRAP,
    "proxysql/admin": "it is used only inside of a container",
    "rabbitmq/cookie": "members with different cookies do not connect to each other",
    "neutron/metadata": "Nova and Neutron would reject each other's requests until both were restarted",
    "horizon/session": "every user would be logged out",
    **dict.fromkeys(("ceph/fsid", "ceph/mon.", "ceph/client.admin", "ceph/client.bootstrap-osd"), _CEPH),
    **dict.fromkeys(
        (
            "ceph/mgr",
            "ceph/client.cinder",
            "ceph/client.cinder-backup",
            "ceph/client.glance",
            "ceph/client.nova",
            "ceph/client.radosgw",
        ),
        "an account of Ceph has one key at a time",
    ),
    "radosgw/identity": "it is not tested",
    "mysqld/backup": _BOOTSTRAP,
    "grafana/admin": "it is not tested",
    "grafana/secret-key": "it is not tested",
}
"""Secrets that cannot be replaced while the services run, each with the reason."""
