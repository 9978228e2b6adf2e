"""A worker of Neutron's API that takes the place of a killed one is in the list of workers once."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Neutron's module, whose list has a primary key."""
    db, found = ModuleType("neutron.db"), ModuleType("neutron.db.ovn_hash_ring_db")
    listed: dict[str, Any] = {}

    def add_node(_context: object, _group: str, node_uuid: str, created_at: object = None) -> str:
        if node_uuid in listed:
            raise ValueError(f"DBDuplicateEntry: {node_uuid}")
        listed[node_uuid] = created_at
        return node_uuid

    def remove_node_by_uuid(_context: object, node_uuid: str) -> None:
        listed.pop(node_uuid, None)

    vars(found).update(add_node=add_node, remove_node_by_uuid=remove_node_by_uuid, listed=listed)
    vars(db).update(ovn_hash_ring_db=found)
    for name, module in (("neutron", ModuleType("neutron")), (db.__name__, db), (found.__name__, found)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "openstack.scripts.ovn_workers", raising=False)
    importlib.import_module("openstack.scripts.ovn_workers")
    return found


def test_a_worker_takes_the_place_of_a_killed_one(ring: Any) -> None:
    assert ring.add_node("context", "group", "one", created_at=1) == "one"
    ring.add_node("context", "group", "other", created_at=1)
    ring.add_node("context", "group", "one", created_at=2)
    assert ring.listed == {"one": 2, "other": 1}
