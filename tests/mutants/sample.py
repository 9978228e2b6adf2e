"""Which changes are tried: a sample of those that cosmic-ray can make and that say something about the tests."""

from __future__ import annotations

import ast
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGES = ("blueprint", "policy", "openstack/scripts")
"""Packages whose code is changed."""

_COMPARISONS = {
    "Eq": ("NotEq",),
    "NotEq": ("Eq",),
    "Is": ("IsNot",),
    "IsNot": ("Is",),
    "Lt": ("LtE", "GtE"),
    "LtE": ("Lt", "Gt"),
    "Gt": ("GtE", "LtE"),
    "GtE": ("Gt", "Lt"),
}
_BINARIES = {
    "Add": ("Sub",),
    "Sub": ("Add",),
    "Mul": ("Add",),
    "Div": ("Mul",),
    "FloorDiv": ("Mul",),
    "Mod": ("FloorDiv",),
    "Pow": ("Mul",),
    "BitOr": ("BitAnd",),
    "BitAnd": ("BitOr",),
    "BitXor": ("BitOr",),
}
OPERATORS = frozenset(
    {
        *(f"ReplaceComparisonOperator_{old}_{new}" for old, others in _COMPARISONS.items() for new in others),
        *(f"ReplaceBinaryOperator_{old}_{new}" for old, others in _BINARIES.items() for new in others),
        "ReplaceUnaryOperator_Delete_Not",
        "ReplaceUnaryOperator_USub_UAdd",
        "ReplaceTrueWithFalse",
        "ReplaceFalseWithTrue",
        "ReplaceAndWithOr",
        "ReplaceOrWithAnd",
        "ReplaceBreakWithContinue",
        "ReplaceContinueWithBreak",
        "AddNot",
        "NumberReplacer",
        "ZeroIterationForLoop",
        "ExceptionReplacer",
    }
)
"""Operators of cosmic-ray whose change is one that somebody could have written by mistake.

Of a comparison, cosmic-ray makes up to ten others: `is` for `==`, which no test can tell from it, or `<` for `is`,
which fails wherever it runs. Decorators stay: without @rule or @property everything fails, without @cache nothing.
"""


@dataclass(frozen=True, order=True)
class Mutant:
    """A change: the operator of cosmic-ray, the how manieth of its places in a file, and where that is."""

    path: str
    line: int
    column: int
    operator: str
    occurrence: int


def sample(mutants: Iterable[Mutant], count: int, seed: int) -> list[Mutant]:
    """Chooses `count` places and one change for each: a place where many changes can be made is no likelier."""
    places: defaultdict[tuple[str, int, int], list[Mutant]] = defaultdict(list)
    for mutant in sorted(mutants):
        places[mutant.path, mutant.line, mutant.column].append(mutant)
    choose = random.Random(seed)  # noqa: S311 - a sample, no secret
    chosen = choose.sample(list(places.values()), min(count, len(places)))
    return [choose.choice(changes) for changes in chosen]


def read(dump: Iterable[str], root: Path) -> Iterator[Mutant]:
    """Yields the changes of `cosmic-ray dump` that are tried, a line each, of the files in a directory."""
    annotations: dict[str, list[tuple[tuple[int, int], tuple[int, int]]]] = {}
    for line in dump:
        change: dict[str, Any] = json.loads(line)[0]["mutations"][0]
        operator = str(change["operator_name"])
        if operator.removeprefix("core/") not in OPERATORS:
            continue
        path = str(change["module_path"])
        start: tuple[int, int] = (change["start_pos"][0], change["start_pos"][1])
        if path not in annotations:
            annotations[path] = list(_annotations((root / path).read_text(encoding="utf-8")))
        if not any(first <= start < last for first, last in annotations[path]):
            yield Mutant(path, *start, operator, int(change["occurrence"]))


def _annotations(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yields first and last place of each annotation, which Python does not evaluate, such as `int | None`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg | ast.AnnAssign):
            annotation = node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            annotation = node.returns
        else:
            continue
        if annotation:
            end = (annotation.end_lineno or annotation.lineno, annotation.end_col_offset or 0)
            yield (annotation.lineno, annotation.col_offset), end
