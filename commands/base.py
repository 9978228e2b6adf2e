"""The other side of a difference: a commit's tree, exported to a scratch directory for as long as it is needed.

An export and not a worktree: nothing is written into the clone's own .git, so that nothing has to be mended there after
a kill. What a kill leaves lies under build/ and goes with `make clean`.
"""

from __future__ import annotations

import subprocess
import tarfile
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from toolchain.progress import UserError

DIRECTORY_PREFIX = "scratch-base-"


@dataclass(frozen=True)
class Base:
    """A commit to compare with."""

    ref: str
    """As it was asked for."""
    commit: str


def find(root: Path, ref: str) -> Base:
    """The commit that a reference names. Raises UserError that says how to get it."""
    if not ref:
        raise UserError("Compared with what? Name a commit, a branch or a tag: make diff BASE=origin/main STACK=dev")
    done = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if done.returncode == 0:
        return Base(ref, done.stdout.strip())
    if _git(root, "rev-parse", "--git-dir").returncode != 0:
        raise UserError("This directory is no git clone, so there is no base to compare with.")
    branch = ref.removeprefix("origin/")
    shallow = _git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"
    why = " This clone is shallow: it has only its newest commits." if shallow else ""
    raise UserError(
        f"There is no commit {ref} in this clone.{why}\n"
        f"Fetch it, then name what came: git fetch --depth=1 origin {branch} && make diff BASE=FETCH_HEAD"
    )


def describe_head(root: Path) -> str:
    """The working tree in a few words: its commit, and whether it has changes that are in none."""
    commit = _git(root, "rev-parse", "--short=12", "HEAD").stdout.strip() or "no commit"
    changed = _git(root, "status", "--porcelain", "--untracked-files=normal").stdout.strip()
    return f"{commit} and what is not committed" if changed else commit


@contextmanager
def exported(root: Path, base: Base) -> Generator[Path]:
    """The base's tree with this clone's Python environment; gone afterwards."""
    build = root / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=DIRECTORY_PREFIX, dir=build) as name:
        tree = Path(name) / "tree"
        _extract(root, base, tree)
        environment = tree / ".venv"
        if environment.is_symlink() or environment.exists():
            raise UserError(f"{base.ref} has a .venv committed; it stands where this clone's environment would.")
        environment.symlink_to(root / ".venv", target_is_directory=True)
        yield tree


def has_other_packages(root: Path, tree: Path) -> bool:
    """Whether the base was made for other packages than those that preview it now."""
    name = "requirements.lock"
    return not (tree / name).is_file() or (tree / name).read_bytes() != (root / name).read_bytes()


def _extract(root: Path, base: Base, tree: Path) -> None:
    command = ["git", "-C", str(root), "archive", "--format=tar", base.commit]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as git:
        try:
            with tarfile.open(fileobj=git.stdout, mode="r|") as archive:
                archive.extractall(tree, filter="data")
        except tarfile.TarError as reason:
            raise UserError(f"The tree of {base.ref} could not be read from this clone: {reason}") from None
    if git.returncode:
        raise UserError(f"The tree of {base.ref} is not whole in this clone; `git fetch origin {base.ref}` brings it.")


def _git(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UserError("git is not installed; it is needed to read the base.") from None
