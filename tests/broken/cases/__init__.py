"""All broken stacks. Each file has the stacks for one family of rules, as CASES, a list of Broken."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tests.broken.broken import Broken


def _all() -> dict[str, Broken]:
    found: dict[str, Broken] = {}
    for family in sorted(module.name for module in iter_modules(__path__)):
        cases: list[Broken] = import_module(f"{__name__}.{family}").CASES
        for case in cases:
            assert case.name not in found, f"two broken stacks are named '{case.name}'"
            found[case.name] = case
    return found


BY_NAME = _all()
