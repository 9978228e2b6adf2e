"""Refreshes on the real engine: what happened to rendered files is found, and no resource leaves the state by it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from commands.engine.operation import OBJECTS
from tests.engine.clones import Clone
from tests.engine.conftest import Project, Projects
from tests.engine.test_lifecycle import edit
from tests.stacks import STACKS

STACK = "one-server"


def damage(build: Path) -> None:
    """Deletes, edits and replaces rendered files of machines and Kubernetes objects."""
    shutil.rmtree(build / "machines" / "one1")
    service, other, third = sorted((build / "manifests" / "1-manifest").glob("v1-service-*.yaml"))[:3]
    service.write_text(service.read_text() + "# edited\n")
    other.unlink()
    third.write_bytes(b"")


def test_a_refresh_reports_what_happened_to_files_and_up_restores_them(tmp_path: Path, engine: dict[str, str]) -> None:
    clone = Clone.make(tmp_path / "clone", STACK, STACKS[STACK])
    clone.up()
    files, resources = clone.files(), clone.inputs().keys()
    refreshed = clone.run("refresh")
    assert refreshed.code == 0, refreshed.output
    assert clone.inputs().keys() == resources
    assert "No changes: all" in clone.up().output

    damage(clone.build)
    refreshed = clone.run("refresh")
    assert refreshed.code == 0, refreshed.output
    assert "rendered files are missing or changed since the last `up`; `make up STACK=one-server`" in refreshed.output
    assert f"missing: build/{STACK}/machines/one1/" in refreshed.output
    assert {urn for urn in resources if "kubernetes:" in urn} <= clone.inputs().keys()
    assert "No changes" not in clone.up().output
    assert clone.files() == files

    damage(clone.build)
    assert "missing or changed since the last `up` and written again" in clone.up("--refresh").output
    assert clone.files() == files
    assert clone.inputs().keys() == resources
    assert "No changes: all" in clone.up("--refresh").output


def test_pulumi_refreshes_machines_and_leaves_objects_alone(standing: Projects) -> None:
    """The Pulumi CLI by itself, with the option that the README names."""
    stack = standing(STACK)
    before, files = stack.state(), stack.files()
    done = stack.run("refresh", "--yes", "--skip-preview", "--exclude", OBJECTS)
    assert done.code == 0, done.output
    assert stack.state().keys() == before.keys()
    assert stack.run("preview", "--expect-no-changes").code == 0
    shutil.rmtree(stack.build / "machines" / "one1")
    done = stack.run("refresh", "--yes", "--skip-preview", "--exclude", OBJECTS)
    assert done.code == 0, done.output
    assert stack.up().changes().keys() == {"create"}
    assert stack.files() == files


@pytest.mark.parametrize("variable", ["PULUMI_K8S_DELETE_UNREACHABLE", "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE"])
def test_a_users_settings_for_clusters_lose_no_object(standing: Projects, variable: str) -> None:
    """The provider recommends the first where it cannot read; the second makes it ignore what the program asks for."""
    stack = standing(STACK)
    resources = stack.state().keys()
    with_one = Project(stack.directory, stack.stack, stack.environment | {variable: "true"})
    refused = with_one.run("refresh", "--yes", "--skip-preview")
    assert refused.code != 0
    assert stack.state().keys() == resources
    manifests = stack.manifests()
    edit(stack, services={"horizon": {"image": "registry.example.org/horizon:1"}})
    with_one.up()
    assert stack.manifests() != manifests
