"""The base of a comparison: the tree of a commit, exported to a temporary directory.

The commit is exported instead of checked out as a git worktree, so that nothing is written into the clone's .git. A
killed run leaves the directory under build/, where `make clean` removes it.
"""

from __future__ import annotations

import subprocess
import tarfile
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from commands import build_directory
from console.errors import UserError

DIRECTORY_PREFIX = ".scratch-base-"


@dataclass(frozen=True)
class Base:
    """A commit to compare with."""

    ref: str
    """The reference as the user wrote it."""
    commit: str


def find(root: Path, ref: str) -> Base:
    """Resolves a reference to a commit. Raises UserError if the clone does not have the commit."""
    if not ref:
        raise UserError("No base is given. Name a commit, a branch or a tag: make diff BASE=origin/main STACK=dev")
    done = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if done.returncode == 0:
        return Base(ref, done.stdout.strip())
    if _git(root, "rev-parse", "--git-dir").returncode != 0:
        raise UserError("This directory is not a git clone, so there is no base to compare with.")
    branch = ref.removeprefix("origin/")
    shallow = _git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"
    why = " This clone is shallow: it has only the newest commits." if shallow else ""
    raise UserError(
        f"There is no commit {ref} in this clone.{why}\n"
        f"Fetch it, then compare with FETCH_HEAD: git fetch --depth=1 origin {branch} && make diff BASE=FETCH_HEAD"
    )


def describe_head(root: Path) -> str:
    """Describes the working tree: its commit, and whether it has uncommitted changes."""
    commit = _git(root, "rev-parse", "--short=12", "HEAD").stdout.strip() or "no commit"
    changed = _git(root, "status", "--porcelain", "--untracked-files=normal").stdout.strip()
    return f"{commit} with uncommitted changes" if changed else commit


@contextmanager
def exported(root: Path, base: Base) -> Generator[Path]:
    """Yields a temporary copy of the base's tree, in which .venv links to this clone's Python environment."""
    build = root / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=DIRECTORY_PREFIX, dir=build) as name:
        tree = build_directory.make(Path(name)) / "tree"
        _extract(root, base, tree)
        environment = tree / ".venv"
        if environment.is_symlink() or environment.exists():
            raise UserError(f"{base.ref} contains a .venv; this clone's environment must be linked there.")
        environment.symlink_to(root / ".venv", target_is_directory=True)
        yield tree


def has_other_packages(root: Path, tree: Path) -> bool:
    """Whether the base's requirements.lock differs from this clone's.

    The base is previewed with this clone's packages.
    """
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
        raise UserError(f"This clone has only a part of the tree of {base.ref}; run `git fetch origin {base.ref}`.")


def _git(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UserError("git is not installed; it is needed to read the base.") from None
