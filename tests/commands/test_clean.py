"""Tests of the files that `make clean` removes, and of those that it keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import build_directory, stack
from commands.clean import Kept, clean
from commands.review import base
from console.errors import UserError
from toolchain import install


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("dev", "prod", "prod.two"):
        tree = build_directory.of_stack(tmp_path, name)
        (tree / "plan.json").touch()
        put_state(tmp_path, name, ["urn:pulumi:…"])
    (build_directory.make(tmp_path / "build" / ".scratch-x") / "log").touch()
    (tmp_path / "build" / "review.md").touch()
    (tmp_path / ".ruff_cache").mkdir()
    return tmp_path


def put_state(root: Path, name: str, resources: list[str]) -> None:
    state = root / "build" / ".state" / ".pulumi"
    for area in ("stacks", "backups", "history"):
        (state / area / "quorate").mkdir(parents=True, exist_ok=True)
    text = json.dumps({"checkpoint": {"latest": {"resources": resources} if resources else None}})
    for suffix in (".json", ".json.bak"):
        (state / "stacks" / "quorate" / f"{name}{suffix}").write_text(text, encoding="utf-8")
    (state / "backups" / "quorate" / name).mkdir(exist_ok=True)


def standing(root: Path) -> set[str]:
    build = root / "build"
    return {path.name for path in build.iterdir()} | {path.name for path in build.glob(".state/.pulumi/*/*/*")}


def test_rendered_labs_go_with_their_state(root: Path) -> None:
    assert clean(root, lambda name: name == "dev") == Kept(["prod", "prod.two"], [])
    assert standing(root) == {
        ".state",
        *("prod", "prod.json", "prod.json.bak"),
        *("prod.two", "prod.two.json", "prod.two.json.bak"),
    }
    assert not (root / ".ruff_cache").exists()


def test_one_stacks_name_does_not_shelter_another(root: Path) -> None:
    assert clean(root, lambda name: name != "prod") == Kept(["prod"], [])
    assert standing(root) == {".state", "prod", "prod.json", "prod.json.bak"}


def test_a_stack_without_resources_is_rubbish(root: Path) -> None:
    put_state(root, "prod", [])
    assert clean(root, lambda name: name == "dev") == Kept(["prod.two"], [])


def test_a_stack_whose_file_is_gone_is_kept(root: Path) -> None:
    def unknown(name: str) -> bool:
        raise UserError(f"There is no stack {name}")

    assert clean(root, unknown).stacks == ["dev", "prod", "prod.two"]


def test_a_state_that_cannot_be_read_is_kept(root: Path) -> None:
    (root / "build" / ".state" / ".pulumi" / "stacks" / "quorate" / "prod.json").write_text("{", encoding="utf-8")
    assert "prod" in clean(root, lambda name: name == "dev").stacks


def test_a_fresh_clone_is_clean_already(tmp_path: Path) -> None:
    assert clean(tmp_path, lambda _: True) == Kept([], [])


def test_what_quorate_did_not_make_is_kept_and_named(root: Path) -> None:
    build = root / "build"
    (build / "thesis").mkdir()
    (build / "thesis" / "chapter").write_text("years of work", encoding="utf-8")
    (build / "notes.txt").touch()
    (root / "elsewhere").mkdir()
    (build / "link").symlink_to(root / "elsewhere")
    (build / ".scratch-killed").mkdir()  # killed before it had a marker
    assert clean(root, lambda _: True).foreign == ["link", "notes.txt", "thesis"]
    assert standing(root) == {".state", "link", "notes.txt", "thesis"}


def test_a_directory_with_a_user_s_files_gets_no_marker(tmp_path: Path) -> None:
    (tmp_path / "build" / "dev").mkdir(parents=True)
    (tmp_path / "build" / "dev" / "mine").touch()
    made = build_directory.of_stack(tmp_path, "dev")
    assert [path.name for path in made.iterdir()] == ["mine"]
    assert not build_directory.remove(made)


@pytest.mark.parametrize("name", ["state", "scratch-x", "proof", "review"])
def test_a_stack_may_bear_the_name_of_any_directory_of_ours(root: Path, name: str) -> None:
    """`make destroy STACK=state` once deleted the state of every stack."""
    put_state(root, name, ["urn:pulumi:…"])
    before = standing(root)
    assert build_directory.remove(build_directory.of_stack(root, name))
    assert standing(root) == before


def test_our_own_directories_are_no_names_of_stacks(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: quorate\n", encoding="utf-8")
    (tmp_path / "Pulumi..state.yaml").touch()
    with stack.temporary_workspace(tmp_path, "dev") as workspace:
        own = [install.STATE.name, workspace.directory.name, base.DIRECTORY_PREFIX]
        assert [name for name in own if stack.is_name(name)] == []
    assert stack.names(tmp_path) == []
