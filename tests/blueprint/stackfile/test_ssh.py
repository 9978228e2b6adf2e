"""Tests that each machine of the inventory gets the SSH host key that the stack file sets for its name."""

from __future__ import annotations

from typing import Any

from blueprint.stackfile.inventory import Machine, machines
from blueprint.stackfile.loader import load_file
from tests.stacks import full_size, server, write

ONE = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGXqs8CyFbxQiLxeSStFVrwAOGXvJ5DtYNBNv1YYcF0c"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiI comment"


def loaded(tmp_path: Any, *extra: dict[str, Any]) -> dict[str, Machine]:
    stack = full_size("100", features=["reduced-footprint"])
    stack["servers"] += extra
    return {machine.name: machine for machine in machines(load_file(write(tmp_path, stack)))}


def test_a_key_without_a_name_is_the_single_servers(tmp_path: Any) -> None:
    found = loaded(tmp_path, server("x1", ["compute"], "10.20.9.9", hostKey=ONE))
    assert found["x1"].host_key == ONE


def test_keys_of_a_pattern_are_by_name_and_may_be_left_out(tmp_path: Any) -> None:
    found = loaded(tmp_path, server("x[1-3]", ["compute"], "10.20.9.9", hostKey={"x1": ONE, "x3": OTHER}))
    assert [found[name].host_key for name in ("x1", "x2", "x3")] == [ONE, None, OTHER]


def test_a_virtual_machine_has_a_key_of_its_own(tmp_path: Any) -> None:
    vm = {"id": 0, "cpu": 4, "ram": 8, "address": "10.20.9.20", "roles": ["compute"], "hostKey": OTHER}
    found = loaded(tmp_path, server("v1", ["virt"], "10.20.9.9", hostKey=ONE, vms=[vm]))
    assert (found["v1"].host_key, found["v1-vm0"].host_key) == (ONE, OTHER)
