"""Checks that the stack has the services that its other services cannot be configured without."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from blueprint.problems import Problem


@dataclass(frozen=True)
class _Group:
    needed: tuple[str, ...]
    """Services whose addresses or numbers of workers are in the configuration of all services of the group."""
    others: tuple[str, ...] = ()


_GROUPS = (
    _Group(("cinder-api",), ("cinder-scheduler", "cinder-volume", "cinder-backup")),
    _Group(("heat-api", "heat-api-cfn", "heat-engine")),
    _Group(
        ("neutron-server",), ("neutron-dhcp-agent", "neutron-l2-agent", "neutron-l3-agent", "neutron-metadata-agent")
    ),
    _Group(("nova-api", "nova-conductor", "nova-scheduler"), ("nova-compute", "nova-novncproxy")),
    _Group(("elasticsearch-kibana",), ("lma-aggregator",)),
)


def problems(key: str, services: Collection[str]) -> Iterator[Problem]:
    """Yields a problem for each service that the stack lacks although others of its group need it.

    `key`: the key of the stack file that names the services of the stack. `services`: the services that run.
    """
    for group in _GROUPS:
        present = [name for name in (*group.needed, *group.others) if name in services]
        for name in group.needed:
            if present and name not in services:
                text = f"{', '.join(present)} cannot be configured without {name}; add {name}, or remove them"
                yield Problem(key, text)
