"""How many instances each process has, and the reason that counts first."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint import replicas
from blueprint.architecture.loader import load_architecture
from blueprint.architecture.model import Row
from blueprint.replicas import Reason, Replicas
from blueprint.stackfile.settings import Settings
from tests.projects import RECORDS
from tests.stacks import full_size, own_galera, parsed, two_brokers

ROWS = {row.service: row for row in load_architecture("300").rows}


def stack(services: dict[str, Any]) -> Settings:
    return parsed({**full_size("300"), "services": services})


@pytest.mark.parametrize(
    ("service", "written", "expected"),
    [
        ("keystone", {}, Replicas(3, Reason.LAYOUT)),
        ("keystone", {"replicas": 5}, Replicas(5, Reason.STACK_FILE)),
        ("keystone", {"options": {"keystone.conf": {"token": {"expiration": 900}}}}, Replicas(3, Reason.LAYOUT)),
        ("nova-compute", {}, Replicas(40, Reason.EVERY_NODE)),
        ("nova-compute", {"replicas": 5}, Replicas(40, Reason.EVERY_NODE)),
        ("glance-registry", {"replicas": 5}, Replicas(0, Reason.RETIRED)),
    ],
)
def test_a_row(service: str, written: dict[str, Any], expected: Replicas) -> None:
    settings = stack({service: written})
    assert replicas.of_row(ROWS[service], settings, nodes=40, laid=3) == expected


@pytest.mark.parametrize(
    ("name", "process", "written", "expected"),
    [
        ("proxysql", "proxysql", {}, Replicas(3, Reason.LAYOUT)),
        ("proxysql", "proxysql", {"replicas": 2}, Replicas(2, Reason.STACK_FILE)),
        ("neutron-proxysql", "proxysql", {"replicas": 2}, Replicas(2, Reason.STACK_FILE)),
        ("openstack-exporter", "openstack-exporter", {}, Replicas(1, Reason.ONE_IS_ENOUGH)),
        ("openstack-exporter", "openstack-exporter", {"replicas": 2}, Replicas(2, Reason.STACK_FILE)),
        ("node-exporter", "node-exporter", {"replicas": 2}, Replicas(40, Reason.EVERY_NODE)),
    ],
)
def test_a_companion(name: str, process: str, written: dict[str, Any], expected: Replicas) -> None:
    settings = stack({name: written})
    assert replicas.of_companion(name, process, settings, nodes=40, laid=3) == expected


def test_further_clusters_of_a_row_that_does_not_share_need_further_dedicated_nodes() -> None:
    architecture = load_architecture("500")
    row = architecture.row("rabbitmq")
    assert not row.shareable
    plain = parsed(full_size("500"))
    assert replicas.dedicated_nodes(row, plain) == row.dedicated_nodes == 3
    brokers = parsed({**full_size("500"), **two_brokers(replicas=5)})
    assert replicas.dedicated_nodes(row, brokers) == 3 + 5 + 3
    larger = two_brokers()
    larger["services"]["rabbitmq"] = {"replicas": 5}
    assert replicas.dedicated_nodes(row, parsed({**full_size("500"), **larger})) == 5 + 5 + 5
    shared = ROWS["mysqld"]
    assert shared.shareable
    assert replicas.dedicated_nodes(shared, stack(own_galera(replicas=5)["services"])) == 3


def test_each_number_of_the_stack_file_has_the_process_that_it_counts() -> None:
    services = {
        **own_galera(replicas=5)["services"],
        "neutron-proxysql": {"replicas": 2},
        "keystone": {"replicas": 3},
        "heat-api": {"image": "registry/heat:1"},
    }
    assert list(replicas.written(stack(services))) == [
        ("neutron-mysqld", "mysqld", 5), ("neutron-proxysql", "proxysql", 2), ("keystone", "keystone", 3)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("process", "reason"),
    [
        ("keystone", None),
        ("proxysql", None),
        ("no-such-service", None),
        ("node-exporter", "it runs once on every node; remove replicas"),
        ("nova-compute", "it runs once on every node of its pools; remove replicas and add nodes instead"),
    ],
)
def test_no_number_for_what_runs_on_every_node(process: str, reason: str | None) -> None:
    rows: dict[str, Row] = ROWS
    assert replicas.refusal(process, rows, RECORDS) == reason
