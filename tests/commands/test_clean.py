"""What `make clean` takes away, and what it must not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands.clean import clean
from toolchain.progress import UserError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("dev", "prod", "prod.two"):
        tree = tmp_path / "build" / name
        tree.mkdir(parents=True)
        (tree / "plan.json").touch()
        put_state(tmp_path, name, ["urn:pulumi:…"])
    (tmp_path / "build" / "scratch-x").mkdir()
    (tmp_path / ".ruff_cache").mkdir()
    return tmp_path


def put_state(root: Path, name: str, resources: list[str]) -> None:
    state = root / "build" / "state" / ".pulumi"
    for area in ("stacks", "backups", "history"):
        (state / area / "quorate").mkdir(parents=True, exist_ok=True)
    text = json.dumps({"checkpoint": {"latest": {"resources": resources} if resources else None}})
    for suffix in (".json", ".json.bak"):
        (state / "stacks" / "quorate" / f"{name}{suffix}").write_text(text, encoding="utf-8")
    (state / "backups" / "quorate" / name).mkdir(exist_ok=True)


def standing(root: Path) -> set[str]:
    build = root / "build"
    return {path.name for path in build.iterdir()} | {path.name for path in build.glob("state/.pulumi/*/*/*")}


def test_rendered_labs_go_with_their_state(root: Path) -> None:
    assert clean(root, lambda name: name == "dev") == ["prod", "prod.two"]
    assert standing(root) == {
        "state",
        *("prod", "prod.json", "prod.json.bak"),
        *("prod.two", "prod.two.json", "prod.two.json.bak"),
    }
    assert not (root / ".ruff_cache").exists()


def test_one_stacks_name_does_not_shelter_another(root: Path) -> None:
    assert clean(root, lambda name: name != "prod") == ["prod"]
    assert standing(root) == {"state", "prod", "prod.json", "prod.json.bak"}


def test_a_stack_without_resources_is_rubbish(root: Path) -> None:
    put_state(root, "prod", [])
    assert clean(root, lambda name: name == "dev") == ["prod.two"]


def test_a_stack_whose_file_is_gone_is_kept(root: Path) -> None:
    def unknown(name: str) -> bool:
        raise UserError(f"There is no stack {name}")

    assert clean(root, unknown) == ["dev", "prod", "prod.two"]


def test_a_state_that_cannot_be_read_is_kept(root: Path) -> None:
    (root / "build" / "state" / ".pulumi" / "stacks" / "quorate" / "prod.json").write_text("{", encoding="utf-8")
    assert "prod" in clean(root, lambda name: name == "dev")


def test_a_fresh_clone_is_clean_already(tmp_path: Path) -> None:
    assert clean(tmp_path, lambda _: True) == []
