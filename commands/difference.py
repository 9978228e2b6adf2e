"""`make diff`: a preview of the base and one of the working tree, and what lies between them.

Both sides are previewed by the real engine in the render target, each in a throw-away state without credentials, so
that a stack for live machines is compared as well. The base runs its own program with this clone's packages and engine.
What the difference means is decided in changes/.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from changes.change import Level
from changes.compare import changes
from changes.inputs import resources
from changes.rendered import patch
from changes.summary import Comparison, to_json, to_markdown, to_text
from commands import base as bases
from commands import passphrase, stack
from commands.base import Base
from commands.events import Account
from commands.operation import Operation
from commands.stack import Stack
from policy.facts.resource import Resource
from toolchain.engine import Engine
from toolchain.progress import UserError

PROFILE, TARGET = "quorate:profile", "quorate:target"
FORBIDDEN = 3
"""Exit code of a difference that has a forbidden change."""


@dataclass(frozen=True)
class Previewed:
    """One side: the engine's account, or why there is none."""

    account: Account | None
    failure: str = ""

    @property
    def resources(self) -> list[Resource]:
        return resources(self.account.lines) if self.account else []


@dataclass(frozen=True)
class Sides:
    """Both previews of a stack, and what they come to."""

    before: Previewed
    after: Previewed
    comparison: Comparison
    patch: str

    @property
    def code(self) -> int:
        """0, or 3 where a change is forbidden."""
        return FORBIDDEN if self.comparison.level is Level.FORBIDDEN else 0


def compare(root: Path, engine: Engine, base: Base, name: str, pack: str | None = None) -> Sides:
    """Previews both sides. Raises UserError with both sides' errors where one cannot be previewed."""
    with bases.exported(root, base) as tree:
        notes = _notes(root, tree, base)
        is_new = not any(place.is_file() for place in stack.places(tree, name))
        print(f"Previewing {name} at {base.ref} …" if not is_new else f"{base.ref} has no stack {name}.", flush=True)
        before = Previewed(None) if is_new else _preview(tree, engine, name, pack)
    print(f"Previewing {name} as it stands here …", flush=True)
    after = _preview(root, engine, name, pack)
    failures = [
        f"{side} of {name} cannot be previewed:\n{each.failure}"
        for side, each in ((f"The base ({base.ref})", before), ("The working tree", after))
        if each.failure
    ]
    if failures:
        raise UserError("\n\n".join(failures) + "\n\nNothing was compared.")
    old, new = before.resources, after.resources
    found = () if is_new else tuple(changes(old, new))
    done = Comparison(name, base.ref, base.commit, bases.describe_head(root), found, is_new, notes)
    return Sides(before, after, done, patch(old, new))


def write(sides: Sides, directory: Path) -> None:
    """Writes changes.json, changes.md and tree.diff."""
    directory.mkdir(parents=True, exist_ok=True)
    texts = {
        "changes.json": to_json(sides.comparison),
        "changes.md": to_markdown(sides.comparison),
        "tree.diff": sides.patch,
    }
    for name, text in texts.items():
        unfinished = directory / f".{name}.unfinished"
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(directory / name)


def tell(sides: Sides, directory: Path) -> None:
    """Says it on the screen."""
    print(f"\n{to_text(sides.comparison)}\nIn files: {directory}/changes.json, changes.md, tree.diff", flush=True)
    if sides.code:
        print("A change is forbidden: no order of steps makes it safe. Split the pull request as told above.")


def _notes(root: Path, tree: Path, base: Base) -> tuple[str, ...]:
    if bases.has_other_packages(root, tree):
        return (f"{base.ref} was made for other packages (requirements.lock differs); it ran with those of this tree.",)
    return ()


def _preview(root: Path, engine: Engine, name: str, pack: str | None) -> Previewed:
    """A side's preview. Only a failure of the program itself counts: what policies forbid is for the audit to say."""
    if not (root / "Pulumi.yaml").is_file():
        return Previewed(None, "  it has no Pulumi.yaml, so no program: it is older than this one")
    with stack.scratch_workspace(root, name) as place:
        judged = _rendered(root, name, place.directory)
        operation = Operation(engine, judged, place, passphrase.throw_away(), pack)
        operation.open(keep_secrets=False)
        log = place.directory / "preview.log"
        result = operation.run("preview", output=log)
        if result.was_interrupted:
            raise KeyboardInterrupt
        if result.code and not result.account.stopped_by_policy:
            said = _last_words(log) if not result.account.real_errors else result.account.real_errors
            return Previewed(None, "\n".join(f"  {line}" for text in said for line in text.splitlines()))
    return Previewed(result.account)


def _rendered(root: Path, name: str, directory: Path) -> Stack:
    """The stack in the render target, without a look at its other settings: those of a base may be of an older form."""
    source = stack.find(root, name)
    document = stack.read_document(source)
    config = {**stack.config_of(document), TARGET: "render"}
    document["config"] = config
    file = directory / source.name
    file.write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return Stack(name, file, str(config.get(PROFILE, "production")), "render")


def _last_words(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-12:]
