"""The machines of a stack as containers: which there are, whose they are, and which stacks are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from console.errors import UserError
from console.progress import Reporter
from tests.stacks import STACKS, parsed
from trials.cloud import bring_up, power
from trials.cloud import lab_machines as labs
from trials.cloud.drill import disturbances
from trials.cloud.lab_machines import Lab, lab_of


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(load_file(STACKS["dev"]))


@pytest.fixture(scope="module")
def lab(planned: Plan) -> Lab:
    return lab_of("dev", planned, Path("/rendered"))


def test_every_node_of_the_plan_is_a_machine(lab: Lab, planned: Plan) -> None:
    assert {(each.name, str(each.address)) for each in lab.machines} == {
        (node.name, node.address) for node in planned.nodes
    }


def test_virtual_machines_belong_to_their_server(lab: Lab) -> None:
    kinds = ("virt", "master", "messaging", "database", "storage")
    assert {server: {each.name for each in machines} for server, machines in lab.servers.items()} == {
        f"virt{number}": {f"{kind}{number}" for kind in kinds} for number in (1, 2, 3)
    }


def test_masters_come_in_the_order_of_the_plan(lab: Lab) -> None:
    assert [each.name for each in lab.masters] == ["master1", "master2", "master3"]
    assert len(lab.workers) == len(lab.machines) - 3


def test_masters_have_the_members_of_etcd(lab: Lab) -> None:
    assert lab.members == lab.masters
    assert lab.nodes == lab.machines


def test_machines_of_etcd_are_no_nodes() -> None:
    made = plan(parsed(with_etcd()))
    found = lab_of("own", made, Path("/rendered"))
    assert [each.name for each in found.members] == ["etcd1", "etcd2", "etcd3"]
    assert {each.name for each in found.machines} - {each.name for each in found.nodes} == {"etcd1", "etcd2", "etcd3"}
    assert not set(found.members) & {*found.masters, *found.workers}
    assert found.members[0] in found.servers["virt1"], "it loses power with its server"
    assert bring_up.not_ready(found, []) == [each.name for each in found.nodes]
    assert disturbances.power_cut(found, "virt1").witnesses == tuple(
        each for each in found.nodes if each.server != "virt1"
    )


def test_power_comes_back_if_an_evacuation_fails(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def evacuate() -> str:
        done.append("evacuate")
        raise UserError("cmp1 has no instance to evacuate")

    def cut(_lab: Lab, servers: Sequence[str]) -> None:
        done.append(f"off {servers}")

    def restore(_lab: Lab, servers: Sequence[str], _say: Callable[[str], None]) -> None:
        done.append(f"on {servers}")

    monkeypatch.setattr(power, "cut", cut)
    monkeypatch.setattr(power, "restore", restore)
    compute = lab.workers[-1]
    evacuation = disturbances.evacuation(lab, compute, evacuate)
    assert evacuation.machines == tuple(each.name for each in lab.servers[compute.server])
    assert evacuation.cuts_power
    with pytest.raises(UserError, match="no instance"):
        evacuation.act(list, print)
    assert done == [f"off ['{compute.server}']", "evacuate", f"on ['{compute.server}']"]


def with_etcd() -> dict[str, Any]:
    """The stack dev with a virtual machine of role etcd on each server."""
    written = yaml.safe_load(STACKS["dev"].read_text(encoding="utf-8"))["config"]
    config = {key.removeprefix("quorate:"): value for key, value in written.items()}
    guest = {"id": 4, "name": "etcd[1-3]", "cpu": 2, "ram": 4, "address": "10.20.0.61", "roles": ["etcd"]}
    config["servers"][0]["vms"].append(guest)
    return config


def test_pods_of_two_machines_share_no_address(lab: Lab) -> None:
    assert all(
        not one.pods.overlaps(other.pods) for one in lab.machines for other in lab.machines if one.name < other.name
    )


def test_only_storage_nodes_have_a_disk(lab: Lab) -> None:
    assert {each.name for each in lab.machines if each.has_disk} == {"storage1", "storage2", "storage3"}


def test_the_gateway_is_no_machine(lab: Lab) -> None:
    assert lab.gateway == IPv4Address("10.20.0.1")
    assert lab.gateway not in {each.address for each in lab.machines}


def test_a_machine_is_found_by_name(lab: Lab) -> None:
    assert lab.machine("master2").server == "virt2"
    with pytest.raises(UserError, match="The lab has no machine ctl01; it has "):
        lab.machine("ctl01")


def test_a_large_stack_is_refused() -> None:
    large = plan(load_file(STACKS["prod"]))
    with pytest.raises(UserError, match=f"prod has .* machines; `make cloud` starts at most {labs.MOST_MACHINES}"):
        lab_of("prod", large, Path("/rendered"))


def test_a_lab_that_was_made_with_other_images_is_refused(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def programs(*_: object) -> Path:
        return tmp_path

    def proxy_image(_lab: Lab) -> str:
        return "nginx"

    for module, name, value in (
        ("bring_up", "DIRECTORY", tmp_path),
        ("bring_up", "_RECORD", tmp_path / "lab.json"),
        ("bring_up", "_proxy_image", proxy_image),
        ("power", "_RECORD", tmp_path / "software.json"),
    ):
        monkeypatch.setattr(f"trials.cloud.{module}.{name}", value)
    for module in ("cluster_programs", "debian_root"):
        monkeypatch.setattr(f"toolchain.{module}.ensure", programs)
    machine = replace(lab.machines[0], directory=tmp_path / "machine")
    machine.directory.mkdir()
    (machine.directory / "installed").touch()
    power.remember(tmp_path, {"store": tmp_path / "store-before"})
    with pytest.raises(UserError, match=r"made with other images.*\n.*make cloud-down"):
        bring_up.bring_up(replace(lab, machines=(machine,)), [], Reporter())
    assert not (tmp_path / "archives").exists()
