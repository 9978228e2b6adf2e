"""Lets a worker of Neutron's API take the place of one that was killed. uWSGI imports it in each worker.

The workers share the events of OVN's databases by a list in Neutron's database (the hash ring). Neutron names a worker
by its host and its number, which the next one has too, and inserts it without a look at what is there: the new worker
tried for minutes, and then went on without OVN. Here what the killed one has left is removed first.
"""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

from neutron.db import ovn_hash_ring_db as ring

_add: Any = ring.add_node


def add_node(context: Any, group_name: str, node_uuid: str, **more: Any) -> Any:
    ring.remove_node_by_uuid(context, node_uuid)
    return _add(context, group_name, node_uuid, **more)


ring.add_node = add_node
