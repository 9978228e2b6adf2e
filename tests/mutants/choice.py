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
"""Sum of the recorded seconds of the tests of one change; the tests that run the fewest functions come first."""


@dataclass
class Visits:
    """What the recorded run of a project saw, with the project's directory."""

    root: Path
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """Each test that passed, with its duration."""
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
        """
        function = self._function(mutant)
        if function:
            seeing = set(self.functions.get(f"{mutant.path}:{function}", ()))
        else:
            files = {mutant.path, *self._importers[mutant.path]}
            seeing = {
                test for name, tests in self.functions.items() if name.rpartition(":")[0] in files for test in tests
            }
            importing = set[str]().union(*(self._importers[file] for file in files))
            seeing |= {test for test in self.seconds if test.partition("::")[0] in importing}
        seeing |= self._named(mutant.path)
        chosen: list[str] = []
        spent = 0.0
        for test in sorted(seeing, key=lambda test: (self._breadth[test], test)):
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

    def _function(self, mutant: Mutant) -> int | None:
        """Returns the first line, of its decorators if it has any, of the innermost function around a change.

        A decorator is around its function: its arguments are evaluated outside, as those of @rule with its module.
        """
        first = None
        for node in ast.walk(self._tree(mutant.path)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if node.lineno <= mutant.line <= (node.end_lineno or node.lineno):
                start = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                first = max(first or 0, start)
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
