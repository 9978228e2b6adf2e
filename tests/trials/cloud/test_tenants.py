"""What instances have noticed of a drill: their silences, and which acknowledged writes their volumes have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trials.cloud import client
from trials.cloud.drill.tenants import Tenants, silences
from trials.guest.guest_image import GuestImage

GUEST = GuestImage(Path("/kernel"), Path("/ramdisk"), Path("/disk"), Path("/busybox"))
TENANTS = Tenants(Path("/release"), Path("/lab/clouds.yaml"), client.Instances(GUEST, "physnet1"))
EVENTS = [
    {"t": 1.0, "kind": "answer", "api": "ping of a", "reason": None},
    {"t": 1.1, "kind": "write", "what": "a", "number": 16, "reason": None},
    {"t": 1.2, "kind": "answer", "api": "ping of a", "reason": "no answer"},
    {"t": 1.3, "kind": "write", "what": "a", "number": 17, "reason": None},
    {"t": 3.0, "kind": "answer", "api": "ping of a", "reason": None},
    {"t": 4.5, "kind": "write", "what": "a", "number": 18, "reason": "no acknowledgement"},
    {"t": 5.0, "kind": "write", "what": "b", "number": 16, "reason": None},
]


def test_packets_have_silences_as_apis_have() -> None:
    assert list(silences(EVENTS, 6)) == ["ping of a"]
    found = silences(EVENTS, 6)["ping of a"]
    assert (found.requests, found.failed, found.spans) == (3, 1, ((1.0, 3.0),))


def test_writes_are_looked_for_on_the_volume_of_their_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def run_tenant(settings: Path, command: list[str]) -> str:
        asked.append(command)
        assert settings == TENANTS.settings
        return json.dumps({"a": [16, 18], "b": [16, 17]})

    monkeypatch.setattr(client, "run_tenant", run_tenant)
    found = TENANTS.writes(EVENTS, 6)
    assert {title: (each.tried, each.acknowledged, each.lost) for title, each in found.items()} == {
        "volume of a": (3, 2, (17,)),
        "volume of b": (1, 1, ()),
    }
    (command,) = asked
    assert command[1].endswith("instances/traffic.py")
    assert command[2:] == ["found", "/kernel", "/ramdisk", "/disk", "/busybox", "/lab", "physnet1"]


def test_an_instance_that_is_gone_has_lost_its_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_tenant(_settings: Path, _command: list[str]) -> str:
        return json.dumps({"b": [16]})

    monkeypatch.setattr(client, "run_tenant", run_tenant)
    assert TENANTS.writes(EVENTS, 6)["volume of a"].lost == (16, 17)
