"""A made-up project of two files, its record and its Python module, and nothing else that is edited.

The files are in the tree of a copy of Quorate, or beside the stack file of such a copy (`quorate:projects`).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from policy.engine import record
from policy.findings import Verdict
from tests.engine.conftest import PACK, Done, Project, open_project, with_state
from tests.shared import made_once
from tests.stacks import ROOT, SOURCES, STACKS, copy_sources

FILES = ROOT / "tests" / "data" / "projects"

LISTS = """\
import json
from pathlib import Path
from blueprint.openstack import options, secret_names
from blueprint.stackfile import further_clusters
from blueprint.stackfile.loader import load_file
from blueprint.topology.definitions import catalogue
from openstack.project_definitions import projects
from openstack.config import ports
records = load_file(Path("Pulumi.dev.yaml")).records
print(json.dumps({
    "accounts": sorted(each for each in secret_names.accounts(records) if each.startswith("sundial/")),
    "cache keys": "sundial/memcached" in secret_names.cache_keys(records),
    "fixed": secret_names.fixed(records)["sundial/gnomon"],
    "databases": records["sundial"].databases,
    "port": ports.api(records, "sundial-api"),
    "subdomain": records.processes["sundial-api"].subdomain,
    "options": options.files_by_project(records)["sundial"],
    "clusters": ["sundial" in kind.projects(records) for kind in further_clusters.KINDS.values()],
    "a topology's name": catalogue(records).services["sundial-api"].companion,
    "last": projects(records)[-1].name,
}))
"""
PAGE = """\
from commands import service_pages
print(service_pages.pages()["sundial.md"])
"""
NAMESPACES = """\
from toolchain import option_lists
print(option_lists.PROJECTS["sundial"]["sundial.conf"])
"""
IN_THE_TREE, BESIDE = "in the tree", "beside the stack file"
FOLDER = "my-project"


@pytest.fixture(scope="module", params=[IN_THE_TREE, BESIDE])
def place(request: pytest.FixtureRequest) -> str:
    """Where the files of the made-up project are."""
    return request.param


def lay_out(project: Project, place: str) -> None:
    """Puts the files of the made-up project into their places."""
    for path in FILES.glob("sundial.*"):
        folder = project.directory / FOLDER
        if place == IN_THE_TREE:
            inside = "blueprint/openstack/projects" if path.suffix == ".yaml" else "openstack/projects"
            folder = project.directory / inside
        folder.mkdir(exist_ok=True)
        (folder / path.name).write_bytes(path.read_bytes())
    if place == BESIDE:
        file = project.directory / "Pulumi.dev.yaml"
        file.write_text(file.read_text().replace("config:\n", f"config:\n  quorate:projects: ./{FOLDER}\n", 1))


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory, engine: dict[str, str], place: str) -> tuple[Project, Done]:
    """A copy of the repository with the made-up project, and the preview of its stack with the policy pack."""

    def make(directory: Path) -> None:
        project = open_project(directory / "copy", "dev", engine, STACKS["dev"])
        for name in SOURCES:
            (project.directory / name).unlink()
        copy_sources(project.directory)
        lay_out(project, place)
        shutil.copytree(ROOT / "examples", project.directory / "examples")  # stacks whose plans the page shows
        shutil.copy(STACKS["prod"], project.directory)
        done = project.run("preview", *PACK)
        (directory / "done.json").write_text(json.dumps([done.code, done.output, done.events]), encoding="utf-8")

    directory = made_once(tmp_path_factory, f"made-up-project-{place.replace(' ', '-')}", make)
    code, output, events = json.loads((directory / "done.json").read_text(encoding="utf-8"))
    project = Project(directory / "copy", "dev", with_state(engine, directory / "copy"))
    return project, Done(code, output, events)


def run(project: Project, *words: str) -> str:
    """Returns what a Python program prints that runs in the copy."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=project.directory,
        env=project.environment | {"PYTHONPATH": str(project.directory)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def quorate(project: Project, *words: str) -> str:
    """Returns the output of a command of the copy."""
    return run(project, "-c", f"from commands.command_line import main; raise SystemExit(main({list(words)}))")


def sent(done: Done) -> dict[tuple[str, str], dict[str, Any]]:
    """Returns the inputs of the project's Kubernetes objects as the engine heard of them, by kind and name."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for event in done.events:
        if step := event.get("resourcePreEvent"):
            new: dict[str, Any] = step["metadata"]["new"]
            name = new.get("inputs", {}).get("metadata", {}).get("name", "")
            if name.startswith("sundial"):
                found[new["type"].rpartition(":")[2], name] = new["inputs"]
    return found


def test_every_list_has_it(added: tuple[Project, Done]) -> None:
    project, _ = added
    assert json.loads(run(project, "-c", LISTS)) == {
        "accounts": ["sundial/database", "sundial/identity", "sundial/messaging", "sundial/notifications"],
        "cache keys": True,
        "fixed": "it casts the shadow",
        "databases": ["sundial"],
        "port": 8123,
        "subdomain": "time",
        "options": ["sundial.conf"],
        "clusters": [True, True],
        "a topology's name": True,
        "last": "sundial",
    }


def test_it_is_planned(added: tuple[Project, Done], place: str) -> None:
    project, _ = added
    made = json.loads(quorate(project, "plan", "--stack", "dev", "--json"))
    (companion,) = [each for each in made["companions"] if each["name"] == "sundial-api"]
    assert (companion["companionOf"], companion["instances"]) == ("keystone", 3)
    own = f"({FOLDER}/sundial.yaml, of the stack's own)" in companion["source"]
    assert own == (place == BESIDE)


def test_its_jobs_complete_before_its_process_starts(added: tuple[Project, Done]) -> None:
    _, done = added
    assert done.code == 0, done.output
    objects = sent(done)
    kinds = ("ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Secret", "Service", "ServiceAccount")
    assert {kind for kind, name in objects if name.startswith("sundial-api")} == set(kinds)
    assert {name.rpartition("-")[0] for kind, name in objects if kind == "Job"} == {
        *(f"sundial-{job}" for job in ("databases", "messaging", "notifications", "db-sync", "identity"))
    }


def test_its_pods_have_its_files_sizes_and_probes(added: tuple[Project, Done]) -> None:
    objects = sent(added[1])
    (container,) = objects["Deployment", "sundial-api"]["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "50m", "memory": "128Mi"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/", "port": "api"}
    files = objects["ConfigMap", "sundial-api-kolla"]["data"]
    assert "hours = 12" in files["sundial.conf"]
    assert json.loads(files["config.json"])["command"].startswith("sundial-api ")


def test_its_network_policy_admits_the_clients_of_its_port(added: tuple[Project, Done]) -> None:
    (rule,) = sent(added[1])["NetworkPolicy", "sundial-api"]["spec"]["ingress"]
    assert [port["port"] for port in rule["ports"]] == [8123]
    (peer,) = rule["from"]
    (expression,) = peer["podSelector"]["matchExpressions"]
    assert expression["values"] == ["sundial", "prometheus"]


def test_those_that_it_needs_admit_it(added: tuple[Project, Done]) -> None:
    policies = {
        step["metadata"]["new"]["inputs"]["metadata"]["name"]: json.dumps(step["metadata"]["new"]["inputs"])
        for event in added[1].events
        if (step := event.get("resourcePreEvent")) and step["metadata"]["type"].endswith(":NetworkPolicy")
    }
    admitting = {name for name, text in policies.items() if "sundial" in text}
    assert admitting == {"sundial-api", "memcached", "proxysql", "rabbitmq"}


def test_the_policy_pack_judges_it(added: tuple[Project, Done]) -> None:
    project, _ = added
    found = record.read(project.directory / record.FILE)
    assert found
    verdicts = {each.rule: one.verdict for each in found.rules for one in each.verdicts if "sundial" in one.resource}
    assert set(verdicts.values()) == {Verdict.PASS}
    assert {
        "dedicated-nodes-admit-guests",
        "nothing-beside-osd",
        "pod-fits-node",
        "rabbitmq-quorum-queues",
    } <= verdicts.keys()


def test_quorate_config_shows_its_options_with_their_sources(added: tuple[Project, Done]) -> None:
    shown = quorate(added[0], "config", "--stack", "dev", "--service", "sundial-api")
    assert "# sundial.conf of sundial-api" in shown
    assert "# project: https://sundial.example.org" in shown


@pytest.mark.parametrize("place", [IN_THE_TREE], indirect=True)
def test_one_of_quorates_has_a_page_and_lists_of_options(added: tuple[Project, Done]) -> None:
    assert run(added[0], "-c", NAMESPACES) == "['sundial', 'oslo.log']\n"
    page = run(added[0], "-c", PAGE)
    assert "It has no moving parts." in page
    assert "| `sundial-api` | Deployment | sundial-api | 8123 api (project, monitoring) | beside keystone-all |" in page
    assert "- `sundial-db-sync`: `" in page
    assert "| dial | `hours` | `12` | https://sundial.example.org |" in page
