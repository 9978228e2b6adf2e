"""`quorate copies --test`: fetches a copy, restores it into a scratch server on this host, and compares its content."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from cluster.api import ApiError, Unreachable
from commands import build_directory, stack
from commands.live import backup_copies, connection
from commands.stack import ValidStack
from console.errors import UserError
from console.progress import duration
from operations.living import copy_tests
from operations.restoration import copy_test, galera_source
from text.quoting import printable


def run(root: Path, stack_name: str, wanted: str) -> int:
    """Tests a copy of a stack, and records in its cluster when that was. What was decrypted is deleted.

    `wanted`: the name of a copy, or what names begin with, for the newest of these. Returns 0. Raises UserError if the
    copy is not there, cannot be decrypted or restored, or has other content than its backup; the cluster then has the
    date of the failure.
    """
    found = stack.load(root, stack_name)
    copy_test.require_programs(_kind(wanted))
    directory = build_directory.of_stack(root, stack_name)
    with (
        backup_copies.opened(root, found) as store,
        TemporaryDirectory(prefix=".copy-test-", dir=directory) as fetched,
    ):
        name = backup_copies.chosen(store.names(), wanted)
        began = time.monotonic()
        try:
            store.fetch(name, Path(fetched))
            compared = _restored(name, Path(fetched))
        except UserError:
            _record(root, found, name, succeeded=False)
            raise
    took = duration(time.monotonic() - began)
    print(printable(f"{name} was decrypted and restored, and has its content: {compared}, {took}."), flush=True)
    _record(root, found, name, succeeded=True)
    return 0


def _kind(wanted: str) -> str:
    kind = wanted.partition("/")[0]
    if kind not in (copy_test.ETCD, galera_source.KIND):
        raise UserError(f"--test {wanted}: write etcd, a Galera such as galera/mysqld, or the name of a copy.")
    return kind


def _restored(name: str, directory: Path) -> str:
    kind, _, time_ = name.split("/")
    return copy_test.of_etcd(directory) if kind == copy_test.ETCD else copy_test.of_galera(directory / time_)


def _record(root: Path, found: ValidStack, name: str, *, succeeded: bool) -> None:
    """Records a test in the cluster, or says why it does not: the test holds without it."""
    kind, of, _ = name.split("/")
    database = kind if kind == copy_test.ETCD else of
    if found.is_rendered:
        reason = f"{found.name} has the target {found.target}"
    else:
        try:
            api = connection.connect(root, found).api
            copy_tests.write(api, database, name, datetime.now(UTC), succeeded=succeeded)
        except (UserError, ApiError, Unreachable) as error:
            reason = str(error)
        else:
            return
    print(printable(f"The cluster has no record of this test: {reason}"), flush=True)
