"""Positions and a status of members of Galera."""

from __future__ import annotations

from openstack.scripts.galera.decision import Position
from openstack.scripts.galera.server import Status

UUID = "11111111-1111-1111-1111-111111111111"
FIRST = ("mysqld-0", "mysqld-1", "mysqld-2")
SYNCED = Status(True, True, "4", "Synced", UUID, 7, "3", False)


def fresh(number: int) -> Position:
    return Position(f"mysqld-{number}", "starting")


def at(number: int, seqno: int, *view: int, uuid: str = UUID) -> Position:
    names = tuple(f"mysqld-{each}" for each in view or (0, 1, 2))
    return Position(f"mysqld-{number}", "starting", has_data=True, uuid=uuid, seqno=seqno, view=names)
