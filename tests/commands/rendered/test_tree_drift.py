"""Which files of a rendered tree count as missing or changed, and which resources are marked for them."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from commands.rendered import tree_drift, tree_index
from commands.rendered.tree_drift import MARK, TREE, TREE_MARK, mark

SERVICE = "manifests/1-manifest/v1-service-openstack-rabbitmq.yaml"
APPLY = "machines/master1/apply"
PASSWORDS = "secrets/manifests/1-manifest/v1-secret-openstack-rabbitmq.yaml"
SECRET = "secrets/machines/master1/etc/key"  # noqa: S105 - a path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for path in (SERVICE, PASSWORDS, APPLY, SECRET, "machines/master1/notes.txt", "audit/audit.html"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    return tmp_path


def provider(name: str, directory: str) -> dict[str, Any]:
    """A provider that renders Kubernetes objects."""
    inputs = {"renderYamlToDirectory": directory}
    urn = f"urn:pulumi:dev::quorate::pulumi:providers:kubernetes::{name}"
    return {"type": "pulumi:providers:kubernetes", "custom": True, "urn": urn, "id": "1", "inputs": inputs}


def manifest(kind: str, made_by: dict[str, Any]) -> dict[str, Any]:
    """A Kubernetes object of a provider."""
    inputs = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "rabbitmq", "namespace": "openstack"}}
    facts = {"type": f"kubernetes:core/v1:{kind}", "custom": True, "provider": f"{made_by['urn']}::{made_by['id']}"}
    return {**facts, "inputs": inputs, "outputs": {"__inputs": inputs}}


def resources() -> list[dict[str, Any]]:
    providers = [provider("render", "build/dev/manifests"), provider("render-secrets", "build/dev/secrets/manifests")]
    service, passwords = manifest("Service", providers[0]), manifest("Secret", providers[1])
    outputs = {"root": "build/dev/machines", "secretsRoot": "build/dev/secrets/machines", "names": ["master1"]}
    machine = {"type": TREE, "custom": True, "outputs": {**outputs, "paths": ["apply"], "written": "abc"}}
    return [{"type": "quorate:index:Cloud", "custom": False}, *providers, service, passwords, machine]


def drift(tree: Path, known: tree_index.Index | None) -> tuple[dict[str, str], list[dict[str, Any]]]:
    found, state = tree_index.scan(tree, known or {}), resources()
    files: dict[str, str] = {**mark(state, "dev", known, found).files}
    assert tree_drift.is_suspected(known, found) or not files
    return files, state


def test_an_untouched_tree_has_no_drift(tree: Path) -> None:
    known = tree_index.scan(tree, {})
    assert known.keys() == {SERVICE, PASSWORDS, APPLY, SECRET, "machines/master1/notes.txt"}
    os.utime(tree / APPLY, (1, 1))  # another time, the same content
    files, state = drift(tree, known)
    assert files == {}
    assert state == resources()


@pytest.mark.parametrize(
    ("path", "shown", "is_tree"), [(SERVICE, SERVICE, False), (APPLY, APPLY, True), (SECRET, SECRET, True)]
)
def test_a_missing_and_an_edited_file_mark_their_resource(tree: Path, path: str, shown: str, is_tree: bool) -> None:
    known = tree_index.scan(tree, {})
    (tree / path).write_text("edited")
    assert drift(tree, known)[0] == {shown: "changed"}
    (tree / path).unlink()
    files, (_, _, _, service, _, machine) = drift(tree, known)
    assert files == {shown: "missing"}
    assert (machine["outputs"]["written"] == TREE_MARK) is is_tree
    annotations = {MARK: "missing"}
    for inputs in (service["inputs"], service["outputs"]["__inputs"]):
        assert inputs["metadata"].get("annotations") == (None if is_tree else annotations)


def test_an_edited_file_with_its_old_size_and_time_is_drift(tree: Path) -> None:
    """As after a clock that was set back, or an editor that keeps times."""
    known = tree_index.scan(tree, {})
    status, text = (tree / APPLY).stat(), (tree / APPLY).read_text()
    (tree / APPLY).write_text(text.upper())
    os.utime(tree / APPLY, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert drift(tree, known)[0] == {APPLY: "changed"}


def test_a_changed_mode_is_drift(tree: Path) -> None:
    known = tree_index.scan(tree, {})
    (tree / APPLY).chmod(0o700)
    assert drift(tree, known)[0] == {APPLY: "changed"}


def test_a_changed_secret_marks_only_its_own_object(tree: Path) -> None:
    known = tree_index.scan(tree, {})
    (tree / PASSWORDS).write_text("edited")
    files, (_, _, _, service, passwords, _) = drift(tree, known)
    assert files == {PASSWORDS: "changed"}
    assert passwords["inputs"]["metadata"]["annotations"] == {MARK: "changed"}
    assert "annotations" not in service["inputs"]["metadata"]


def test_a_file_of_the_users_own_is_none_of_quorates(tree: Path) -> None:
    known = tree_index.scan(tree, {})
    (tree / "machines/master1/notes.txt").write_text("edited")
    assert drift(tree, known)[0] == {}


def test_without_an_index_only_missing_files_are_written_again(tree: Path) -> None:
    """The stack was made by the Pulumi CLI."""
    (tree / SERVICE).unlink()
    assert drift(tree, None)[0] == {SERVICE: "missing"}


def test_after_an_interrupted_up_each_file_without_an_entry_is_written_again(tree: Path) -> None:
    """It may be incomplete. An entry that does not differ shows that the file is the one of the last completed `up`."""
    found = tree_index.scan(tree, {})
    everything = {SERVICE: "changed", PASSWORDS: "changed", APPLY: "changed"}  # the tree's secrets are with its apply
    assert mark(resources(), "dev", None, found, is_strict=True).files == everything
    known = {path: entry for path, entry in found.items() if path != SERVICE}
    assert mark(resources(), "dev", known, found, is_strict=True).files == {SERVICE: "changed"}
    assert mark(resources(), "dev", known, found).files == {}


def test_files_of_a_later_update_by_the_pulumi_cli_are_no_drift(tree: Path) -> None:
    known, before = tree_index.scan(tree, {}), datetime(2026, 11, 27, 12, tzinfo=UTC)
    for path in (SERVICE, PASSWORDS):
        (tree / path).write_text("updated")
    found, state = tree_index.scan(tree, known), resources()
    state[3]["modified"] = "2026-11-27T12:30:00.123456789Z"
    state[4]["modified"] = "2026-11-27T11:30:00Z"
    assert {**mark(state, "dev", known, found, before).files} == {PASSWORDS: "changed"}
    (tree / SERVICE).unlink()
    gone = tree_index.scan(tree, known)
    assert {**mark(state, "dev", known, gone, before).files} == {SERVICE: "missing", PASSWORDS: "changed"}


def test_the_index_survives_its_file_and_holds_no_digest_of_a_secret(tree: Path, tmp_path: Path) -> None:
    known = tree_index.scan(tree, {})
    tree_index.write(tmp_path / "index.json", known)
    assert tree_index.read(tmp_path / "index.json") == known
    assert known[SECRET].digest == ""
    (tmp_path / "index.json").write_text("{")
    assert tree_index.read(tmp_path / "index.json") is None


def test_a_long_list_is_cut_with_missing_files_first() -> None:
    files: dict[str, tree_drift.State] = {f"machines/m{number:02}/apply": "changed" for number in range(12)}
    lines = tree_drift.Drift({**files, "manifests/z": "missing"}).report("build/dev").splitlines()
    assert lines[0] == "  missing: build/dev/manifests/z"
    assert lines[-1] == "  … and 3 more"
