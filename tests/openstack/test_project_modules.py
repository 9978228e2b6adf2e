"""Python files beside a stack file: their functions are those of the project, and their mistakes are problems."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.openstack.projects.records import Records
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.settings import Settings
from commands.plan.service_configuration import show
from openstack import configuration, project_definitions
from openstack.config.formats import public_text
from openstack.config.wiring import wiring
from openstack.definition import ProjectDefinition
from tests.projects import PROJECTS
from tests.stacks import ROOT, full_size, parsed

FILES = ROOT / "tests" / "data" / "projects"


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path)


def settings(python: str | None, record: str = "") -> Settings:
    """Returns the settings of a stack with the made-up project, whose Python file has this text."""
    written = record or (FILES / "sundial.yaml").read_text(encoding="utf-8")
    Path("own/sundial.yaml").write_text(written, encoding="utf-8")
    if python is not None:
        Path("own/sundial.py").write_text(python, encoding="utf-8")
    return parsed(full_size("100", projects="./own"))


def last(records: Records) -> ProjectDefinition:
    return project_definitions.projects(records)[-1]


def test_the_functions_of_the_file_are_those_of_the_project() -> None:
    made = plan(settings((FILES / "sundial.py").read_text(encoding="utf-8")))
    project = last(made.settings.records)
    assert [job.name for job in project.jobs(wiring(made, "openstack"))] == [
        f"sundial-{job}" for job in ("databases", "messaging", "notifications", "db-sync", "identity")
    ]
    (file,) = configuration.of_service(made, "sundial-api")
    assert "hours = 12" in (public_text(file) or "")
    assert [path.name for path in sorted(Path("own").iterdir())] == ["sundial.py", "sundial.yaml"], "no __pycache__"


def test_the_projects_of_quorate_are_the_same_beside_it() -> None:
    records = settings(None).records
    others = [each for each in project_definitions.projects(records) if each.name != "sundial"]
    assert [(each.name, each.processes, each.jobs) for each in others] == [
        (each.name, each.processes, each.jobs) for each in PROJECTS
    ]


def test_a_project_without_a_file_has_no_jobs_and_no_files() -> None:
    made = plan(settings(None))
    assert last(made.settings.records).jobs(wiring(made, "openstack")) == ()
    assert configuration.of_service(made, "sundial-api") == ()


@pytest.mark.parametrize(
    ("python", "told"),
    [
        (
            "import json\nimport nothing_there\n",
            "own/sundial.py (line 2): does not import: ModuleNotFoundError: No module named 'nothing_there'; correct "
            "the file",
        ),
        (
            "def jobs(wiring:\n",
            "own/sundial.py (line 1): does not import: SyntaxError: '(' was never closed; correct the file",
        ),
        ("raise SystemExit(3)\n", "own/sundial.py (line 1): does not import: SystemExit: 3; correct the file"),
        ("\0", "own/sundial.py: does not import: "),
    ],
)
def test_a_file_that_does_not_import_is_a_problem_of_the_stack(python: str, told: str) -> None:
    records = settings(python).records
    with pytest.raises(InvalidStackError) as error:
        project_definitions.projects(records)
    (problem,) = error.value.problems
    assert str(problem).startswith(told)


def test_all_files_that_do_not_import_are_told_at_once() -> None:
    other = (FILES / "sundial.yaml").read_text(encoding="utf-8").replace("sundial", "moondial")
    other = other.replace("order: 1000", "order: 1001").replace("subdomain: time", "subdomain: night")
    Path("own/moondial.yaml").write_text(other, encoding="utf-8")
    Path("own/moondial.py").write_text("1 / 0", encoding="utf-8")
    with pytest.raises(InvalidStackError) as error:
        project_definitions.projects(settings("x").records)
    assert [problem.key for problem in error.value.problems] == ["own/sundial.py (line 1)", "own/moondial.py (line 1)"]


def test_a_function_that_fails_is_a_problem_of_the_stack() -> None:
    made = plan(settings("def configure(wiring, process):\n    return wiring.records[process]\n"))
    with pytest.raises(InvalidStackError) as error:
        configuration.of_service(made, "sundial-api")
    assert list(map(str, error.value.problems)) == [
        "own/sundial.py (line 2): configure fails: KeyError: 'sundial-api'; correct the file"
    ]


def test_a_script_that_quorate_does_not_have_is_a_problem_of_the_stack() -> None:
    record = (FILES / "sundial.yaml").read_text(encoding="utf-8")
    record = record.replace("ready: {kind: http, port: api}", "ready: {kind: exec, script: dial.py, command: [x]}")
    with pytest.raises(InvalidStackError) as error:
        project_definitions.projects(settings(None, record).records)
    assert list(map(str, error.value.problems)) == [
        "own/sundial.yaml: openstack/scripts has no dial.py; write one that is there, or the whole command in place of "
        "it"
    ]


def test_quorate_config_names_the_record(capsys: pytest.CaptureFixture[str]) -> None:
    settings((FILES / "sundial.py").read_text(encoding="utf-8"))
    text = (ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    Path("Pulumi.dev.yaml").write_text(text.replace("config:\n", "config:\n  quorate:projects: ./own\n"))
    assert show(Path.cwd(), "dev", "sundial-api", "") == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "# sundial.conf of sundial-api, a project of the stack's own (own/sundial.yaml)"
