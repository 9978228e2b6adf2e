"""All sound stacks. Each file has the stacks on one subject, as CASES, a list of Sound."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tests.sound.sound import Sound


def _all() -> dict[str, Sound]:
    found: dict[str, Sound] = {}
    for subject in sorted(module.name for module in iter_modules(__path__)):
        cases: list[Sound] = import_module(f"{__name__}.{subject}").CASES
        for case in cases:
            assert case.name not in found, f"two sound stacks are named '{case.name}'"
            found[case.name] = case
    return found


BY_NAME = _all()
