"""A list of servers or virtual machines in a file is the same as the list in the stack file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from commands.plan.pin import pin
from components.virt_host.domain import values
from console.errors import UserError
from tests.stacks import full_size, parsed, server, write

VMS: list[dict[str, Any]] = [
    {"id": 0, "name": "w[1-2]", "cpu": 4, "ram": 8, "address": "10.20.9.20", "roles": ["compute"], "new_value": "a"},
    {"id": 1, "cpu": 4, "ram": 16, "address": "10.20.9.30", "roles": ["compute"], "new_value": "b", "disk": 40},
]


def stack(vms: object) -> dict[str, Any]:
    """Settings with two virt hosts that have these virtual machines."""
    hosts = server("v[1-2]", ["virt"], "10.20.9.9", vms=vms)
    return {**full_size("100"), "features": ["reduced-footprint"], "servers": [*full_size("100")["servers"], hosts]}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vms.json", json.dumps(VMS, indent=2)),
        ("vms.yaml", yaml.safe_dump(VMS)),
        # As Fuel's document writes the list.
        ("vms.txt", str(VMS)),
    ],
)
def test_a_file_has_the_list(name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = plan(parsed(stack(name)))
    assert found.nodes == plan(parsed(stack(VMS))).nodes
    guest = next(node for node in found.nodes if node.name == "v2-vm1")
    assert values(guest).items() >= {"new_value": "b", "disk": 40, "cpu": 4, "ram": 16}.items()


def test_pools_of_machines_in_a_file_are_written_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    controllers = [{"id": 0, "name": "a[1-6]", "cpu": 8, "ram": 64, "address": "10.20.9.20", "roles": ["controller"]}]
    kept = [each for each in full_size("100")["servers"] if "controller" not in each["roles"]]
    config = {**full_size("100"), "profile": "lab", "features": ["reduced-footprint"]}
    config["servers"] = [*kept, server("v[1-6]", ["virt"], "10.20.9.9", vms="vms.yaml")]
    (tmp_path / "vms.yaml").write_text(yaml.safe_dump(controllers), encoding="utf-8")
    file = write(tmp_path, config)
    with pytest.raises(UserError, match=r"machines a\[1-6\] are in another file; write pool: \{.*mysqld: .* there"):
        pin(file)
    pools = {"mysqld": "a[1-3]", "rabbitmq": "a[4-6]"}
    (tmp_path / "vms.yaml").write_text(yaml.safe_dump([{**controllers[0], "pool": pools}]), encoding="utf-8")
    assert pin(file) == []


def test_a_file_has_the_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    servers = stack("vms.yaml")["servers"]
    (tmp_path / "servers.yaml").write_text(yaml.safe_dump(servers), encoding="utf-8")
    (tmp_path / "vms.yaml").write_text(yaml.safe_dump(VMS), encoding="utf-8")
    file = write(tmp_path, {**stack(VMS), "servers": "servers.yaml"})
    assert load_file(file) == parsed(stack(VMS))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("none.yaml", "none.yaml cannot be read: no such file or directory; write a list of servers such as"),
        ("../servers.yaml", "leads out of the project; write a path inside the project, relative to its directory"),
        ("mapping.yaml", "mapping.yaml is not a list; write a list of servers such as"),
    ],
)
def test_a_file_that_cannot_be_used_gets_one_message(
    path: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mapping.yaml").write_text("servers: []\n", encoding="utf-8")
    with pytest.raises(InvalidStackError) as refusal:
        load_file(write(tmp_path, {**stack(VMS), "servers": path}))
    (problem,) = refusal.value.problems
    assert problem.key == "quorate:servers"
    assert said in problem.message


def test_pools_of_servers_in_a_file_are_written_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    servers = tmp_path / "servers.yaml"
    servers.write_text("# ours\n" + yaml.safe_dump(full_size("100")["servers"]), encoding="utf-8")
    file = write(tmp_path, {**full_size("100"), "servers": servers.name})
    before = file.read_text(encoding="utf-8")
    assert [each.entry for each in pin(file)] == ["ctl[01-06]"]
    assert file.read_text(encoding="utf-8") == before
    assert servers.read_text(encoding="utf-8").startswith("# ours\n")
    assert pin(file) == []
