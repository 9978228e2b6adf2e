"""`make diff` and `make review` on the real engine, in a small git repository made of this clone's own program."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
import yaml

import contract
from changes.inputs import resources
from changes.rendered import files
from components.tree import contents
from tests.engine.conftest import Projects
from tests.stacks import ROOT, copy_sources
from toolchain.engine import MANIFEST, Engine


@dataclass(frozen=True)
class Repository:
    """A clone with one commit; its working tree may have more."""

    root: Path

    def git(self, *words: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(self.root), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a state")
        return self.git("rev-parse", "HEAD")

    def edit(self, old: str, new: str, file: str = "Pulumi.dev.yaml") -> None:
        path = self.root / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "commands.command_line", *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), cwd=self.root, check=False, capture_output=True, text=True)

    def diff(self, base: str = "HEAD") -> subprocess.CompletedProcess[str]:
        done = self.run("diff", "--base", base, "--stack", "dev")
        assert self.leftovers == []
        return done

    @property
    def build(self) -> Path:
        return self.root / "build" / "dev"

    @property
    def changes(self) -> dict[str, Any]:
        document = json.loads((self.build / "diff" / "changes.json").read_text(encoding="utf-8"))
        schema = json.loads((ROOT / "schemas" / "changes.schema.json").read_text(encoding="utf-8"))
        jsonschema.validate(document, schema)
        return document

    @property
    def told(self) -> set[tuple[str, str]]:
        """Type and names of resources of every change."""
        return {
            (each["kind"], " ".join(sorted(urn.rpartition("::")[2] for urn in each["resources"])))
            for each in self.changes["changes"]
        }

    @property
    def leftovers(self) -> list[str]:
        return [path.name for path in (self.root / "build").glob(".scratch-*")]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    if Engine.load(ROOT / ".venv" / MANIFEST) is None:
        pytest.skip("there is no engine: `make setup` brings it")
    root = tmp_path / "clone"
    root.mkdir()
    copy_sources(root)
    for name in ("Pulumi.dev.yaml", "requirements.lock"):
        shutil.copyfile(ROOT / name, root / name)
    (root / ".gitignore").write_text(".venv\nbuild/\n__pycache__/\n", encoding="utf-8")
    (root / ".venv").symlink_to(ROOT / ".venv", target_is_directory=True)
    made = Repository(root)
    made.git("init", "-q", "-b", "main")
    made.commit()
    return made


def test_an_edited_stack_file_in_words(repository: Repository) -> None:
    engine = Engine.load(ROOT / ".venv" / MANIFEST)
    assert engine
    commit = repository.git("rev-parse", "HEAD")
    repository.edit("cpu: 4, ram: 8, disk: 200", "cpu: 4, ram: 12, disk: 200")
    with (repository.root / "Pulumi.dev.yaml").open("a", encoding="utf-8") as file:
        file.write("  quorate:services:\n    glance-api: {replicas: 2}\n    rabbitmq: {image: 'registry/rabbit:2'}\n")
    done = repository.diff()
    assert done.returncode == 0, done.stdout + done.stderr
    storage = "cloud-virt1-storage1 cloud-virt2-storage2 cloud-virt3-storage3"
    assert repository.told == {
        ("count-changed", "cloud-openstack-glance-api"),
        ("quorum-rolled", "cloud-openstack-rabbitmq"),
        ("machine-resized", storage),
        # What the servers have left; the pool's resource is named after it.
        ("node-capacity-changed", "cloud-compute-32c-128g-virt-24c-52g cloud-compute-32c-128g-virt-24c-56g"),
        # Nova keeps the memory of the larger machines from tenants.
        ("config-changed", "cloud-openstack-nova-compute-kolla"),
        ("service-rolled", "cloud-openstack-nova-compute"),
    }
    assert repository.changes["base"] == {"ref": "HEAD", "commit": commit}
    assert repository.changes["head"].endswith("with uncommitted changes")
    assert "rolls quorum StatefulSet rabbitmq" in done.stdout
    tree = (repository.build / "diff" / "tree.diff").read_text(encoding="utf-8")
    assert "+        image: registry/rabbit:2\n" in tree
    assert "+++ head/machines/storage1/definition/domain.xml\n" in tree
    assert repository.git("status", "--porcelain") == "M Pulumi.dev.yaml"
    assert repository.git("worktree", "list").count("\n") == 0
    home = engine.settings().get("PULUMI_HOME")
    assert home is None or not (Path(home) / "logs").is_dir(), "the engine logs every run again: toolchain/engine.py"


def test_a_forbidden_change_has_an_exit_code_of_its_own(repository: Repository) -> None:
    """Every member of the quorum gets a new identity at once."""
    repository.edit('service_name=f"{args.definition.name}-members"', "service_name=args.definition.name", PROCESS)
    done = repository.diff()
    assert done.returncode == 3, done.stdout + done.stderr
    assert ("service-replaced", "cloud-openstack-rabbitmq") in repository.told
    assert repository.changes["level"] == "forbidden"


PROCESS = "components/openstack/process.py"


def test_a_base_that_fails_is_told_with_its_own_reason(repository: Repository) -> None:
    repository.edit("quorate:profile: lab", "quorate:profile: labb")
    repository.commit()
    repository.edit("quorate:profile: labb", "quorate:profile: lab")
    (repository.root / "components" / "target" / "render.py").write_text(
        "raise RuntimeError('head is broken')\n", encoding="utf-8"
    )
    done = repository.diff()
    assert done.returncode == 1
    assert "The base (HEAD) of dev cannot be previewed:" in done.stderr
    assert "labb" in done.stderr
    assert "The working tree of dev cannot be previewed:" in done.stderr
    assert "head is broken" in done.stderr
    assert not (repository.build / "diff").exists()


def test_a_stack_that_the_base_does_not_have_is_new(repository: Repository) -> None:
    repository.git("mv", "Pulumi.dev.yaml", "Pulumi.old.yaml")
    repository.commit()
    repository.git("mv", "Pulumi.old.yaml", "Pulumi.dev.yaml")
    done = repository.diff()
    assert done.returncode == 0, done.stderr
    assert "dev is a new stack: HEAD has no file of it." in done.stdout
    assert repository.changes["new"] is True


def test_a_base_in_another_target_is_compared_in_the_render_target(repository: Repository) -> None:
    repository.edit("quorate:target: render", "quorate:target: live")
    repository.commit()
    repository.edit("quorate:target: live", "quorate:target: render")
    repository.edit("quorate:features", "quorate:release: '2025.2'\n  quorate:features")
    done = repository.diff()
    assert done.returncode in (0, 3), done.stderr
    assert ("quorum-rolled", "cloud-openstack-mariadb-mysqld") in repository.told


def test_a_review_says_what_is_newly_broken(repository: Repository) -> None:
    repository.edit("max_unavailable=1, selector", "max_unavailable=3, selector", PROCESS)
    done = repository.run("review", "--base", "HEAD", "--stack", "dev")
    assert done.returncode == 0, done.stdout + done.stderr  # a lab: rules advise
    assert repository.leftovers == []
    text = (repository.root / "build" / "review.md").read_text(encoding="utf-8")
    assert text.startswith("<!-- quorate review of dev -->\n## Changes of `dev` against `HEAD`\n")
    newly = text.partition("Newly broken:")[2]
    assert "- `budget-keeps-majority`: " in newly
    assert "No longer broken" not in text
    assert {path.name for path in (repository.build / "audit").iterdir()} >= {"base", "findings.json", "audit.md"}
    assert (repository.build / "audit" / "base" / "findings.json").is_file()
    assert (repository.build / "diff" / "tree.diff").is_file()


def test_an_interrupt_leaves_nothing_behind(repository: Repository) -> None:
    child = subprocess.Popen(
        repository.command("diff", "--base", "HEAD", "--stack", "dev"),
        cwd=repository.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # Where the tests themselves run in the background, interrupts are ignored, and that is inherited.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    )
    assert child.stdout
    assert any("Previewing dev at HEAD" in line for line in child.stdout)
    _wait_for(lambda: any((repository.root / "build").glob(".scratch-base-*/tree/build/.scratch-*/preview.log")))
    os.killpg(child.pid, signal.SIGINT)
    output, _ = child.communicate(timeout=120)
    assert child.returncode == 130, output
    assert repository.leftovers == []


def _wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _identity(document: dict[str, Any]) -> tuple[str, str, str]:
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]


def test_what_a_preview_says_is_what_an_update_renders(standing: Projects) -> None:
    """The difference is made from inputs: they are the very objects and files that the target writes."""
    project = standing("dev")
    done = project.run("preview", "--refresh=false")
    lines = [json.dumps(each) for each in done.events]
    told = files(resources(lines))
    objects = {
        _identity(each): each
        for path, content in told.items()
        if path.startswith("manifests/")
        for each in [cast("dict[str, Any]", content)]
    }
    written = {_identity(each): each for text in project.files("manifests").values() for each in [yaml.safe_load(text)]}
    assert objects == written
    machines = [each.plain() for each in resources(lines) if each.type == contract.TREE]
    texts = {f"{node}/{path}": text for each in machines for node, of in contents(each) for path, text in of.items()}
    assert texts == project.files("machines")
