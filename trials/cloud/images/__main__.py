"""`python -m trials.cloud.images [NAME...]`: builds images by name in recipes.yaml, or all; prints the archive."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from console.errors import UserError
from console.exit_codes import exit_code
from console.progress import Reporter
from trials.cloud.images.prepare import prepare
from trials.cloud.images.recipe import catalogue


def main(names: Sequence[str]) -> int:
    """Builds images under Kolla's names. Returns 0, 1 after an error, 130 if interrupted."""
    reporter = Reporter()
    return exit_code(lambda: _build(names, reporter), reporter)


def _build(names: Sequence[str], reporter: Reporter) -> None:
    recipes = catalogue()
    parents = {recipe.parent for recipe in recipes.images.values()}
    wanted = names or [name for name in recipes.images if name not in parents]
    unknown = sorted(set(wanted) - recipes.images.keys())
    if unknown:
        raise UserError(f"recipes.yaml has no {', '.join(unknown)}; write names of: {', '.join(recipes.images)}")
    made = prepare(map(recipes.reference, wanted), reporter)
    for name, text in made.stand_ins.items():
        reporter.say(f"{name} is a stand-in: {text}")
    print(made.archive)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
