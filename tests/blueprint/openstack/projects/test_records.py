"""Records of OpenStack projects: every list of their facts follows from one file, and a wrong record is refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.openstack.projects.project_record import VERSION
from blueprint.openstack.projects.record_reader import read
from blueprint.openstack.projects.records import FOLDER, all_own_records, by_needs
from tests.stacks import ROOT

MADE_UP = (ROOT / "tests" / "data" / "projects" / "sundial.yaml").read_text(encoding="utf-8")


def written(folder: Path, **records_of: str) -> Path:
    for name, text in records_of.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def problems(folder: Path) -> list[str]:
    return [str(each).removeprefix(f"{folder}/") for each in read(folder)[1]]


def test_our_records_have_no_pitfalls_of_yaml() -> None:
    assert read(FOLDER) == (all_own_records().by_name, [])


def test_our_records_are_in_their_order() -> None:
    records = all_own_records()
    assert list(records.by_name)[:3] == ["mariadb", "rabbitmq", "memcached"]
    assert {record.version for record in records.by_name.values()} == {VERSION}
    assert records["nova"].databases == ("nova_api", "nova_cell0", "nova")
    assert records["heat"].accounts == ("database", "messaging", "notifications")


def test_a_project_comes_after_those_that_it_needs_and_otherwise_in_its_place() -> None:
    names = list(by_needs(all_own_records().by_name))
    assert names[4:11] == ["keystone", "glance", "placement", "neutron", "nova", "bootstrap", "cinder"]
    for name, record in all_own_records().by_name.items():
        assert all(names.index(needed) < names.index(name) for needed in record.needs), name


def test_a_record_names_the_file_and_the_project_of_its_processes() -> None:
    record = all_own_records()["nova"]
    assert record.file("nova.conf").path == "/etc/nova/nova.conf"
    assert {process.project for process in record.processes} == {"nova"}
    with pytest.raises(KeyError, match=re.escape("glance-api.conf")):
        record.file("glance-api.conf")


def changed(**values: object) -> dict[str, Any]:
    """Returns the made-up record with other values of its keys. `process` and `container`: keys further down."""
    document: dict[str, Any] = yaml.safe_load(MADE_UP)
    document["processes"][0]["containers"][0] |= values.pop("container", {})
    document["processes"][0] |= values.pop("process", {})
    return document | values


def test_all_mistakes_of_all_records_are_told_at_once(tmp_path: Path) -> None:
    wrong = changed(
        database=1,
        databases="sundial",
        version=2,
        process={"subdomain": "the time", "sticki": True},
        container={"ready": {"kind": "http", "prt": "api"}, "imag": "x", "alive": {"kind": "ping"}},
    )
    written(tmp_path, sundial=yaml.safe_dump(wrong), empty="version: 1\n", broken="version: [1\n")
    assert problems(tmp_path)[0].startswith("broken.yaml: is not valid YAML: ")
    assert problems(tmp_path)[1:] == [
        "empty.yaml (name): is missing; add it",
        "empty.yaml (title): is missing; add it",
        "empty.yaml (description): is missing; add it",
        "empty.yaml (order): is missing; add it",
        "sundial.yaml (version): 2 is the form of a later Quorate, and this one reads 1; update Quorate",
        "sundial.yaml (databases): 'sundial' does not fit; write a list",
        "sundial.yaml (processes.0.containers.0.ready.port): is missing; add it",
        "sundial.yaml (processes.0.containers.0.ready.prt): is not a key of a record (did you mean 'port'?); remove it",
        "sundial.yaml (processes.0.containers.0.alive): a mapping does not fit; write for 'kind' one of 'http', 'tcp', "
        "'exec', 'connection'",
        "sundial.yaml (processes.0.containers.0.imag): is not a key of a record (did you mean 'image'?); remove it",
        "sundial.yaml (processes.0.subdomain): 'the time' does not fit; write text like "
        "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$",
        "sundial.yaml (processes.0.sticki): is not a key of a record (did you mean 'sticky'?); remove it",
        "sundial.yaml (database): is not a key of a record (did you mean 'databases'?); remove it",
    ]


WATER: dict[str, Any] = {"version": 1, "name": "water", "title": "Water clock", "description": "x", "order": 1001}
WATERS: dict[str, Any] = yaml.safe_load(MADE_UP)["processes"][0] | {"companion": None}


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("order", 1000, "order 1000 is that of sundial already; write another"),
        ("databases", ["sundial"], "database sundial is that of sundial already; write another"),
        ("fixed_secrets", {"sundial/gnomon": "x"}, "secret sundial/gnomon is that of sundial already; write another"),
        (
            "processes",
            [WATERS | {"subdomain": "water"}],
            "process sundial-api is that of sundial already; write another",
        ),
        (
            "processes",
            [WATERS | {"name": "water"}],
            "subdomain time is that of sundial already; write another",
        ),
        (
            "processes",
            [WATERS | {"name": "water", "subdomain": "water", "companion": {"of": "keystone", "order": 1000}}],
            "companion.order 1000 is that of sundial already; write another",
        ),
    ],
)
def test_two_projects_cannot_have_the_same(key: str, value: object, told: str, tmp_path: Path) -> None:
    other = with_ours(tmp_path, sundial=MADE_UP, water=yaml.safe_dump(WATER | {"needs": ["mariadb"], key: value}))
    assert [each.rpartition(": ")[2] for each in problems(other)] == [told]


def with_ours(folder: Path, **records_of: str) -> Path:
    """Writes records beside copies of ours, to which they refer."""
    for path in FOLDER.glob("*.yaml"):
        shutil.copy(path, folder)
    return written(folder, **records_of)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {"options": {"sundial.conf": []}},
            "options.sundial.conf): has no namespace; write that of the project, such as nova.conf",
        ),
        (
            {"lab_options": {"sundail.conf": {}}},
            "lab_options.sundail.conf): 'sundail.conf' is not a file of options (did you mean 'sundial.conf'?); "
            "write one of: sundial.conf",
        ),
        (
            {"lab_options_with": {"ovn": {"sundail.conf": {}}}},
            "lab_options_with.ovn.sundail.conf): 'sundail.conf' is not a file of options",
        ),
        ({"needs": ["keystone", "mariadb"]}, "needs): rabbitmq is missing, and the record has messaging; add it"),
        (
            {"endpoints": [{"type": "time", "name": "x", "process": "sundial"}]},
            "endpoints.0.process): 'sundial' is not a process of the project (did you mean 'sundial-api'?); "
            "write one of: sundial-api",
        ),
        (
            {"process": {"exposed": {"apis": 1}}},
            "processes.0.exposed.apis): 'apis' is not a port of its containers (did you mean 'api'?); "
            "write one of: api",
        ),
        (
            {"process": {"exposed": {}}},
            "processes.0.subdomain): needs a port in exposed, to which it leads; add it, or remove subdomain",
        ),
        (
            {"process": {"claim": {"production": 1, "lab": 1}}},
            "processes.0.claim): belongs together with data of a container, where the volume is mounted; "
            "write both or none",
        ),
        (
            {"process": {"companion": {"of": "keystone", "order": 1000, "every_node": True}}},
            "processes.0.kind): Deployment does not run on every node, as companion.every_node says; write DaemonSet",
        ),
        (
            {"process": {"after": "nova-conductor"}},
            "processes.0.after): 'nova-conductor' is not a process of the project; write one of: sundial-api",
        ),
        (
            {"process": {"after": "sundial-api"}},
            "processes.0.after): sundial-api waits for itself in the end; remove it from one of them",
        ),
        (
            {"container": {"script": "x.sh", "kolla": False}},
            "processes.0.containers.0): needs either command or script; write one of them",
        ),
        (
            {"container": {"command": "", "script": "x.sh"}},
            "processes.0.containers.0.script): runs only in images without Kolla's start script; write command, or "
            "kolla: false",
        ),
        (
            {"container": {"alive": {"kind": "tcp", "port": "x"}}},
            "processes.0.containers.0.alive.port): 'x' is not a port of the container; write one of: api",
        ),
        ({"name": "moondial"}, "name): 'moondial' is not the file's; write sundial"),
        (
            {"needs": ["keystone", "mariadb", "rabbitmq", "novae"]},
            "needs): 'novae' is not a project (did you mean 'nova'?); write one of: ",
        ),
        (
            {"process": {"companion": {"of": "grafana", "order": 1000}}},
            "processes.0.companion.of): 'grafana' is not a process with a row (did you mean 'influxdb-grafana'?); "
            "write one of: ",
        ),
        (
            {"process": {"configured_with": ["nova"]}},
            "processes.0.configured_with): 'nova' is not a process (did you mean 'nova-ssh'?); write one of: ",
        ),
    ],
)
def test_a_record_that_contradicts_itself_or_others_is_refused(
    values: dict[str, Any], told: str, tmp_path: Path
) -> None:
    folder = with_ours(tmp_path, sundial=yaml.safe_dump(changed(**values)))
    (problem,) = problems(folder)
    assert problem.startswith(f"sundial.yaml ({told}")


def test_projects_that_need_each_other_are_refused(tmp_path: Path) -> None:
    water = yaml.safe_dump(WATER | {"needs": ["sundial"]})
    sundial = yaml.safe_dump(changed(needs=["keystone", "mariadb", "rabbitmq", "water"]))
    (problem,) = problems(with_ours(tmp_path, sundial=sundial, water=water))
    assert "(needs): form a circle (" in problem
    assert "sundial needs water" in problem
