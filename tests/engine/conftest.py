"""The program on the real engine: a project of its own in a temporary directory, with a state of its own.

`make setup` brings the engine; in a shell without it, these tests say so and are left out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from commands.engine import operation
from components.tree import OWNERS
from contract import QUORUM_STATE_OUTPUT, VERDICTS_FILE
from policy.engine import record
from tests.engine_settings import ENGINE_SETTINGS
from tests.shared import made_once
from tests.stacks import ROOT, SOURCES, STACKS
from toolchain.engine import MANIFEST, Engine

PACK = ("--policy-pack", str(ROOT / operation.PACK))
"""The options of `pulumi` for the policy pack, which the engine starts itself as in Quorate's commands."""


@dataclass(frozen=True)
class Done:
    """The result of an engine operation."""

    code: int
    output: str
    events: list[dict[str, Any]]

    def write(self, file: Path) -> None:
        """Writes the result to a file that `read` reads."""
        file.write_text(json.dumps([self.code, self.output, self.events]), encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> Done:
        return cls(*json.loads(file.read_text(encoding="utf-8")))

    def resources(self) -> dict[str, set[str]]:
        """Names of resources by what happened to them; without the stack itself and its providers."""
        found: dict[str, set[str]] = defaultdict(set)
        for event in self.events:
            if step := event.get("resourcePreEvent"):
                metadata = step["metadata"]
                if not metadata["type"].startswith("pulumi:"):
                    found[metadata["op"]].add(metadata["urn"].rpartition("::")[2])
        return dict(found)

    def changes(self) -> dict[str, set[str]]:
        """Names of resources by operation, without unchanged resources."""
        return {op: names for op, names in self.resources().items() if op != "same"}


@dataclass(frozen=True)
class Project:
    """A project with one stack."""

    directory: Path
    stack: str
    environment: dict[str, str]
    prefix: tuple[str, ...] = ()
    """Words before `pulumi`, which run it elsewhere, for example in a network namespace."""

    @property
    def build(self) -> Path:
        """The directory into which the stack is rendered."""
        return self.directory / "build" / self.stack

    @property
    def stack_file(self) -> Path:
        return self.directory / f"Pulumi.{self.stack}.yaml"

    @property
    def plan(self) -> Plan:
        """The plan of the stack file, from the planner and not from the engine."""
        return plan(load_file(self.stack_file))

    def run(self, *words: str) -> Done:
        """A `pulumi` command on the stack, to its end."""
        log = self.directory / "events.jsonl"
        verdicts = log.with_name(record.FILE)
        for left in (log, verdicts):
            left.unlink(missing_ok=True)
        command = [*self.prefix, "pulumi", *words, "--stack", self.stack, "--non-interactive", "--color", "never"]
        if words[0] in ("up", "preview", "refresh", "destroy"):
            command += ["--event-log", str(log)]
        environment = {**self.environment, VERDICTS_FILE: str(verdicts)}
        done = subprocess.run(command, cwd=self.directory, env=environment, check=False, capture_output=True, text=True)
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return Done(done.returncode, done.stdout + done.stderr, [json.loads(line) for line in lines])

    def up(self) -> Done:
        """Runs an update that must succeed."""
        done = self.run("up", "--yes", "--skip-preview")
        assert done.code == 0, done.output
        return done

    def state(self) -> dict[str, Any]:
        """Returns the resources of the stack's state, by URN."""
        document: dict[str, Any] = json.loads(self.state_file.read_text(encoding="utf-8"))
        resources: list[dict[str, Any]] = document["checkpoint"]["latest"].get("resources") or []
        return {each["urn"]: each for each in resources}

    def quorum_state(self) -> dict[str, Any]:
        """Returns the quorum members that the last deployment recorded for the next one."""
        done = self.run("stack", "output", QUORUM_STATE_OUTPUT, "--json", "--show-secrets")
        assert done.code == 0, done.output
        return json.loads(done.output)

    @property
    def state_file(self) -> Path:
        return self.directory / "state" / ".pulumi" / "stacks" / "quorate" / f"{self.stack}.json"

    def files(self, below: str = "") -> dict[str, str]:
        """Every file of the stack's tree, by its path below `below`; not the marks of whose they are."""
        root = self.build / below
        paths = (path for path in sorted(root.rglob("*")) if path.is_file() and path.parent.name != OWNERS)
        return {str(path.relative_to(root)): path.read_text() for path in paths}

    def manifests(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Returns the rendered Kubernetes objects, by kind and name."""
        texts = self.files("manifests/1-manifest").values()
        documents: list[dict[str, Any]] = [yaml.load(text, yaml.CSafeLoader) for text in texts]
        return {(each["kind"], each["metadata"]["name"]): each for each in documents}


Projects = Callable[[str], Project]


@pytest.fixture(scope="session")
def engine() -> dict[str, str]:
    """The environment in which `pulumi` is the project's engine."""
    variables = dict(os.environ)
    if shutil.which("pulumi") is None:
        brought = Engine.load(ROOT / ".venv" / MANIFEST)
        if brought is None:
            pytest.skip("there is no engine: `make setup` brings it")
        places = (str(ROOT / ".venv" / "bin"), brought.binaries, variables.get("PATH", ""))
        variables |= {**brought.settings(), "PATH": os.pathsep.join(places)}
    return variables | ENGINE_SETTINGS


ROOT_SECRET_TEXT = "root-secret-of-the-tests-root-secret-of-the-tests-root-secret-of"  # noqa: S105 - of tests, as long as a generated one
ROOT_SECRET = {
    "secure": "v1:mU7FmJl4mRvrIA2D:"
    "YbObxsFH4qmjtGGkjFLEAqrx/Nq6Cq9H7j7uSCYKN30PpeIgI18P717Tq6rU7Vq9kfps5xSqRMgRIIQvw2+jSPcQtRg7CBfKLeCuBkFQaHo="
}
"""ROOT_SECRET_TEXT, encrypted with the passphrase 'test' and the salt below."""
_SALT = "v1:ObUQYJs4eYY=:v1:KyHuztbwt0mUjVu+:GpcAVqk5cp87iuc/EiTFoZNGFOIJeQ=="


def with_root_secret(text: str) -> str:
    """The text of a stack file with a root secret that the engine of the tests can decrypt."""
    secret = f"  quorate:rootSecret: {json.dumps(ROOT_SECRET)}\n"
    return f"encryptionsalt: {_SALT}\n" + text.replace("\nconfig:\n", f"\nconfig:\n{secret}", 1)


def open_project(directory: Path, stack: str, engine: dict[str, str], source: Path) -> Project:
    """A project of this clone's program, with a copy of a stack file: the engine writes into it."""
    (directory / "state").mkdir(parents=True)
    for name in SOURCES:
        (directory / name).symlink_to(ROOT / name)
    project = Project(directory, stack, with_state(engine, directory))
    project.stack_file.write_text(with_root_secret(source.read_text(encoding="utf-8")), encoding="utf-8")
    done = project.run("stack", "init", "--no-select")
    assert done.code == 0, done.output
    return project


@pytest.fixture
def project(tmp_path: Path, engine: dict[str, str]) -> Projects:
    """Opens a project for a stack by name (`dev`, `prod`, `ra100` …), with nothing built yet."""
    return lambda stack: open_project(tmp_path / stack, stack, engine, STACKS[stack])


@dataclass(frozen=True)
class FirstRun:
    """The first operation of a stack with the policy pack."""

    project: Project
    done: Done
    verdicts: Path
    """The file with the policy pack's verdicts."""

    @classmethod
    def make(cls, directory: Path, project: Project, *words: str) -> None:
        """Runs the operation, which must succeed, on the project `project` of a directory, for `read`."""
        done = project.run(*words, *PACK)
        assert done.code == 0, done.output
        done.write(directory / "done.json")
        shutil.copy(project.directory / record.FILE, directory)

    @classmethod
    def read(cls, directory: Path, stack: str, engine: dict[str, str]) -> FirstRun:
        project = Project(directory / "project", stack, with_state(engine, directory / "project"))
        return cls(project, Done.read(directory / "done.json"), directory / record.FILE)


FirstRuns = Callable[[str], FirstRun]


def _first_runs(factory: pytest.TempPathFactory, engine: dict[str, str], *words: str) -> FirstRuns:
    """Returns a function that returns the first operation of a stack of this name, which runs once a test run."""

    def run(stack: str, directory: Path) -> None:
        FirstRun.make(directory, open_project(directory / "project", stack, engine, STACKS[stack]), *words)

    @cache
    def get(stack: str) -> FirstRun:
        return FirstRun.read(made_once(factory, f"{words[0]}-{stack}", partial(run, stack)), stack, engine)

    return get


@pytest.fixture(scope="session")
def first_preview(tmp_path_factory: pytest.TempPathFactory, engine: dict[str, str]) -> FirstRuns:
    """First previews of stacks, for tests that change nothing in their projects."""
    return _first_runs(tmp_path_factory, engine, "preview")


@pytest.fixture(scope="session")
def first_up(tmp_path_factory: pytest.TempPathFactory, engine: dict[str, str]) -> FirstRuns:
    """First updates of stacks, for tests that change nothing in their projects."""
    return _first_runs(tmp_path_factory, engine, "up", "--yes", "--skip-preview")


@pytest.fixture(scope="session")
def rendered(first_up: FirstRuns) -> Projects:
    """Deployed projects for tests that change nothing."""
    return lambda stack: first_up(stack).project


def with_state(engine: dict[str, str], directory: Path) -> dict[str, str]:
    """The engine's environment with the state of the project in a directory."""
    return engine | {"PULUMI_BACKEND_URL": (directory / "state").as_uri()}


def copied(project: Project, directory: Path) -> Project:
    """Copies a project with its tree and its state."""
    shutil.copytree(project.directory, directory, symlinks=True)
    return Project(directory, project.stack, with_state(project.environment, directory))


@pytest.fixture
def standing(tmp_path: Path, rendered: Projects) -> Projects:
    """Copies of deployed projects, with trees and state, for tests that change them."""

    return lambda stack: copied(rendered(stack), tmp_path / stack)
