"""Sizes: there for every service that runs, sourced, and small enough for the servers that they are meant for."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.architecture.loader import NAMES, load_architecture
from blueprint.architecture.model import Architecture, Row
from blueprint.openstack.projects.process_definition import Profile, Resources
from blueprint.plan.planner import plan
from blueprint.plan.sizing import data_disks, light_problems, load_sizing
from blueprint.problems import InvalidStackError
from blueprint.replicas import is_agent
from tests.projects import COMPANIONS, RECORDS
from tests.stacks import full_size, parsed

SYSTEM = (500, 1024)
"""What a node keeps for itself (witness.py)."""
SEED_SERVER = (24_000 - SYSTEM[0], 256 * 1024 - SYSTEM[1])
"""A compute/controller server of source 004 (5.3.3)."""
LAB_MACHINE = (6_000, 12 * 1024)
"""Of a lab VM's 8 vCPU and 16 GiB, what its services may ask for at most."""


def running(architecture: Architecture) -> list[Row]:
    return [row for row in architecture.rows if row.replaced_by is None]


def with_companions(rows: list[Row]) -> list[str]:
    """Services of the rows, and the processes beside them."""
    services = [row.service for row in rows]
    return services + [name for name, beside in COMPANIONS.items() if beside in services]


def total(sizes: list[Resources]) -> tuple[int, int]:
    return sum(size.cpu_m for size in sizes), sum(size.memory_mi for size in sizes)


def test_every_service_that_runs_has_both_profiles() -> None:
    sizing = load_sizing(RECORDS)
    services = {row.service for name in NAMES for row in running(load_architecture(name))}
    assert set(sizing) == services | set(COMPANIONS)
    assert "glance-registry" not in sizing
    for service, profiles in sizing.items():
        assert set(profiles) == {"production", "lab"}, service


def test_lab_asks_for_no_more_than_production() -> None:
    for service, profiles in load_sizing(RECORDS).items():
        production, lab = profiles["production"], profiles["lab"]
        assert lab.cpu_m <= production.cpu_m, service
        assert lab.memory_mi <= production.memory_mi, service


def test_limits_are_not_below_requests_and_cpu_has_none() -> None:
    for service, profiles in load_sizing(RECORDS).items():
        for size in profiles.values():
            assert size.limit_memory_mi >= size.memory_mi, service
            assert size.limit_cpu_m is None, f"{service}: a throttled member looks like a dead one"


def test_the_seeds_figures_for_monitoring() -> None:
    sizing = load_sizing(RECORDS)
    seeded = {service for service, profiles in sizing.items() if _seed(profiles["production"]) == "004"}
    assert seeded == {
        "influxdb-grafana",
        "grafana",
        "openstack-exporter",
        "elasticsearch-kibana",
        "opensearch-dashboards",
    }
    for service in ("influxdb-grafana", "elasticsearch-kibana"):
        pair = [
            service,
            *(name for name, beside in COMPANIONS.items() if beside == service and not is_agent(name, RECORDS)),
        ]
        assert total([sizing[each]["production"] for each in pair]) == (4000, 8192), service
    for service in seeded:
        assert _seed(sizing[service]["lab"]) == "project"


def test_what_is_ours_says_that_it_is_unmeasured() -> None:
    for profiles in load_sizing(RECORDS).values():
        for size in profiles.values():
            assert size.source
            assert size.source.seed == "004" or "unmeasured" in size.source.says


@pytest.mark.parametrize("pool", ["mysqld", "rabbitmq"])
def test_lab_machine_carries_all_that_may_come_to_it_at_100(pool: str) -> None:
    rows = [row for row in running(load_architecture("100")) if pool in row.runs_on]
    assert len(rows) > 10
    cpu, memory = total([load_sizing(RECORDS)[name]["lab"] for name in with_companions(rows)])
    assert cpu <= LAB_MACHINE[0]
    assert memory <= LAB_MACHINE[1]


@pytest.mark.parametrize("pool", ["mysqld", "rabbitmq"])
def test_seed_server_carries_a_whole_pool_in_production_at_100(pool: str) -> None:
    architecture = load_architecture("100")
    rows = [row for row in running(architecture) if row.runs_on[0] == pool]
    rows += [row for row in running(architecture) if row.everywhere and pool in row.runs_on]
    cpu, memory = total([load_sizing(RECORDS)[name]["production"] for name in with_companions(rows)])
    assert cpu <= SEED_SERVER[0]
    assert memory <= SEED_SERVER[1]


def test_seed_storage_server_carries_ten_daemons() -> None:
    osd = load_sizing(RECORDS)["ceph-osd"]["production"]
    assert 10 * osd.cpu_m <= 24_000 - SYSTEM[0]
    assert 10 * osd.limit_memory_mi <= 128 * 1000**3 // 1024**2 - SYSTEM[1]


def test_an_osd_pod_requests_for_each_data_disk_of_its_node() -> None:
    """Hard disks where the server has any, as the source counts 900 TB on 45 servers; the pods of one set are alike."""
    config = full_size("100")
    storage = next(each for each in config["servers"] if each["roles"] == ["storage"])
    storage["disks"] = [{"size": 480, "type": "ssd", "count": 2}, {"size": 2000, "type": "hdd", "count": 10}]
    made = plan(parsed(config))
    assert {data_disks(node) for node in made.pool("storage")} == {10}
    one = load_sizing(RECORDS)["ceph-osd"]["production"]
    size = made.sizes["ceph-osd"]
    assert (size.cpu_m, size.memory_mi, size.limit_memory_mi) == (20_000, 10 * 8192, 10 * one.limit_memory_mi)
    assert made.sizes["mysqld"] == load_sizing(RECORDS)["mysqld"]["production"]


@pytest.mark.parametrize(
    ("disks", "daemons"),
    [
        ([], 1),
        ([{"size": 960, "type": "ssd", "count": 2}], 2),
        ([{"size": 480, "type": "ssd", "count": 2}, {"size": 2000, "type": "hdd", "count": 6}], 6),
    ],
)
def test_disks_that_count(disks: list[dict[str, Any]], daemons: int) -> None:
    config = full_size("100")
    storage = next(each for each in config["servers"] if each["roles"] == ["storage"])
    storage["disks"] = disks
    made = plan(parsed(config))
    assert made.sizes["ceph-osd"].cpu_m == 2000 * daemons
    assert any("are not listed" in warning for warning in made.warnings) == (not disks)


def test_a_storage_node_too_small_for_its_disks_is_an_error() -> None:
    config = full_size("100")
    storage = next(each for each in config["servers"] if each["roles"] == ["storage"])
    storage["disks"] = [{"size": 2000, "type": "hdd", "count": 12}]
    with pytest.raises(InvalidStackError, match=r"its services request 24\.65 cores"):
        plan(parsed(config))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("profile", ["production", "lab"])
def test_light_services_are_light(name: str, profile: Profile) -> None:
    sizes = {service: profiles[profile] for service, profiles in load_sizing(RECORDS).items()}
    assert list(light_problems(load_architecture(name), sizes)) == []


def test_a_light_row_that_requests_much_is_an_error() -> None:
    sizes = {
        "nagios": load_sizing(RECORDS)["mysqld"]["production"],
        "mysqld": load_sizing(RECORDS)["mysqld"]["production"],
    }
    (problem,) = light_problems(load_architecture("100"), sizes)
    assert str(problem) == (
        "quorate:architecture (100, row 'Nagios'): its footprint is light, at most 1 cores and 4 GiB, and one instance "
        "requests 2.5 cores and 13.875 GiB; write footprint: heavy"
    )


def test_sizes_of_a_node_fit_at_every_size_in_total() -> None:
    sizing = load_sizing(RECORDS)
    for name in NAMES:
        architecture = load_architecture(name)
        rows = [row for row in running(architecture) if row.instances]
        asked = [
            sizing[each]["production"]
            for row in rows
            for each in with_companions([row])
            for _ in range(row.instances or 0)
        ]
        cpu, memory = total(asked)
        assert cpu <= architecture.dedicated_total * SEED_SERVER[0], name
        assert memory <= architecture.dedicated_total * SEED_SERVER[1], name


def _seed(size: Resources) -> str | None:
    return size.source.seed if size.source else None
