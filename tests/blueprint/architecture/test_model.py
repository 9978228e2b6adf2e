"""The reference architectures say what source 004's tables say.

tests/data/placement_tables.yaml is a second transcription of the tables, made from source 004's text. What the text
decides is in test_architecture_text.py, files of a user's own and faulty ones in test_architecture_file.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
import yaml
from pydantic import ValidationError

from blueprint.architecture.loader import NAMES, ArchitectureError, for_computes, load_architecture
from blueprint.architecture.model import Architecture, Row

Table = dict[str, list[str]]

TABLES = cast(
    "dict[str, Table]",
    yaml.safe_load((Path(__file__).parents[2] / "data" / "placement_tables.yaml").read_text(encoding="utf-8")),
)
NAGIOS = {
    "300": "108 mgios",
    "500": "5.3.3 OpenStack Reference Architecture For 100, 300 and 500 Nodes",
}
"""How a page break left the line of Nagios."""
PAGE_BREAK = {"100": "5.3.1 OpenStack Reference Architecture For 100, 300 and 500 Nodes"}
"""A page break between two lines."""
LOST = {("300", "load_balancer"), ("500", "instances"), ("500", "dedicated"), ("500", "share")}
"""Cells of Nagios that the page break took."""
OWNERS = {
    "100": {"rabbitmq": 3, "mysqld": 3},
    "300": {"keystone": 3, "rabbitmq": 3, "mysqld": 3},
    "500": {"keystone": 5, "rabbitmq": 3, "mysqld": 3},
    "1000": {
        "keystone": 5,
        "nova-api": 3,
        "nova-conductor": 3,
        "horizon": 3,
        "rabbitmq": 3,
        "mysqld": 3,
        "ceph-mon": 3,
        "lma-aggregator": 1,
        "influxdb-grafana": 3,
        "elasticsearch-kibana": 3,
    },
}


@pytest.fixture(params=NAMES)
def architecture(request: pytest.FixtureRequest) -> Architecture:
    return load_architecture(request.param)


def printed(name: str) -> Table:
    """A table by plain row name, without its total and its page breaks."""
    names = {NAGIOS.get(name): "Nagios"}
    skipped = ("TOTAL", PAGE_BREAK.get(name))
    return {names.get(row, row.rstrip("*")): cells for row, cells in TABLES[name].items() if row not in skipped}


def count(cell: str) -> int | None:
    return None if cell in (".", "–") else int(cell)


def yes(cell: str) -> bool:
    # "yes**" asks for a special load balancer, "no 109" has a page number behind it.
    return {"yes": True, "no": False}[cell.replace("*", "").split(" ")[0]]


# The tables


def test_rows_are_the_tables_in_the_tables_order(architecture: Architecture) -> None:
    rows = [row.row for row in architecture.rows if row.in_table]
    assert rows == list(printed(architecture.name))
    assert [row.row for row in architecture.rows if not row.in_table] == ["placement-api"]


def test_every_cell_is_the_tables(architecture: Architecture) -> None:
    name = architecture.name
    for row in architecture.rows:
        if not row.in_table:
            continue
        instances, dedicated, share, load_balancer = printed(name)[row.row]
        lost = {cell for size, cell in LOST if size == name and row.row == "Nagios"}
        assert row.table_instances == (None if "instances" in lost else count(instances)), row.row
        assert row.dedicated_nodes == (0 if "dedicated" in lost else count(dedicated) or 0), row.row
        assert row.table_shareable == (None if "share" in lost else yes(share)), row.row
        assert row.table_load_balancer == (None if "load_balancer" in lost else yes(load_balancer)), row.row


def test_marks_of_the_tables_are_kept(architecture: Architecture) -> None:
    marks = {row: len(row) - len(row.rstrip("*")) for row in TABLES[architecture.name]}
    on_computes = {row.rstrip("*") for row, stars in marks.items() if stars == 1}
    on_storage = {row.rstrip("*") for row, stars in marks.items() if stars == 3}
    special = {row for row, cells in TABLES[architecture.name].items() if cells[3].endswith("**")}
    assert {row.row for row in architecture.rows if row.node_role == "compute"} == on_computes
    assert {row.row for row in architecture.rows if row.node_role == "storage"} == on_storage
    assert (
        {row.row for row in architecture.rows if row.load_balancer_kind == "proxysql"} == special == {"mysqld-server"}
    )


@pytest.mark.parametrize(("name", "total"), [("100", 6), ("300", 9), ("500", 11), ("1000", 30)])
def test_dedicated_nodes_add_up_to_the_tables_total(name: str, total: int) -> None:
    architecture = load_architecture(name)
    assert count(TABLES[name]["TOTAL"][1]) == architecture.dedicated_total == total
    assert {row.service: row.dedicated_nodes for row in architecture.owners} == OWNERS[name]
    assert sum(OWNERS[name].values()) == total


def test_lost_cells_of_nagios_are_noted() -> None:
    for name in NAGIOS:
        row = load_architecture(name).row("nagios")
        assert (row.instances, row.dedicated_nodes, row.shareable, row.load_balancer) == (1, 0, True, False)
        assert "page break" in row.note


# The lab's hardware


@pytest.mark.parametrize(
    ("name", "nodes", "racks"), [("100", 100, 9), ("300", 100, 9), ("500", 100, 9), ("1000", 516, 35)]
)
def test_hardware_adds_up(name: str, nodes: int, racks: int) -> None:
    hardware = load_architecture(name).hardware
    assert hardware
    computes = [server for server in hardware.servers if server.use == "compute/controller"]
    (storage,) = [server for server in hardware.servers if server.use == "storage"]
    assert {server.model for server in computes} == {"Dell R630", "Lenovo RD550-1U"}
    for server in computes:
        assert (nodes * server.cores, nodes * server.memory) == (hardware.compute.cores, hardware.compute.memory)
    assert (hardware.compute.nodes, hardware.storage.nodes, hardware.racks) == (nodes, 45, racks)
    assert (45 * storage.cores, 45 * storage.memory) == (hardware.storage.cores, hardware.storage.memory)
    osd = sum(disk.count * disk.size for disk in storage.disks if disk.type == "hdd")
    assert 45 * osd / 1000 == hardware.storage.raw_disk == 900
    assert {switch.model for switch in hardware.switches} == {"Arista 7508E", "Arista 7050X"}
    assert [network.name for network in hardware.networks] == ["management", "public", "storage", "overlay"]
    assert (hardware.monitoring.cores, hardware.monitoring.memory) == (4, 8)


# Choosing and finding


def test_names_are_sizes(architecture: Architecture) -> None:
    assert str(architecture.computes) == architecture.name


@pytest.mark.parametrize(
    ("computes", "name"),
    [(0, "100"), (1, "100"), (100, "100"), (101, "300"), (300, "300"), (301, "500"), (501, "1000"), (1000, "1000")],
)
def test_the_smallest_that_is_not_smaller(computes: int, name: str) -> None:
    assert for_computes(computes) == name


def test_more_computes_than_any_architecture() -> None:
    with pytest.raises(ArchitectureError, match=r"1001 computes are more than .* [(]1000[)]; divide them over"):
        for_computes(1001)


def test_row_by_service() -> None:
    architecture = load_architecture("100")
    assert architecture.row("keystone").row == "keystone-all"
    with pytest.raises(KeyError, match="no service 'keystone-all'; it has keystone, nova-api"):
        architecture.row("keystone-all")


def test_rows_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load_architecture("100").row("keystone").instances = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    ("footprint", "admits", "expected"),
    [
        ("light", ("light",), True),
        ("heavy", ("light",), False),
        ("heavy", ("any",), True),
        ("heavy", ("light", "guest"), True),
        ("light", (), False),
    ],
)
def test_admits_guest(footprint: str, admits: tuple[str, ...], expected: bool) -> None:
    row = load_architecture("100").row("mysqld")
    guest = row.model_copy(update={"service": "guest", "footprint": footprint})
    owner: Row = row.model_copy(update={"admits": admits})
    assert owner.admits_guest(guest) is expected
    assert owner.admits_guest(owner)
