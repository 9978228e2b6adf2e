"""`quorate diff`: previews a stack at the base (a commit) and in the working tree, and compares the previews.

The engine previews both sides with the target `render`, a temporary state and no credentials, so that stacks for live
machines can be compared too. The base runs its own program with this clone's packages and engine. The package `changes`
interprets the differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from changes.change import Risk
from changes.compare import changes
from changes.inputs import resources
from changes.rendered import patch
from changes.summary import Comparison, to_json, to_markdown, to_text
from commands import build_directory, stack
from commands.engine import passphrase
from commands.engine.event_pipe import RunSummary
from commands.engine.operation import Operation, interrupted_by_termination
from commands.plan.stack_check import show_summary, validated_stack
from commands.review import base as bases
from commands.review.base import Base
from commands.stack import Stack
from console.errors import UserError
from files import atomic
from policy.resource import Resource
from toolchain.engine import Engine, installed

PROFILE = "quorate:profile"
FORBIDDEN = 3
"""Exit code if a change has the level `forbidden`: no order of steps makes the change safe."""


@dataclass(frozen=True)
class Previewed:
    """Preview of a stack at the base or in the working tree: its summary, or the reason why the preview failed.

    Has neither if the base does not contain the stack.
    """

    summary: RunSummary | None
    failure: str = ""

    @property
    def resources(self) -> list[Resource]:
        return resources(self.summary.lines) if self.summary else []


@dataclass(frozen=True)
class Sides:
    """Previews of a stack at the base (`before`) and in the working tree (`after`), and their comparison."""

    before: Previewed
    after: Previewed
    comparison: Comparison
    patch: str

    @property
    def code(self) -> int:
        """Exit code of `quorate diff`: 0, or 3 if a change is forbidden."""
        return FORBIDDEN if self.comparison.level is Risk.FORBIDDEN else 0


def diff(root: Path, name: str, ref: str) -> int:
    """Compares a stack with a base, writes build/<stack>/diff/ and prints the changes."""
    base = bases.find(root, ref)
    found = validated_stack(root, name)
    show_summary(found.file.relative_to(root), found.plan)
    directory = Path("build") / name / "diff"
    with interrupted_by_termination():
        sides = compare(root, installed(root), base, name)
    build_directory.of_stack(root, name)
    write(sides, root / directory)
    show(sides, directory)
    return sides.code


def compare(root: Path, engine: Engine, base: Base, name: str, pack: str | None = None) -> Sides:
    """Previews a stack at the base and in the working tree, and compares the previews.

    Raises UserError with all errors if a preview fails. `pack`: directory of the policy pack; None for no policy pack.
    """
    with bases.exported(root, base) as tree:
        notes = _notes(root, tree, base)
        is_new = not any(place.is_file() for place in stack.places(tree, name))
        print(f"Previewing {name} at {base.ref} …" if not is_new else f"{base.ref} has no stack {name}.", flush=True)
        before = Previewed(None) if is_new else _preview(tree, engine, name, pack)
    print(f"Previewing {name} in the working tree …", flush=True)
    after = _preview(root, engine, name, pack)
    failures = [
        f"{side} of {name} cannot be previewed:\n{each.failure}"
        for side, each in ((f"The base ({base.ref})", before), ("The working tree", after))
        if each.failure
    ]
    if failures:
        raise UserError("\n\n".join(failures) + "\n\nNothing was compared.")
    old, new = before.resources, after.resources
    is_live = not stack.load(root, name).is_rendered
    found = () if is_new else tuple(changes(old, new, is_live=is_live))
    done = Comparison(name, base.ref, base.commit, bases.describe_head(root), found, is_new, notes)
    return Sides(before, after, done, patch(old, new))


def write(sides: Sides, directory: Path) -> None:
    """Writes the comparison into a directory: changes.json, changes.md and tree.diff."""
    texts = {
        "changes.json": to_json(sides.comparison),
        "changes.md": to_markdown(sides.comparison),
        "tree.diff": sides.patch,
    }
    for name, text in texts.items():
        atomic.write(directory / name, text)


def show(sides: Sides, directory: Path) -> None:
    """Prints the changes of a stack, and the names of the files in `directory` that contain them."""
    print(f"\n{to_text(sides.comparison)}\nIn files: {directory}/changes.json, changes.md, tree.diff", flush=True)
    if sides.code:
        print("A change is forbidden: no order of steps is safe. Split the pull request as described above.")


def _notes(root: Path, tree: Path, base: Base) -> tuple[str, ...]:
    if bases.has_other_packages(root, tree):
        return (f"{base.ref} pins other packages (requirements.lock differs); it ran with those of this tree.",)
    return ()


def _preview(root: Path, engine: Engine, name: str, pack: str | None) -> Previewed:
    """Previews a stack with the program in `root`. It does not fail for policy violations: the audit reports them."""
    if not (root / "Pulumi.yaml").is_file():
        return Previewed(None, "  it has no Pulumi.yaml, so there is no program to run")
    with stack.temporary_workspace(root, name) as place:
        rendered = _rendered(root, name, place.directory)
        operation = Operation(engine, rendered, place, passphrase.temporary_passphrase(), pack)
        operation.open(keep_secrets=False)
        log = place.directory / "preview.log"
        result = operation.run("preview", output=log)
        if result.was_interrupted:
            raise KeyboardInterrupt
        if result.code and not result.summary.stopped_by_policy:
            output = _last_lines(log) if not result.summary.phase.causes else result.summary.phase.causes
            return Previewed(None, "\n".join(f"  {line}" for text in output for line in text.splitlines()))
    return Previewed(result.summary)


def _rendered(root: Path, name: str, directory: Path) -> Stack:
    """Returns a stack with the target `render`.

    Does not validate its settings: those of a base may have an older format.
    """
    source = stack.find(root, name)
    profile = str(stack.config_of(stack.read_document(source)).get(PROFILE, "production"))
    return stack.as_rendered(Stack(name, source, profile, "render"), directory)


def _last_lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-12:]
