"""The plan as text: what stands in a row, how many names, and warnings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.plan.table import summary, table
from tests.stacks import full_size, parsed, without_storage


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(parsed(full_size("100", computes=9)))


def row(text: str, name: str) -> str:
    (found,) = (line for line in text.splitlines() if line.startswith(f"{name} "))
    return " ".join(found.split())


def test_the_summary_counts_the_nodes_of_each_pool(planned: Plan) -> None:
    assert summary(planned) == (
        "architecture 100, production; nodes: master 3, rabbitmq 3, mysqld 3, storage 3, compute 9"
    )
    assert table(planned).startswith(summary(planned) + "\n\npool")


def test_nine_names_are_told_and_of_ten_the_first_seven_and_the_last(planned: Plan) -> None:
    assert row(table(planned), "compute") == "compute cmp1 cmp2 cmp3 cmp4 cmp5 cmp6 cmp7 cmp8 cmp9"
    more = plan(parsed(full_size("100", computes=10)))
    assert row(table(more), "compute") == "compute cmp1 cmp2 cmp3 cmp4 cmp5 cmp6 cmp7 … cmp10 (10)"


def test_a_retired_row_names_what_is_there_instead_and_the_rows_after_it_are_told(planned: Plan) -> None:
    text = table(planned)
    assert row(text, "glance-registry") == "glance-registry - - retired: glance-api"
    assert row(text, "rabbitmq-server") == "rabbitmq-server 3 3 ctl01 ctl02 ctl03"
    assert row(text, "nova-compute").startswith("nova-compute 9 - cmp1 ")
    assert row(text, "+ memcached").startswith("+ memcached 3 - ctl0")


def test_warnings_are_at_the_end(planned: Plan) -> None:
    quiet = table(replace(planned, warnings=()))
    assert quiet.endswith("\n")
    assert not quiet.endswith("\n\n")
    assert table(replace(planned, warnings=("one", "two"))) == quiet + "\nwarning: one\nwarning: two\n"


def test_it_names_an_external_ceph() -> None:
    lines = table(plan(parsed(without_storage("100")))).splitlines()
    said = "Ceph: an external cluster, afca8524-2c47-4b81-a0b7-2300e62212f9, with monitors "
    assert f"{said}10.90.0.2 10.90.0.3 10.90.0.4" in lines
    assert not [line for line in lines if line.startswith(("ceph-", "radosgw"))]
    assert "Ceph:" not in table(plan(parsed(full_size("100"))))
