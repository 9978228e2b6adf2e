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


_Place = tuple[int, int]
"""A line and a column."""
_Span = tuple[_Place, _Place]


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
    untried: dict[str, list[_Span]] = {}
    for line in dump:
        change: dict[str, Any] = json.loads(line)[0]["mutations"][0]
        operator = str(change["operator_name"])
        if operator.removeprefix("core/") not in OPERATORS:
            continue
        path = str(change["module_path"])
        start: _Place = (change["start_pos"][0], change["start_pos"][1])
        if path not in untried:
            untried[path] = [_span(node) for node in _without_effect((root / path).read_text(encoding="utf-8"))]
        if not any(first <= start < last for first, last in untried[path]):
            yield Mutant(path, *start, operator, int(change["occurrence"]))


def _without_effect(text: str) -> Iterator[ast.expr]:
    """Yields annotations, which Python does not evaluate, such as `int | None`, and the options of dataclasses.

    Without `frozen=True` everything works as before: the type check finds assignments. The options of other decorators
    stay, such as `waivable=False` of a rule.
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            yield node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            yield node.returns
        elif isinstance(node, ast.ClassDef):
            calls = (each for each in node.decorator_list if isinstance(each, ast.Call))
            yield from (each.value for call in calls for each in call.keywords if ast.unparse(call.func) == "dataclass")


def _span(node: ast.expr) -> _Span:
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
