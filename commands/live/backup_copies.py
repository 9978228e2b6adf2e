"""`quorate copies`: lists the encrypted copies of backups in a stack's object store, or fetches and decrypts one.

Neither a cluster nor a machine is needed. The account and the key (store_account.py) are in files of a temporary
directory while the program runs, and in no argument.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from commands import build_directory, stack
from commands.live import store_account
from commands.stack import ValidStack
from console.errors import UserError
from openstack import scripts
from operations.restoration.copy_test import ETCD
from operations.restoration.galera_source import KIND as GALERA
from text.suggestion import did_you_mean

STATE = "state"
"""How names of copies of Pulumi's state begin."""
_NAME = re.compile(rf"({ETCD}|{GALERA}|{STATE})/[A-Za-z0-9][A-Za-z0-9._-]*/[0-9-]{{8,10}}T[0-9-]{{6,8}}Z")
"""Matches names of copies. Others in the bucket are none, and could name a file elsewhere."""

_DONE = {"list": "read", "get": "read", "put": "written"}


@dataclass(frozen=True)
class CopyStore:
    """A stack's object store, as the program of machines reads it: its files are in a directory."""

    directory: Path

    def names(self) -> list[str]:
        """Returns the names of all complete copies, the oldest first. Raises UserError if they cannot be read."""
        return sorted(filter(_NAME.fullmatch, self._ask("list").splitlines()), key=_moment)

    def fetch(self, name: str, target: Path) -> None:
        """Decrypts a copy into a directory. Raises UserError if it is not complete, or of another stack."""
        self._ask("get", name, str(target))

    def put(self, name: str, directory: Path, file: str) -> None:
        """Encrypts a file or a directory that is in `directory`, and stores it as a copy. Raises UserError."""
        self._ask("put", name, str(directory), file)

    def _ask(self, *words: str) -> str:
        program = self.directory / "backup-store"
        program.write_text(scripts.text("backup_store.sh"), encoding="utf-8")
        done = subprocess.run(
            ["sh", str(program), *words],
            env={**os.environ, "STORE": str(self.directory)},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise UserError(f"The copies in the object store were not {_DONE[words[0]]}: {done.stderr.strip()}")
        return done.stdout


def run(root: Path, stack_name: str, wanted: str) -> int:
    """Prints the names of all copies, the oldest first; with `wanted`, fetches a copy into build/STACK/copies instead.

    `wanted`: the name of a copy, or what names begin with, such as etcd, for the newest of these.

    Raises UserError without a store or a copy, and if the copy is not complete or has other content.
    """
    found = stack.load(root, stack_name)
    with opened(root, found) as store:
        if not wanted:
            print("\n".join(store.names()) or "There are no copies yet.")
            return 0
        name = chosen(store.names(), wanted)
        target = directory_of(root, stack_name, name)
        store.fetch(name, target)
    files = sorted(each.name for each in target.glob(f"{_time(name)}*"))
    print(f"Wrote {', '.join(files)} to {target.relative_to(root)}/. {_next(name, root, stack_name)}")
    return 0


def _next(name: str, root: Path, stack_name: str) -> str:
    """Returns what a fetched copy is used with."""
    kind, of, time = name.split("/")
    if kind == STATE:
        state = stack.main_workspace(root, stack_name, os.environ).state_directory
        return f"`cp -a build/{stack_name}/copies/{STATE}/{of}/{time}/. {state}/` puts the state back."
    if kind == ETCD:
        return "Copy both to /var/lib/etcd-backup of a master, then run `quorate restore etcd` (docs/on-call.md)."
    return f"`quorate restore {of} --stack {stack_name} --from {name} --plan` restores it."


@contextmanager
def opened(root: Path, found: ValidStack) -> Generator[CopyStore]:
    """Yields the object store of a stack. Raises UserError if it has none, or if account and key are not found."""
    if found.settings.backups.copies is None:
        raise UserError(f"{found.name} has no object store for copies of backups; quorate:backups.copies names one.")
    with TemporaryDirectory(prefix="quorate-copies-") as name:
        directory = Path(name)
        yield store_in(directory, store_account.files(root, found))


def store_in(directory: Path, files: Mapping[str, str]) -> CopyStore:
    """Returns the object store of an account, whose files it writes into a directory."""
    for file, text in files.items():
        (directory / file).write_text(text, encoding="utf-8")
    return CopyStore(directory)


def chosen(there: Sequence[str], wanted: str) -> str:
    """Returns the copy with a name, or the newest one below it. Raises UserError if there is none."""
    below = [each for each in there if f"{each}/".startswith(f"{wanted.strip('/')}/")]
    if not below:
        advice = did_you_mean(wanted, there) if there else "; there are none"
        raise UserError(f"There is no complete copy {wanted}{advice}.")
    return below[-1]


def _time(copy: str) -> str:
    """Returns the time at which the backup of a copy was begun, such as 20261128T110203Z."""
    return copy.rpartition("/")[2]


def _moment(copy: str) -> str:
    """Returns the same without the hyphens of Galera's, so that both compare."""
    return _time(copy).replace("-", "")


def directory_of(root: Path, stack_name: str, name: str) -> Path:
    """Returns the directory into which a copy is fetched; creates it.

    Only its owner may read it: a backup has Secrets of the cluster.
    """
    directory = build_directory.of_stack(root, stack_name)
    for folder in ("copies", *name.split("/")[:-1]):
        directory = directory / folder
        directory.mkdir(mode=0o700, exist_ok=True)
    return directory
