"""Names of the secrets of services, and which of them can be replaced while the services run.

A secret is replaced by a new generation of it, with a higher number (docs/adr/0018-rotation-of-secrets.md). For an
account of MariaDB, RabbitMQ or Keystone, the new generation is a second account, so that both are valid until every
process has been restarted.
"""

from __future__ import annotations

from blueprint.openstack.projects.records import records

ACCOUNTS = frozenset(f"{name}/{kind}" for name, record in records().items() for kind in record.accounts)
"""Secrets that are passwords of accounts. Two generations of such an account can exist at the same time."""
CACHE_KEYS = frozenset(f"{name}/memcached" for name, record in records().items() if record.cache_key)
"""Secrets that encrypt cached tokens.

A process that cannot decrypt a token of another generation asks Keystone again.
"""
FIXED = {secret: why for record in records().values() for secret, why in record.fixed_secrets.items()}
"""Secrets that cannot be replaced while the services run, each with the reason."""
