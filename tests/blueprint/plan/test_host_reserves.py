"""What nova-compute keeps from tenants, in plans with and without virtual machines on computes."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.plan.host_reserves import HostReserve, host_reserves
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from openstack import configuration
from openstack.config.layers import ConfigFile
from tests.stacks import STACKS, full_size, parsed, server


def reserved(node: str, **stack: Any) -> dict[str, Any]:
    """Returns the two options as nova-compute reads them on a node."""
    made = plan(parsed(full_size("100", **stack)))
    file = next(each for each in configuration.of_service(made, "nova-compute") if each.name == "nova.conf")
    found = configuration.on_node(file, made, "nova-compute", node)
    assert isinstance(found, ConfigFile)
    return {
        name: setting.value
        for name, setting in found.document()["DEFAULT"].items()
        if name.startswith("reserved_host_")
    }


def with_virt_host() -> list[dict[str, Any]]:
    vm = {"id": 0, "name": "guest1", "cpu": 4, "ram": 32, "address": "10.20.9.20", "roles": ["compute"]}
    host = server("v1", ["virt", "compute"], "10.20.9.9", vms=[vm])
    return [*full_size("100")["servers"], host]


def test_a_compute_keeps_the_requests_of_its_pods_and_the_system_share() -> None:
    made = plan(parsed(full_size("100")))
    reserve = host_reserves(made)["cmp1"]
    pods = [made.sizes[each.name] for each in made.processes if "compute" in each.pools]
    assert {"nova-compute", "neutron-l2-agent"} <= {each.name for each in made.processes if "compute" in each.pools}
    assert reserve.memory == 1024 + sum(pod.memory_mi for pod in pods)
    assert reserve.cpu - 1 < (500 + sum(pod.cpu_m for pod in pods)) / 1000 <= reserve.cpu
    assert set(host_reserves(made)) == {"cmp1", "cmp2", "cmp3"}


def test_a_virt_host_keeps_what_its_machines_take_too() -> None:
    """Kubelet reserves 24 cores and 52 GiB there for four machines and the host."""
    reserves = host_reserves(plan(load_file(STACKS["dev"])))
    assert set(reserves) == {"virt1", "virt2", "virt3"}
    assert all(each.memory > 52 * 1024 and each.cpu >= 24 for each in reserves.values())


def test_a_small_node_keeps_a_core_and_a_gib_for_tenants() -> None:
    reserves = host_reserves(plan(load_file(STACKS["one-server"])))
    made = plan(load_file(STACKS["one-server"]))
    for node in made.nodes:
        if node.name in reserves:
            assert reserves[node.name] < HostReserve(node.machine.memory * 1024, node.machine.cpu)
            assert 0 < reserves[node.name].cpu < node.machine.cpu


def test_each_compute_reads_its_own_reserve() -> None:
    servers = with_virt_host()
    stack: dict[str, Any] = {"servers": servers, "features": ["reduced-footprint"], "acknowledged": ALL}
    plain, host = reserved("cmp1", **stack), reserved("v1", **stack)
    assert host["reserved_host_memory_mb"] - plain["reserved_host_memory_mb"] == (32 + 4) * 1024
    assert host["reserved_host_cpus"] - plain["reserved_host_cpus"] == 4


@pytest.mark.parametrize("level", ["projects", "services"])
def test_the_stack_file_overrides_the_reserve_on_every_compute(level: str) -> None:
    options = {"options": {"nova.conf": {"DEFAULT": {"reserved-host-memory-mb": 9}}}}
    servers, name = with_virt_host(), {"projects": "nova", "services": "nova-compute"}[level]
    stack: dict[str, Any] = {"servers": servers, "features": ["reduced-footprint"], "acknowledged": ALL}
    stack[level] = {name: options}
    assert [reserved(node, **stack)["reserved_host_memory_mb"] for node in ("cmp1", "v1")] == [9, 9]
    assert reserved("v1", **stack)["reserved_host_cpus"] > reserved("cmp1", **stack)["reserved_host_cpus"]


def test_the_stack_file_overrides_the_reserve_of_one_node() -> None:
    options = {"options": {"nova.conf": {"DEFAULT": {"reserved_host_cpus": 7}}}}
    stack: dict[str, Any] = {"servers": with_virt_host(), "features": ["reduced-footprint"], "acknowledged": ALL}
    stack["nodes"] = {"v1": {"services": {"nova-compute": options}}}
    assert reserved("v1", **stack)["reserved_host_cpus"] == 7
    assert reserved("cmp1", **stack)["reserved_host_cpus"] < 7


ALL = ["performance", "security", "isolation"]


@pytest.mark.parametrize(
    "stack",
    [
        {"projects": {"nova": {"options": {"nova.conf": {"compute": {"cpu_shared_set": "2-23"}}}}}},
        {"services": {"nova-compute": {"options": {"nova.conf": {"compute": {"cpu-dedicated-set": "2-23"}}}}}},
        {"nodes": {"cmp[1-2]": {"services": {"nova-compute": {"options": {"nova.conf": {"compute": {
            "cpu_shared_set": "2-23"}}}}}}}},
    ],
)  # fmt: skip
def test_cpus_that_are_named_for_tenants_are_the_reserve(stack: dict[str, Any]) -> None:
    """Nova does not start with both: "The 'reserved_host_cpus' config option cannot be defined alongside"."""
    assert reserved("cmp1", **stack)["reserved_host_cpus"] == 0
    assert reserved("cmp1", **stack)["reserved_host_memory_mb"] > 3000
    assert (reserved("cmp3", **stack)["reserved_host_cpus"] == 0) == ("nodes" not in stack)
