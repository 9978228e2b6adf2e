"""`python -m cloud.images [NAME...]`: builds images by their names in recipes.yaml, or all, and prints the archive."""

from __future__ import annotations

import sys

from cloud.images.prepare import prepare
from cloud.images.recipe import catalogue
from toolchain.progress import Reporter, UserError
from toolchain.system_errors import explain


def main(names: list[str]) -> int:
    """Builds images under Kolla's names. Returns 0, 1 after an error, 130 if interrupted."""
    reporter = Reporter()
    recipes = catalogue()
    try:
        parents = {recipe.parent for recipe in recipes.images.values()}
        wanted = names or [name for name in recipes.images if name not in parents]
        unknown = sorted(set(wanted) - recipes.images.keys())
        if unknown:
            raise UserError(f"recipes.yaml has no {', '.join(unknown)}; write names of: {', '.join(recipes.images)}")
        made = prepare(map(recipes.reference, wanted), reporter)
    except KeyboardInterrupt:
        reporter.say("\nInterrupted. Run the same command again to continue; completed layers are kept.")
        return 130
    except UserError as trouble:
        reporter.say(str(trouble))
        return 1
    except OSError as error:
        reporter.say(explain(error))
        return 1
    for name, text in made.stand_ins.items():
        reporter.say(f"{name} is a stand-in: {text}")
    print(made.archive)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
