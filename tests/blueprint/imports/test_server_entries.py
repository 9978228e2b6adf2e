"""Servers with consecutive numbers and addresses become patterns that stand for exactly these servers."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blueprint.imports.server_entries import ImportedServer, entries
from blueprint.stackfile.inventory import machines
from tests.stacks import parsed


def servers(*names: str, first: int = 1, **more: str) -> list[ImportedServer]:
    return [ImportedServer(name, ["controller"], f"10.0.0.{first + place}", **more) for place, name in enumerate(names)]


def names(found: list[ImportedServer]) -> list[object]:
    return [entry["name"] for entry in entries(found)]


@pytest.mark.parametrize(
    ("given_names", "written"),
    [
        (["a1", "a2", "a3"], ["a1", "a2", "a3"]),
        (["a1", "a2", "a3", "a4"], ["a[1-4]"]),
        (["a8", "a9", "a10", "a11"], ["a[8-11]"]),
        (["a08", "a09", "a10", "a11"], ["a[08-11]"]),
        (["a8", "a09", "a10", "a11"], ["a8", "a09", "a10", "a11"]),
        (["r1n1.b2", "r1n2.b2", "r1n3.b2", "r1n4.b2"], ["r1n[1-4].b2"]),
        (["a1", "a2", "a3", "a4", "b5", "a6"], ["a[1-4]", "b5", "a6"]),
        (["a1", "a2", "a4", "a5", "a6", "a7"], ["a1", "a2", "a[4-7]"]),
        (["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"], ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]),
    ],
)
def test_runs(given_names: list[str], written: list[str]) -> None:
    assert names(servers(*given_names)) == written


def test_what_differs_ends_a_run() -> None:
    one, other = servers("a1", "a2", "a3", "a4"), servers("a5", "a6", "a7", "a8", first=9)
    assert names(one + other) == ["a[1-4]", "a[5-8]"]
    assert names(one + servers("a5", first=5, rack="r1")) == ["a[1-4]", "a5"]
    other = servers("a5", first=5)
    other[0].roles = ["compute"]
    assert names(one + other) == ["a[1-4]", "a5"]


def test_a_run_counts_from_its_first_number() -> None:
    found = servers("a08", "a09", "a10", "a11") + servers("b1", "b2", "b3", "b4", first=20)
    assert [entry.get("countFrom") for entry in entries(found)] == [8, None]
    settings = parsed({"profile": "lab", "servers": list(entries(found))})
    assert {machine.name: machine.address for machine in machines(settings)} == {
        server.name: server.address for server in found
    }


def test_a_run_is_no_longer_than_a_pattern_may_be() -> None:
    found = [
        ImportedServer(f"a{number}", ["compute"], str(IPv4Address("10.0.0.0") + number)) for number in range(1, 10_006)
    ]
    assert names(found) == ["a[1-10000]", "a[10001-10005]"]


@given(st.lists(st.tuples(st.sampled_from(["a", "b-", "c1x"]), st.integers(0, 12), st.booleans()), unique=True))
def test_the_entries_stand_for_the_servers(made: list[tuple[str, int, bool]]) -> None:
    written = {f"{text}{number:02}" if is_padded else f"{text}{number}": number for text, number, is_padded in made}
    found = servers(*written, "z")
    settings = parsed({"profile": "lab", "servers": list(entries(found))})
    assert {machine.name: machine.address for machine in machines(settings)} == {
        server.name: server.address for server in found
    }
