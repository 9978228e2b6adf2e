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


def pinned_host(*cpus: str) -> dict[str, Any]:
    """Keys of a stack with a virt host of 32 CPUs and one virtual machine of 4 CPUs for each pinning; "" is without."""
    guests = [
        {"id": number, "name": f"guest{number + 1}", "cpu": 4, "ram": 8, "address": f"10.20.9.{20 + number}"}
        | {"roles": ["compute"]}
        | ({"numa": {"node": 0, "cpus": text}} if text else {})
        for number, text in enumerate(cpus)
    ]
    host = server("v1", ["virt", "compute"], "10.20.9.9", vms=guests, cpu=32, memory=256)
    servers = [*full_size("100")["servers"], host]
    return {"servers": servers, "features": ["reduced-footprint"], "acknowledged": ALL}


def shared(node: str, stack: dict[str, Any]) -> tuple[object, object]:
    """Returns the CPUs of tenants, and the cores that are kept from them, as nova-compute reads them on a node."""
    made = plan(parsed(full_size("100", **stack)))
    file = next(each for each in configuration.of_service(made, "nova-compute") if each.name == "nova.conf")
    found = configuration.on_node(file, made, "nova-compute", node)
    assert isinstance(found, ConfigFile)
    sections = found.document()
    cpus = sections.get("compute", {}).get("cpu_shared_set")
    return cpus and cpus.value, sections["DEFAULT"]["reserved_host_cpus"].value


def test_cpus_of_pinned_machines_are_not_those_of_tenants() -> None:
    """Nova has reserved_host_cpus or a set of CPUs: with both, nova-compute does not start."""
    plain, plain_cores = shared("v1", pinned_host(""))
    assert (plain, type(plain_cores)) == (None, int)
    kept = int(str(plain_cores)) - 4
    assert kept == 3
    assert shared("v1", pinned_host("8-11")) == ("3-7,12-31", 0)
    assert shared("v1", pinned_host("0-3,16-19")) == ("7-15,20-31", 0)
    stack = pinned_host("8-11")
    assert shared("cmp1", stack)[0] is shared("guest1", stack)[0] is None
    assert shared("cmp1", stack)[1] == shared("guest1", stack)[1] == kept


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [
        (("8-11", "8-11"), "7,12-31"),  # 8 virtual CPUs on 4: the other 4 are kept too
        (("8-15", ""), "7,16-31"),  # 4 virtual CPUs on 8, and 4 on any
        (("2-3",), "7-31"),
        (("0-30",), "31"),
        (("40-47",), "7-31"),  # CPUs of a machine with more of them than its cpu says
    ],
)
def test_what_is_kept_beside_pinned_machines(cpus: tuple[str, ...], expected: str) -> None:
    assert shared("v1", pinned_host(*cpus)) == (expected, 0)


def test_a_member_of_etcd_is_pinned_too() -> None:
    """Its machine runs no pods, so it is not a node of the cluster."""
    vm: dict[str, Any] = {"id": 0, "name": "etcd[1-3]", "cpu": 4, "ram": 8, "address": "10.20.9.20", "roles": ["etcd"]}
    vm["numa"] = {"node": 0, "cpus": "8-11"}
    hosts = server("v[1-3]", ["virt", "compute"], "10.20.9.9", vms=[vm], cpu=32, memory=256)
    servers = [*full_size("100")["servers"], hosts]
    stack = {"servers": servers, "features": ["reduced-footprint"], "acknowledged": ALL}
    assert shared("v2", stack) == ("3-7,12-31", 0)


def test_machines_that_have_all_cpus_leave_no_set() -> None:
    assert shared("v1", pinned_host("0-31")) == (None, 7)


@pytest.mark.parametrize("key", ["cpu_shared_set", "cpu_dedicated_set", "reserved_host_cpus"])
def test_what_the_stack_file_says_of_cpus_is_not_touched(key: str) -> None:
    options = {"DEFAULT": {key: 5}} if key.startswith("reserved") else {"compute": {key: "4-7"}}
    stack = pinned_host("8-11")
    stack["nodes"] = {"v1": {"services": {"nova-compute": {"options": {"nova.conf": options}}}}}
    assert shared("v1", stack) == ("4-7" if key == "cpu_shared_set" else None, 5 if key.startswith("reserved") else 0)


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
