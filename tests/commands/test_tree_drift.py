"""Which files of a rendered tree count as missing or changed, and which resources are marked for them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from commands import tree_drift, tree_index
from commands.tree_drift import MARK, TREE, TREE_MARK, mark

SERVICE = "manifests/1-manifest/v1-service-openstack-rabbitmq.yaml"
APPLY = "machines/master1/apply"
SECRET = "secrets/machines/master1/etc/key"  # noqa: S105 - a path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for path in (SERVICE, APPLY, SECRET, "machines/master1/notes.txt", "audit/audit.html"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    return tmp_path


def resources() -> list[dict[str, Any]]:
    inputs = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "rabbitmq", "namespace": "openstack"}}
    service = {"type": "kubernetes:core/v1:Service", "custom": True, "inputs": inputs, "outputs": {"__inputs": inputs}}
    outputs = {"root": "build/dev/machines", "secretsRoot": "build/dev/secrets/machines", "names": ["master1"]}
    machine = {"type": TREE, "custom": True, "outputs": {**outputs, "paths": ["apply"], "written": "abc"}}
    return [{"type": "quorate:index:Cloud", "custom": False}, service, machine]


def drift(tree: Path, known: tree_index.Index | None) -> tuple[dict[str, str], list[dict[str, Any]]]:
    found, state = tree_index.scan(tree, known or {}), resources()
    files: dict[str, str] = {**mark(state, "dev", known, found).files}
    assert tree_drift.is_suspected(known, found) or not files
    return files, state


def test_an_untouched_tree_has_no_drift(tree: Path) -> None:
    known = tree_index.scan(tree, {})
    assert known.keys() == {SERVICE, APPLY, SECRET, "machines/master1/notes.txt"}
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
    files, (_, service, machine) = drift(tree, known)
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


def test_a_file_of_the_users_own_is_none_of_quorates(tree: Path) -> None:
    known = tree_index.scan(tree, {})
    (tree / "machines/master1/notes.txt").write_text("edited")
    assert drift(tree, known)[0] == {}


def test_without_an_index_every_file_is_written_again(tree: Path) -> None:
    (tree / SERVICE).unlink()
    assert drift(tree, None)[0] == {SERVICE: "missing", APPLY: "changed"}


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
