"""A user's own architecture file works like a built-in one; a faulty one is refused with every fault, its row and the
fix.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from pydantic import BaseModel

from blueprint.architecture.loader import FOLDER, ArchitectureError, load_architecture
from blueprint.architecture.model import Architecture, Row

Data = dict[str, Any]
Write = Callable[[Data], str]


@pytest.fixture
def data() -> Data:
    return ours("100")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(data: Data) -> str:
        path = tmp_path / "own.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        return str(path)

    return to_file


def ours(name: str) -> Data:
    return cast("Data", yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))


def row(data: Data, service: str) -> Data:
    return next(item for item in data["rows"] if item["service"] == service)


def faults(path: str) -> list[tuple[str, str]]:
    with pytest.raises(ArchitectureError) as refused:
        load_architecture(path)
    return [(problem.key.removeprefix(f"{path}, "), problem.message) for problem in refused.value.problems]


def test_own_file_of_the_same_form(data: Data, write: Write) -> None:
    data |= {"name": "ours-50", "computes": 50}
    del data["hardware"]
    architecture = load_architecture(write(data))
    assert (architecture.name, architecture.computes, architecture.hardware) == ("ours-50", 50, None)
    assert architecture.rows == load_architecture("100").rows


def test_own_file_may_put_everything_on_undedicated_controllers(data: Data, write: Write) -> None:
    for item in data["rows"]:
        item |= {"dedicated_nodes": 0, "admits": [], "apart_from": []}
        if not item.get("everywhere"):
            item["runs_on"] = ["controller"]
    row(data, "neutron-l2-agent")["runs_on"] = ["compute", "controller"]
    data["dedicated_total"] = 0
    assert load_architecture(write(data)).owners == ()


# One fault each: what is changed, the row it is in, what is said.

FAULTS: dict[str, tuple[Callable[[Data], object], str, str]] = {
    "unknown key": (
        lambda d: row(d, "keystone").update(replicas=3),
        "row keystone-all, replicas",
        "is not known; leave it out, or write the key that was meant",
    ),
    "missing key": (
        lambda d: row(d, "keystone").pop("footprint"),
        "row keystone-all, footprint",
        "is missing; write it (docs/architectures.md says what it means)",
    ),
    "number in quotes": (
        lambda d: row(d, "keystone").update(instances="3"),
        "row keystone-all, instances",
        "'3' does not fit; write a whole number without quotes",
    ),
    "the table's dot": (
        lambda d: row(d, "keystone").update(dedicated_nodes="."),
        "row keystone-all, dedicated_nodes",
        "'.' does not fit; write a whole number without quotes",
    ),
    "no instance": (
        lambda d: row(d, "keystone").update(instances=0),
        "row keystone-all, instances",
        "0 does not fit; write 1 or more",
    ),
    "word for a truth": (
        lambda d: row(d, "keystone").update(shareable="yes"),
        "row keystone-all, shareable",
        "'yes' does not fit; write true or false",
    ),
    "unknown footprint": (
        lambda d: row(d, "keystone").update(footprint="medium"),
        "row keystone-all, footprint",
        "'medium' does not fit; write 'light' or 'heavy'",
    ),
    "no pool": (
        lambda d: row(d, "keystone").update(runs_on=[]),
        "row keystone-all, runs_on",
        "an empty list does not fit; write at least 1 of them",
    ),
    "seed without number": (
        lambda d: row(d, "keystone")["sources"][0].update(seed="ccp"),
        "row keystone-all, sources.0.seed",
        r"'ccp' does not fit; write text like ^(\d{3}|project)$",
    ),
    "name as a number": (
        lambda d: d.update(name=100),
        "name",
        '100 does not fit; write text, in quotes where it looks like a number: "100"',
    ),
    "total": (
        lambda d: d.update(dedicated_total=7),
        "dedicated_total",
        "is 7, the rows dedicate 6; write 6, or fix dedicated_nodes of a row",
    ),
    "row twice": (
        lambda d: row(d, "nova-api").update(row="keystone-all"),
        "row keystone-all",
        "is listed 2 times; write each row once",
    ),
    "service twice": (
        lambda d: row(d, "nova-scheduler").update(service="nova-api"),
        "service nova-api",
        "is listed 2 times; write each service once",
    ),
    "heavy guest of a light host": (
        lambda d: row(d, "nova-api").update(runs_on=["rabbitmq"]),
        "row nova-api",
        (
            "runs on rabbitmq, whose nodes admit light, neutron-l2-agent while it is heavy; "
            "remove rabbitmq from its runs_on, or write nova-api into admits of row rabbitmq-server"
        ),
    ),
    "guest of a storage node": (
        lambda d: row(d, "nagios").update(runs_on=["storage"]),
        "row Nagios",
        (
            "runs on storage, whose nodes admit no other service while it is light; "
            "remove storage from its runs_on, or write nagios into admits of row ceph-osd"
        ),
    ),
    "unknown pool": (
        lambda d: row(d, "nova-api").update(runs_on=["mysql"]),
        "row nova-api",
        (
            "runs on 'mysql', which is not a pool (did you mean 'mysqld'?); "
            "write one of: mysqld, rabbitmq, controller, monitoring, compute, storage"
        ),
    ),
    "pool without nodes of its own": (
        lambda d: row(d, "glance-api").update(runs_on=["keystone"]),
        "row glance-api",
        (
            "runs on 'keystone', which is not a pool; "
            "write one of: mysqld, rabbitmq, controller, monitoring, compute, storage"
        ),
    ),
    "pool twice": (
        lambda d: row(d, "glance-api").update(runs_on=["mysqld", "mysqld"]),
        "row glance-api",
        "names a pool twice in runs_on; write each once",
    ),
    "apart on one pool": (
        lambda d: row(d, "horizon").update(runs_on=["rabbitmq", "mysqld"], footprint="light"),
        "row keystone-all",
        "must be apart from horizon/apache2, and both run on rabbitmq; remove it from runs_on of one of them",
    ),
    "beside no service": (
        lambda d: row(d, "nova-compute").update(beside=["l2-agent"]),
        "row nova-compute",
        "must be beside 'l2-agent', which is not a service (did you mean 'neutron-l2-agent'?); write a service",
    ),
    "beside a service of other pools": (
        lambda d: row(d, "nova-compute").update(beside=["keystone"]),
        "row nova-compute",
        "must be beside keystone-all, which does not run on compute; write the same pools into runs_on of both",
    ),
    "beside a service with too few instances": (
        lambda d: row(d, "neutron-metadata-agent").update(instances=2),
        "row neutron-l3-agent",
        "must be beside neutron-metadata-agent, which has 2 instances on 3 nodes; write 3 instances, or a pool of 2 "
        "nodes into runs_on of both",
    ),
    "apart from no service": (
        lambda d: row(d, "horizon").update(apart_from=["keystone-all"]),
        "row horizon/apache2",
        "is apart from 'keystone-all', which is not a service (did you mean 'keystone'?); write a service",
    ),
    "admits an unknown service": (
        lambda d: row(d, "mysqld")["admits"].append("heavy"),
        "row mysqld-server",
        "admits 'heavy', which is not a service; write light, any or a service",
    ),
    "owner elsewhere": (
        lambda d: row(d, "rabbitmq").update(runs_on=["rabbitmq", "mysqld"]),
        "row rabbitmq-server",
        "has dedicated nodes and runs on rabbitmq, mysqld; write runs_on: [rabbitmq]",
    ),
    "shareable and closed": (
        lambda d: row(d, "mysqld").update(admits=["any"], shareable=False),
        "row mysqld-server",
        "is not shareable and admits any; write shareable: true, or leave admits out",
    ),
    "guest that admits": (
        lambda d: row(d, "glance-api").update(admits=["light"]),
        "row glance-api",
        "admits others, and has no nodes of its own; write dedicated_nodes, or leave admits out",
    ),
    "guest that cannot share": (
        lambda d: row(d, "glance-api").update(shareable=False),
        "row glance-api",
        "may not share a node, and has none of its own; write dedicated_nodes, or shareable: true",
    ),
    "everywhere and counted": (
        lambda d: row(d, "nova-compute").update(instances=3),
        "row nova-compute",
        "runs everywhere and has 3 instances; write instances: null, or everywhere: false",
    ),
    "uncounted": (
        lambda d: row(d, "glance-api").update(instances=None),
        "row glance-api",
        "has no number of instances; write one, or everywhere: true",
    ),
    "more instances than nodes": (
        lambda d: row(d, "neutron-server").update(instances=4),
        "row neutron-server",
        (
            "has 4 instances, one per node, and 3 nodes (rabbitmq); "
            "write fewer instances, more dedicated_nodes, or a further pool into runs_on"
        ),
    ),
    "quorum of two": (
        lambda d: row(d, "ceph-mon").update(instances=2),
        "row ceph-mon",
        "keeps a quorum with 2 instances, which cannot lose one; write 3 or more",
    ),
    "retired only in its row": (
        lambda d: d["retired"].pop(0),
        "row glance-registry",
        "is replaced by glance-api, `retired` does not say so; write the same under `retired`, with the reason",
    ),
    "retired only in the list": (
        lambda d: row(d, "glance-registry").pop("replaced_by"),
        "row glance-registry",
        "is under `retired`, its row is not; write replaced_by: glance-api in the row",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(fault: str, data: Data, write: Write) -> None:
    change, key, message = FAULTS[fault]
    change(data)
    assert (key, message) in faults(write(data))


@pytest.mark.parametrize(
    "fault",
    # Some faults bring a second one with them; these must not.
    [
        "unknown key",
        "number in quotes",
        "name as a number",
        "total",
        "heavy guest of a light host",
        "apart from no service",
    ],
)
def test_one_fault_is_said_once(fault: str, data: Data, write: Write) -> None:
    change, key, message = FAULTS[fault]
    change(data)
    assert faults(write(data)) == [(key, message)]


def test_all_faults_in_one_run_also_beside_broken_rows(data: Data, write: Write) -> None:
    row(data, "keystone")["instances"] = "three"
    row(data, "nova-scheduler")["worker"] = 3
    row(data, "nova-api")["runs_on"] = ["rabbitmq"]
    row(data, "ceph-mon")["instances"] = 1
    data["hardware"]["racks"] = 0
    said = faults(write(data))
    assert [key for key, _ in said] == [
        "row keystone-all, instances",
        "row nova-scheduler, worker",
        "hardware.racks",
        "row nova-api",
        "row ceph-mon",
    ]
    with pytest.raises(ArchitectureError) as refused:
        load_architecture(write(data))
    assert str(refused.value).count("\n") == len(said) - 1


def test_a_row_without_a_name_is_counted_from_one(data: Data, write: Write) -> None:
    del data["rows"][2]["row"]
    data["rows"][4] = "nova-compute"
    assert [key for key, _ in faults(write(data))][:2] == ["row 3, row", "row 5"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- row: keystone-all\n", "is not a mapping; write "),
        ("", "is not a mapping; write "),
        ("name: [\n", "is not valid YAML: "),
        ("name: 2026-13-45\n", "is not valid YAML: line 1, column 7: '2026-13-45' is not a date"),
        ("name: &name [*name]\n", "is not valid YAML: "),
        ("name: !!python/object:os.system x\n", "is not valid YAML: "),
        ("\xff", "cannot be read: it is not UTF-8 text: line 1 has the byte 0xff; write "),
    ],
)
def test_files_that_are_no_architecture(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes(text.encode("latin-1"))
    ((key, said),) = faults(str(path))
    assert key == str(path)
    assert said.startswith(message)


def test_a_key_that_stands_twice(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    text = (FOLDER / "100.yaml").read_text(encoding="utf-8")
    path.write_text(text.replace("    instances: 3\n", "    instances: 3\n    instances: 5\n", 1), encoding="utf-8")
    ((key, message),) = faults(str(path))
    assert (key, message) == (str(path), "line 21: the key 'rows[0].instances' is there twice; keep one")


def test_no_such_file() -> None:
    ((key, message),) = faults("200")
    assert key == "200"
    assert message.startswith('cannot be read: no such file or directory; write "100", "300", "500", "1000"')


@pytest.mark.parametrize("model", [Architecture, Row])
def test_every_key_is_explained(model: type[BaseModel]) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "architectures.md").read_text(encoding="utf-8")
    explained = {key for line in guide.splitlines() if line.startswith("| `") for key in re.findall(r"`(\w+)", line)}
    assert set(model.model_fields) <= explained
