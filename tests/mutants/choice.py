"""Which tests can notice a change: those that run the changed function."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from tests.mutants.sample import PACKAGES, Mutant

MOST_SECONDS = 60.0
"""Sum of the recorded processor time of the tests of one change; the tests that run the fewest functions come first."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Visits:
    """What the recorded run of a project saw, with the project's directory."""

    root: Path
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """Each test that passed, with its seconds of processor time."""
    functions: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict[str, set[str]](set))
    """Each function, as `file:first line`, with the tests that run it."""

    @classmethod
    def load(cls, root: Path, files: Iterable[Path]) -> Visits:
        """Reads what tests/mutants/visits.py wrote, a file for each process."""
        visits = cls(root)
        for file in files:
            record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            timed: list[tuple[str, float]] = record["tests"]
            functions: dict[str, list[int]] = record["functions"]
            tests = [test for test, _ in timed]
            visits.seconds.update(timed)
            for name, numbers in functions.items():
                visits.functions[name].update(tests[number] for number in numbers)
        return visits

    def tests(self, mutant: Mutant) -> list[str]:
        """Returns the tests that can notice a change, those that run the fewest functions first, for a minute.

        A change outside of functions is for all that run a function of the file or of one that imports it, and for the
        tests that import one of them: a profile sees a module run only in the test that imports it first. Tests of the
        module's own name are always among them: programs in pods run in processes of their own, which no profile sees.
        The first ones are those of its name that run the changed function, or a function with the changed constant.
        """
        function = self._function(mutant)
        first = set[str]()
        if function:
            seeing = set(self.functions.get(f"{mutant.path}:{function}", ()))
        else:
            files = {mutant.path, *self._importers[mutant.path]}
            seeing = {
                test for name, tests in self.functions.items() if name.rpartition(":")[0] in files for test in tests
            }
            importing = set[str]().union(*(self._importers[file] for file in files))
            seeing |= {test for test in self.seconds if test.partition("::")[0] in importing}
            first = self._using(self._changed_names(mutant), files)
        named = self._named(mutant.path)
        first |= named & seeing
        seeing |= named
        chosen: list[str] = []
        spent = 0.0
        for test in sorted(seeing, key=lambda test: (test not in first, self._breadth[test], test)):
            spent += self.seconds[test]
            if spent > MOST_SECONDS and chosen:
                break
            chosen.append(test)
        return chosen

    def _named(self, path: str) -> set[str]:
        """Returns the tests in the mirrored folder whose file is named after the module or, without one, its folder."""
        module = PurePosixPath(path)
        beside = PurePosixPath("tests", module.parent, f"test_{module.stem}")
        above = PurePosixPath("tests", module.parent.parent, f"test_{module.parent.name}")
        for start in (beside, above):
            found = {test for test in self.seconds if test.startswith(str(start))}
            if found:
                return found
        return set()

    def _changed_names(self, mutant: Mutant) -> set[str]:
        """Returns the constants that a change outside of functions changes, and those made of them."""
        statements = self._tree(mutant.path).body
        around = [each for each in statements if each.lineno <= mutant.line <= (each.end_lineno or each.lineno)]
        names = set[str]().union(*map(_bound, around))
        new = names
        while new:
            made = (_bound(each) for each in statements if not isinstance(each, _FUNCTIONS) and _uses(each, new))
            new = set[str]().union(*made) - names
            names |= new
        return names

    def _using(self, names: set[str], files: Iterable[str]) -> set[str]:
        """Returns the tests that run a function of these files in which one of these names is used."""
        return {
            test
            for file in files
            for node in ast.walk(self._tree(file))
            if isinstance(node, _FUNCTIONS) and _uses(node, names)
            for test in self.functions.get(f"{file}:{_first_line(node)}", ())
        }

    def _function(self, mutant: Mutant) -> int | None:
        """Returns the first line, of its decorators if it has any, of the innermost function around a change.

        A decorator is around its function: its arguments are evaluated outside, as those of @rule with its module.
        """
        first = None
        for node in ast.walk(self._tree(mutant.path)):
            if isinstance(node, _FUNCTIONS) and node.lineno <= mutant.line <= (node.end_lineno or node.lineno):
                first = max(first or 0, _first_line(node))
        return first

    def _tree(self, path: str) -> ast.Module:
        return ast.parse((self.root / path).read_text(encoding="utf-8"))

    @cached_property
    def _breadth(self) -> dict[str, int]:
        """Each test with the number of functions that it runs."""
        counts = dict.fromkeys(self.seconds, 0)
        for tests in self.functions.values():
            for test in tests:
                counts[test] += 1
        return counts

    @cached_property
    def _importers(self) -> defaultdict[str, set[str]]:
        """Each file with the files that import it, or something of it."""
        importers: defaultdict[str, set[str]] = defaultdict(set)
        for package in (*PACKAGES, "tests"):
            for file in (self.root / package).rglob("*.py"):
                path = file.relative_to(self.root).as_posix()
                for name in _imported(self._tree(path), path):
                    module = name.replace(".", "/")
                    importers[f"{module}.py"].add(path)
                    importers[f"{module}/__init__.py"].add(path)
        return importers


def _first_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([function.lineno, *(each.lineno for each in function.decorator_list)])


def _bound(statement: ast.stmt) -> set[str]:
    """Returns the names that a statement of a module defines."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {statement.name}
    stored = (each for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    return {each.id for each in stored}


def _uses(node: ast.AST, names: set[str]) -> bool:
    """Whether code names one of these, as `NAME` or as `module.NAME`."""
    return any(
        (isinstance(each, ast.Name) and each.id in names) or (isinstance(each, ast.Attribute) and each.attr in names)
        for each in ast.walk(node)
    )


def _imported(tree: ast.Module, path: str) -> Iterable[str]:
    """Yields the names of modules that a file imports, and of what it imports from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            folder = PurePosixPath(path).parts[: -node.level] if node.level else ()
            module = ".".join([*folder, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{each.name}" for each in node.names)
