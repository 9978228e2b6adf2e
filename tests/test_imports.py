"""What import-linter does not check: names of modules, and the single modules at the root."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEAVES = ("contract",)
NOT_THE_PROJECT = {".venv", "build", "examples", "sdks", "tests"}
SCRIPTS = ("openstack", "scripts")
IN_A_POD = ("galera", "galera_backup", "one_manager", "ovn_member")
"""Packages of their own in a pod, where their modules import each other by relative names."""


def _sources(root: Path) -> dict[str, str]:
    """Each module of the project by its dotted name, with its text; a package is the text of its __init__.py."""
    found: dict[str, str] = {}
    for path in [*root.glob("*.py"), *root.glob("[a-z]*/**/*.py")]:
        parts = path.relative_to(root).with_suffix("").parts
        if parts[0] not in NOT_THE_PROJECT and not (parts[:2] == SCRIPTS and parts[2] in IN_A_POD):
            found[".".join(parts).removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return found


def _imported(text: str, modules: Mapping[str, str]) -> Iterator[str]:
    """The project's modules that this text imports, at its top or in a function."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"'from {'.' * node.level}{node.module or ''}' is relative; write the whole name"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else str(node.module) for name in inner]
        else:
            continue
        yield from (name for name in names if name in modules)


def _doubles(modules: Mapping[str, str]) -> list[str]:
    """A line for each name that a folder imports twice: the folder and the modules of that name."""
    named: dict[tuple[str, str], set[str]] = defaultdict(set)
    for importer, text in modules.items():
        for module in _imported(text, modules):
            named[importer.partition(".")[0], module.rpartition(".")[2]].add(module)
    return [f"{folder}: {', '.join(sorted(found))}" for (folder, _), found in sorted(named.items()) if len(found) > 1]


def test_no_folder_imports_two_modules_of_one_name() -> None:
    modules = _sources(ROOT)
    assert {"__main__", "contract", "blueprint.plan.planner", "components.machine"} <= modules.keys()
    assert not _doubles(modules), "rename one of each line"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("from a.model import X", "from b import model"),
        ("import a.model", "def f():\n    from b.model import Y"),
    ],
)
def test_two_modules_of_one_name_are_found(first: str, second: str) -> None:
    modules = {"a.model": "", "b.model": "", "c.one": first, "c.two": second, "d": "import a.model"}
    assert _doubles(modules) == ["c: a.model, b.model"]


@pytest.mark.parametrize("leaf", LEAVES)
def test_the_modules_that_all_folders_import_need_nothing_of_the_project(leaf: str) -> None:
    modules = _sources(ROOT)
    assert not list(_imported(modules[leaf], modules))
    assert not re.search(r"^\s*(import|from) pulumi", modules[leaf], re.MULTILINE), "the blueprint imports it"


def test_the_leaves_are_all_the_single_modules() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    single = {name for name in _sources(ROOT) if "." not in name} - packages
    assert single == {*LEAVES, "__main__"}, "write a new one here too"


def _classes(modules: Mapping[str, str]) -> dict[str, set[str]]:
    """The modules that define a public class of each name. The programs in pods import nothing of the project."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, text in modules.items():
        if module.split(".")[:2] != list(SCRIPTS):
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].add(module)
    return found


def test_a_class_name_means_one_thing() -> None:
    found = _classes(_sources(ROOT))
    assert {"Node", "Plan", "Waiver"} <= found.keys()
    assert not {name: modules for name, modules in found.items() if len(modules) > 1}, "qualify the noun"


def test_two_classes_of_one_name_are_found() -> None:
    modules = {"a.one": "class X: pass", "b": "class X: pass\nclass _Y: pass", "openstack.scripts.c": "class X: pass"}
    assert _classes(modules) == {"X": {"a.one", "b"}}
