"""Memcached: a cache of validated tokens and of Keystone's lookups, which every instance may lose at any time.

Instances do not know each other. A client chooses one by the key among all names in its configuration and, while that
one is unreachable, another one: hence a StatefulSet, whose pods keep their names.
"""

from __future__ import annotations

from components.openstack.config.ports import MEMCACHED
from components.openstack.definition import Container, Port, ProcessDefinition, ProjectDefinition, Tcp

MEMORY = 256
"""MiB of the cache: some ten thousand tokens. A project figure, not measured."""
CONNECTIONS = 10_000
"""As many as ProxySQL admits. Each worker process of an API keeps up to 10 (memcache_pool_maxsize)."""

PROCESS = ProcessDefinition(
    name="memcached",
    project="memcached",
    kind="StatefulSet",
    uid=42457,
    containers=(
        Container(
            name="memcached",
            image="memcached",
            user="memcached",
            # Without UDP (-U 0), which amplifies attacks.
            command=f"memcached -l 0.0.0.0 -p {MEMCACHED} -U 0 -m {MEMORY} -c {CONNECTIONS}",
            ports=(Port("memcached", MEMCACHED),),
            ready=Tcp("memcached"),
            alive=Tcp("memcached"),
        ),
    ),
)

PROJECT = ProjectDefinition(name="memcached", processes=(PROCESS,))
