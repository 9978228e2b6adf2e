"""Memcached: a cache of tokens, and of data of Keystone, Nova, Heat and Horizon. Its content may be lost at any time.

Instances are independent of each other. A client's configuration lists all instances, and the client chooses one by the
key, or another one while that one is unreachable. Therefore memcached is a StatefulSet, whose pods keep their names.
"""

from __future__ import annotations

from openstack.config.ports import MEMCACHED
from openstack.definition import Container, Port, ProcessDefinition, ProjectDefinition, Tcp

MEMORY = 256
"""Size of an instance's cache in MiB: some ten thousand tokens. A project figure, not measured."""
CONNECTIONS = 10_000
"""Maximum number of connections of an instance, the same as for ProxySQL. Each worker process of an API keeps up to 10
(memcache_pool_maxsize)."""

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
