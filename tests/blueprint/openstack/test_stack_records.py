"""Records beside a stack file (`quorate:projects`): they extend Quorate's, and wrong ones are refused with all reasons.

tests/engine/test_made_up_project.py previews a stack with such a folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.openstack.projects.records import own_records
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.plan.table import table
from blueprint.problems import InvalidStackError
from blueprint.stackfile.further_clusters import GALERA
from blueprint.topology import place, read_topology
from tests.stacks import ROOT, full_size, parsed
from tests.topologies import on_three

SUNDIAL = (ROOT / "tests" / "data" / "projects" / "sundial.yaml").read_text(encoding="utf-8")
FOLDER = "quorate:projects: my-project"


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my-project").mkdir()
    monkeypatch.chdir(tmp_path)


def planned(projects: object = "./my-project", **settings: Any) -> Plan:
    return plan(parsed(full_size("100", projects=projects, **settings)))


def write(name: str = "sundial.yaml", text: str = SUNDIAL) -> None:
    (Path("my-project") / name).write_text(text, encoding="utf-8")


def sundial(**values: Any) -> str:
    """Returns the record of the made-up project with other keys. `process`, `container`: keys further down."""
    document: dict[str, Any] = yaml.safe_load(SUNDIAL)
    document["processes"][0]["containers"][0] |= values.pop("container", {})
    document["processes"][0] |= values.pop("process", {})
    return yaml.safe_dump(document | values)


def refused(**settings: Any) -> list[str]:
    with pytest.raises(InvalidStackError) as error:
        planned(**settings)
    return list(map(str, error.value.problems))


def test_a_project_beside_the_stack_file_is_planned_and_named_as_the_stacks_own() -> None:
    write()
    made = planned()
    (entry,) = [each for each in made.companions if each.name == "sundial-api"]
    assert (entry.companion_of, entry.instances) == ("keystone", 3)
    assert entry.source == "beside keystone-all (my-project/sundial.yaml, of the stack's own)"
    (line,) = [line for line in table(made).splitlines() if "sundial-api" in line]
    assert line.endswith("(my-project/sundial.yaml, of the stack's own)")
    assert list(made.settings.records.by_name)[-1] == "sundial"


def test_nothing_else_of_the_plan_changes() -> None:
    write()
    without = plan(parsed(full_size("100")))
    others = [each for each in planned().companions if each.name != "sundial-api"]
    assert (tuple(others), planned().services) == (without.companions, without.services)


def test_stacks_with_different_projects_meet_in_one_process() -> None:
    write()
    (Path("other")).mkdir()
    (Path("other") / "moondial.yaml").write_text(SUNDIAL.replace("sundial", "moondial"), encoding="utf-8")
    first, second, without = planned(), planned("./other"), plan(parsed(full_size("100")))
    names = [[each.name for each in made.companions if each.name.endswith("dial-api")] for made in (first, second)]
    assert names == [["sundial-api"], ["moondial-api"]]
    assert [made.settings.records.project_of("sundial-api") for made in (first, second, without)] == ["sundial", "", ""]
    assert "sundial" in GALERA.projects(first.settings.records)
    assert "sundial" not in GALERA.projects(second.settings.records)
    assert without.settings.records is own_records()


def test_settings_of_projects_stand_beside_the_folder() -> None:
    write()
    mapping = {"database": "sundial-mysqld"}
    made = planned(
        {"records": "./my-project", "sundial": {"mapping": mapping}, "nova": {"options": {}}},
        services={"sundial-mysqld": {"definition": "mysqld"}, "sundial-api": {"replicas": 2}},
        secrets={"sundial/database": {"generation": 2}},
    )
    assert made.settings.projects.overrides["sundial"].mapping == mapping
    assert {each.name: each.instances for each in made.companions}["sundial-api"] == 2


def test_a_topology_places_a_service_of_the_stacks_own(tmp_path: Path) -> None:
    write()
    records = planned().settings.records
    file = tmp_path / "topology.yaml"
    file.write_text(on_three("sundial-api", "replicas: {sundial-api: 2}"), encoding="utf-8")
    placed = place(read_topology(file, records), ["node1", "node2", "node3"])
    assert placed.services["sundial-api"].replicas == 2
    assert place(read_topology(file), ["node1", "node2", "node3"]).refused


def test_a_row_of_an_architecture_may_be_a_process_of_the_stacks_own(tmp_path: Path) -> None:
    write(text=sundial(process={"companion": None}))
    assert refused() == [
        "my-project/sundial.yaml (sundial-api): architecture 100 has no row for sundial-api; write companion: "
        "{of: …, order: …}, or add the row"
    ]
    architecture = yaml.safe_load((ROOT / "blueprint" / "architecture" / "100.yaml").read_text(encoding="utf-8"))
    (row,) = [each for each in architecture["rows"] if each["service"] == "placement-api"]
    architecture["rows"].append(row | {"service": "sundial-api", "row": "sundial"})
    (tmp_path / "ours.yaml").write_text(yaml.safe_dump(architecture, sort_keys=False), encoding="utf-8")
    settings = full_size("100", projects="./my-project") | {"architecture": "./ours.yaml"}
    made = plan(parsed(settings))
    assert [each.instances for each in made.services if each.name == "sundial-api"] == [3]


def _nothing() -> None: ...


def _no_folder() -> None:
    Path("my-project").rmdir()


def _a_file() -> None:
    Path("my-project").rmdir()
    Path("my-project").write_text("x", encoding="utf-8")


def _out_of_the_project() -> None:
    (Path("my-project") / "sundial.yaml").symlink_to("/etc/hostname")


@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        (_no_folder, f"{FOLDER} does not exist; write the path of a folder with records of projects (docs/records.md)"),
        (_a_file, f"{FOLDER} is not a folder; write the path of a folder with records of projects (docs/records.md)"),
        (_nothing, f"{FOLDER} contains no record; write a <project>.yaml in it (docs/records.md)"),
        (
            _out_of_the_project,
            "my-project/sundial.yaml: is a symbolic link out of the project; put the file itself here",
        ),
        (
            lambda: write("sundial.py", ""),
            "my-project/sundial.py: belongs to no record; write sundial.yaml beside it, or remove it",
        ),
        (lambda: write("sundial.yml"), "my-project/sundial.yml: is not read; name it sundial.yaml"),
    ],
)
def test_a_wrong_folder_is_refused(prepare: Callable[[], None], told: str) -> None:
    prepare()
    assert refused() == [told]


def test_a_folder_that_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_folder: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    advice = "write the path of a folder with records of projects (docs/records.md)"
    assert refused() == [f"{FOLDER} cannot be read: Permission denied; {advice}"]


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("../elsewhere", "'../elsewhere' leads out of the project; "),
        ("/etc", "'/etc' leads out of the project; "),
        ("link", "'link' is a symbolic link out of the project; "),
    ],
)
def test_a_folder_out_of_the_project_is_refused(folder: str, told: str) -> None:
    Path("link").symlink_to("/etc")
    advice = "write a path inside the project, relative to its directory, such as own/file.yaml"
    assert refused(projects=folder) == [f"quorate:projects.records: {told}{advice}"]


HOST = {"host_network": True, "companion": {"of": "keystone", "order": 1000}}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"titel": "x"}, " (titel): is not a key of a record (did you mean 'title'?); remove it"),
        ({"version": 2}, " (version): 2 is the form of a later Quorate, and this one reads 1; update Quorate"),
        ({"version": 0}, " (version): 0 does not fit; write 1"),
        (
            {"order": 25},
            " (order): 25 is for projects of Quorate, to which others are added; write 1000 or more",
        ),
        (
            {"process": {"companion": {"of": "keystone", "order": 25}}},
            " (processes.0.companion.order): 25 is for projects of Quorate, to which others are added; write 1000 or "
            "more",
        ),
        (
            {"lab_options": {"sundial.conf": {"dial": {"hours": 1}}}},
            " (lab_options): are for projects of Quorate, which have lists of their options; remove it",
        ),
        (
            {"lab_options_with": {"ovn": {"sundial.conf": {"dial": {"hours": 1}}}}},
            " (lab_options_with): are for projects of Quorate, which have lists of their options; remove it",
        ),
        ({"needs": ["keystone", "mariadb", "rabbitmq", "novae"]}, " (needs): 'novae' is not a project (did you mean "),
        ({"databases": ["nova"]}, ": database nova is that of nova already; write another"),
        ({"process": {"name": "heat-api"}, "endpoints": []}, ": process heat-api is that of heat already; write anoth"),
        ({"process": {"subdomain": "compute"}}, ": subdomain compute is that of nova already; write another"),
        (
            {"process": HOST, "container": {"ports": [{"name": "api", "number": 9100}]}},
            ": port of the host's network 9100/TCP is that of prometheus already; write another",
        ),
        (
            {"container": {"ports": [{"name": "api", "number": 8123}, {"name": "more", "number": 8123}]}},
            " (processes.0.containers): port 8123/TCP is that of two ports of the pod; write another",
        ),
        (
            {"container": {"ports": [{"name": "api", "number": 8123}, {"name": "api", "number": 8124}]}},
            " (processes.0.containers): api is the name of two ports of the pod; write another",
        ),
        (
            {"container": {"ports": [{"name": "api", "number": 8123}, {"name": "many", "number": 9000, "last": 9000}]}},
            " (processes.0.containers): port many ends with 9000; write a number above 9000, or no last",
        ),
        (
            {
                "container": {
                    "ports": [
                        {"name": "many", "number": 9500, "last": 9600, "on_node": True},
                        {"name": "api", "number": 8123},
                    ]
                }
            },
            " (processes.0.containers): port many is a range, and none of the node's address; remove on_node or last",
        ),
        (
            {"container": {"ports": [{"name": "api", "number": 8123}, {"name": "many", "number": 8100, "last": 8200}]}},
            " (processes.0.containers): port 8123/TCP is that of two ports of the pod; write another",
        ),
    ],
)
def test_a_wrong_record_is_refused(values: dict[str, Any], told: str) -> None:
    write(text=sundial(**values))
    (problem,) = refused()
    assert problem.startswith(f"my-project/sundial.yaml{told}")


@pytest.mark.parametrize("name", ["nova", "root", "records"])
def test_a_name_that_is_taken_is_refused(name: str) -> None:
    write(f"{name}.yaml", sundial(name=name))
    (problem,) = refused()
    assert problem.startswith(f"my-project/{name}.yaml (name): {name} is ")


def test_broken_yaml_is_refused() -> None:
    write(text="version: [1\n")
    (problem,) = refused()
    assert problem.startswith("my-project/sundial.yaml: is not valid YAML: ")


def test_all_mistakes_are_told_at_once_and_nothing_that_only_follows_from_them() -> None:
    write(text=sundial(titel="x", order=1))
    write("water.yaml", sundial(name="water", databases=["nova"], subdomain="x"))
    write("lonely.py", "")
    services = {"sundial-api": {"replicas": 2}}
    found = refused(services=services, secrets={"sundial/database": {"generation": 2}}, kubernetes="1.2.3")
    assert [each.partition(": ")[0] for each in found] == [
        "my-project/lonely.py",
        "my-project/sundial.yaml (titel)",
        "my-project/water.yaml (subdomain)",
        "quorate:kubernetes",
    ]


def test_a_further_cluster_cannot_have_the_name_of_a_process() -> None:
    write(text=sundial(process={"name": "sundial-mysqld"}, endpoints=[]))
    found = refused(services={"sundial-mysqld": {"definition": "mysqld"}})
    assert found == ["quorate:services.sundial-mysqld: sundial-mysqld is a process of sundial; write another name"]


def test_options_of_a_project_without_lists_are_refused() -> None:
    write()
    options = {"sundial.conf": {"dial": {"hours": 24}}}
    assert refused(projects={"records": "./my-project", "sundial": {"options": options}}) == [
        "quorate:projects.sundial.options.sundial.conf: has no list of options in 2026.1; write the whole file under "
        "services.<name>.config"
    ]
