"""Every number says where it comes from: a row, an override, the servers, or the program alone."""

from __future__ import annotations

from pathlib import Path

from audit import log
from audit.numbers import Number, numbers
from audit.plan import PlanFile
from audit.positions import StackFile
from audit.result import audit
from tests.policy.logs import log_of, written
from tests.policy.world import Given, daemons, etcd, machines, masters, quorum, stack, workload

PLAN = PlanFile(sources=dict.fromkeys(("keystone", "nova-api", "nova-compute"), "004, 5.3.16; 004, 5.3.6"))
GIVEN = [
    stack(),
    *masters(),
    etcd(),
    *machines("p", 4),
    workload("keystone", row="keystone-all", pools=["p"], replicas=4),
    workload("nova-api", row="nova-api", pools=["p"]),
    daemons("nova-compute", "p", row="nova-compute"),
    quorum("mine", row=None, pools=["p"], labels={"app": "mine"}),
]
FILE = """\
config:
  quorate:architecture: "100"
  quorate:servers:
    - name: p-[1-4]
  quorate:services:
    keystone:
      replicas: 4
"""


def found(directory: Path, file: str = FILE, given: list[Given] = GIVEN) -> dict[str, Number]:
    read = log.read(written(log_of(given), directory / "events.jsonl"))
    return {each.what: each for each in numbers(audit("prod", read), StackFile("Pulumi.prod.yaml", file), PLAN)}


def said(number: Number) -> tuple[int, str, int | None]:
    return number.value, number.origin, number.line


def test_where_they_come_from(tmp_path: Path) -> None:
    numbers = found(tmp_path)
    assert {what: said(number) for what, number in numbers.items()} == {
        "instances of keystone": (4, "override", 7),
        "instances of nova-api": (3, "row", 2),
        "instances of nova-compute": (4, "row", 3),
        "members of etcd": (3, "servers", 3),
        "instances of mine": (3, "program", None),
        "nodes of pool master": (3, "servers", 3),
        "nodes of pool p": (4, "servers", 3),
    }
    row = "row keystone-all of architecture 100: 004, 5.3.16; 004, 5.3.6"
    assert numbers["instances of keystone"].source == f"quorate:services.keystone.replicas, over {row}"


def test_a_topology_decides_counts(tmp_path: Path) -> None:
    numbers = found(tmp_path, FILE.replace("architecture:", "topology: t.yaml #"))
    assert said(numbers["instances of nova-api"]) == (3, "topology", 2)


def test_without_a_record_there_are_none(tmp_path: Path) -> None:
    read = log.read(written(log_of(GIVEN, with_record=False), tmp_path / "events.jsonl"))
    assert list(numbers(audit("prod", read), StackFile("x", FILE), PLAN)) == []
