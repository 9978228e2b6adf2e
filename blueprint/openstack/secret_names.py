"""Names of the secrets of services, and which of them can be replaced while the services run.

A secret is replaced by a new generation of it, with a higher number (docs/adr/0018-rotation-of-secrets.md). For an
account of MariaDB, RabbitMQ or Keystone, the new generation is a second account, so that both are valid until every
process has been restarted.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from blueprint.openstack.projects.records import Records


def accounts(records: Records) -> AbstractSet[str]:
    """Returns the secrets that are passwords of accounts.

    Two generations of such an account can exist at the same time.
    """
    return {f"{name}/{kind}" for name, record in records.by_name.items() for kind in record.accounts}


def cache_keys(records: Records) -> AbstractSet[str]:
    """Returns the secrets that encrypt cached tokens.

    A process that cannot decrypt a token of another generation asks Keystone again.
    """
    return {f"{name}/memcached" for name, record in records.by_name.items() if record.cache_key}


def fixed(records: Records) -> Mapping[str, str]:
    """Returns the secrets that cannot be replaced while the services run, each with the reason."""
    return {secret: why for record in records.by_name.values() for secret, why in record.fixed_secrets.items()}
