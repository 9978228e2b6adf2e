"""Sizes: there for every service that runs, sourced, and small enough for the servers that they are meant for."""

from __future__ import annotations

import pytest

from blueprint.architecture.loader import NAMES, load_architecture
from blueprint.architecture.model import Architecture, Row
from blueprint.plan.companions import COMPANIONS
from blueprint.plan.sizing import Resources, load_sizing

SYSTEM = (500, 1024)
"""What a node keeps for itself (witness.py)."""
SEED_SERVER = (24_000 - SYSTEM[0], 256 * 1024 - SYSTEM[1])
"""A compute/controller server of the seed (5.3.3)."""
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
    sizing = load_sizing()
    services = {row.service for name in NAMES for row in running(load_architecture(name))}
    assert set(sizing) == services | set(COMPANIONS)
    assert "glance-registry" not in sizing
    for service, profiles in sizing.items():
        assert set(profiles) == {"production", "lab"}, service


def test_lab_asks_for_no_more_than_production() -> None:
    for service, profiles in load_sizing().items():
        production, lab = profiles["production"], profiles["lab"]
        assert lab.cpu_m <= production.cpu_m, service
        assert lab.memory_mi <= production.memory_mi, service


def test_limits_are_not_below_requests_and_cpu_has_none() -> None:
    for service, profiles in load_sizing().items():
        for size in profiles.values():
            assert size.limit_memory_mi >= size.memory_mi, service
            assert size.limit_cpu_m is None, f"{service}: a throttled member looks like a dead one"


def test_the_seeds_figures_for_monitoring() -> None:
    sizing = load_sizing()
    seeded = {service for service, profiles in sizing.items() if _seed(profiles["production"]) == "004"}
    assert seeded == {"influxdb-grafana", "grafana", "elasticsearch-kibana", "opensearch-dashboards", "nagios"}
    for service in ("influxdb-grafana", "elasticsearch-kibana", "nagios"):
        pair = [service, *(companion for companion, beside in COMPANIONS.items() if beside == service)]
        assert total([sizing[each]["production"] for each in pair]) == (4000, 8192), service
    for service in seeded:
        assert _seed(sizing[service]["lab"]) == "ours"


def test_what_is_ours_says_that_it_is_unmeasured() -> None:
    for profiles in load_sizing().values():
        for size in profiles.values():
            assert size.source
            assert size.source.seed == "004" or "unmeasured" in size.source.says


@pytest.mark.parametrize("pool", ["mysqld", "rabbitmq"])
def test_lab_machine_carries_all_that_may_come_to_it_at_100(pool: str) -> None:
    rows = [row for row in running(load_architecture("100")) if pool in row.runs_on]
    assert len(rows) > 10
    cpu, memory = total([load_sizing()[name]["lab"] for name in with_companions(rows)])
    assert cpu <= LAB_MACHINE[0]
    assert memory <= LAB_MACHINE[1]


@pytest.mark.parametrize("pool", ["mysqld", "rabbitmq"])
def test_seed_server_carries_a_whole_pool_in_production_at_100(pool: str) -> None:
    architecture = load_architecture("100")
    rows = [row for row in running(architecture) if row.runs_on[0] == pool]
    rows += [row for row in running(architecture) if row.everywhere and pool in row.runs_on]
    cpu, memory = total([load_sizing()[name]["production"] for name in with_companions(rows)])
    assert cpu <= SEED_SERVER[0]
    assert memory <= SEED_SERVER[1]


def test_seed_storage_server_carries_ten_daemons() -> None:
    osd = load_sizing()["ceph-osd"]["production"]
    assert 10 * osd.cpu_m <= 24_000 - SYSTEM[0]
    assert 10 * osd.limit_memory_mi <= 128 * 1000**3 // 1024**2 - SYSTEM[1]


def test_sizes_of_a_node_fit_at_every_size_in_total() -> None:
    sizing = load_sizing()
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
