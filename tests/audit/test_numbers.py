"""Tests that the audit gives the origin of each number: a row, an override, the servers, or only the program."""

from __future__ import annotations

import json
from pathlib import Path

from audit import log
from audit.__main__ import main
from audit.numbers import Cell, Number, numbers, table_rows
from audit.plan import Cells, PlanFile, PlannedService
from audit.positions import StackFile
from audit.result import audit
from blueprint.plan.plan_json import to_json
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from tests.audit.logs import log_of, written
from tests.policy.world import Given, daemons, etcd, machines, masters, quorum, stack, workload
from tests.stacks import STACKS

SOURCE = "004, 5.3.16; 004, 5.3.6"
THREE = Cells(3, 0, shareable=True, load_balancer=True)
PLAN = PlanFile(
    services={
        name: PlannedService(name, name, THREE, THREE, SOURCE) for name in ("keystone", "nova-api", "nova-compute")
    }
)
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
        "members of mine": (3, "program", None),
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


def service(name: str, table: dict[str, object], **planned: object) -> dict[str, object]:
    """Returns a service as it is in plan.json."""
    holds = {"instances": 5, "dedicatedNodes": 5, "shareable": True, "loadBalancer": True, **planned}
    return {"name": name, "row": f"{name}-all", **holds, "table": table, "source": SOURCE, "replacedBy": None}


def page(directory: Path) -> str:
    """Returns the audit page of a stack with the plan.json in a directory."""
    events = written(log_of(GIVEN), directory / "events.jsonl")
    command = ["--events", str(events), "--stack", "prod", "--out", str(directory)]
    main([*command, "--plan", str(directory / "plan.json")])
    return (directory / "audit.html").read_text(encoding="utf-8")


CELLS: dict[str, object] = {"instances": 5, "dedicated": 5, "shareable": False, "loadBalancer": True}


def written_plan(directory: Path, *services: dict[str, object]) -> PlanFile:
    document: dict[str, object] = {"version": 2, "assignment": [], "services": services}
    (directory / "plan.json").write_text(json.dumps(document), encoding="utf-8")
    return PlanFile.read(directory / "plan.json")


def test_the_text_differs_from_the_table(tmp_path: Path) -> None:
    (found,) = table_rows(written_plan(tmp_path, service("keystone", CELLS)))
    assert (found.service, found.row, found.in_table, found.source) == ("keystone", "keystone-all", True, SOURCE)
    assert found.cells == (
        Cell("5", "5", differs=False),
        Cell("5", "5", differs=False),
        Cell("no", "yes", differs=True),
        Cell("yes", "yes", differs=False),
    )


def test_a_cell_without_a_value_differs_from_nothing(tmp_path: Path) -> None:
    (found,) = table_rows(written_plan(tmp_path, service("nova-compute", {**CELLS, "instances": None})))
    assert found.cells[0] == Cell("–", "5", differs=False)


def test_a_service_that_the_table_does_not_have(tmp_path: Path) -> None:
    empty: dict[str, object] = {"instances": None, "dedicated": 0, "shareable": None, "loadBalancer": None}
    (found,) = table_rows(written_plan(tmp_path, service("placement-api", empty)))
    assert not found.in_table


def test_a_retired_service_names_what_replaced_it(tmp_path: Path) -> None:
    retired = {**service("glance-registry", CELLS, instances=0), "replacedBy": "glance-api"}
    (found,) = table_rows(written_plan(tmp_path, retired))
    assert found.replaced_by == "glance-api"
    text = page(tmp_path)
    assert "retired; replaced by glance-api" in text
    assert text.count("≠ ") == 0, "what is planned for a retired service means nothing"


def test_the_page_shows_table_and_plan_side_by_side(tmp_path: Path) -> None:
    written_plan(tmp_path, service("keystone", CELLS))
    text = page(tmp_path)
    assert "The table says" in text
    assert '<th scope="row">keystone</th><td class="begins">5</td><td>5</td><td>no</td>' in text
    assert '<strong class="differs"><span aria-hidden="true">≠ </span>yes</strong>' in text


def test_every_service_of_a_plan_has_its_row(tmp_path: Path) -> None:
    """The plan of the example stack, as the planner writes it."""
    text = to_json(plan(load_file(STACKS["prod"])))
    (tmp_path / "plan.json").write_text(text, encoding="utf-8")
    rows = {each.service: each for each in table_rows(PlanFile.read(tmp_path / "plan.json"))}
    assert list(rows) == [each["name"] for each in json.loads(text)["services"]]
    assert rows["glance-registry"].replaced_by == "glance-api"
    assert not rows["placement-api"].in_table
    (balancer,) = (cell for cell in rows["neutron-server"].cells if cell.differs)
    assert (balancer.table, balancer.planned) == ("no", "yes"), "5.3.8 asks for a load balancer"
