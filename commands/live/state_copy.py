"""Puts Pulumi's state of a stack into its object store after each `up`, encrypted as all copies are."""

from __future__ import annotations

import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from commands.engine.operation import Operation
from commands.live import backup_copies, store_account
from commands.stack import ValidStack
from console.errors import UserError
from text.quoting import printable


def put(operation: Operation, found: ValidStack) -> None:
    """Copies the state of an operation that is open. Prints why if it was not copied: the update has ended well.

    Does nothing for a stack without an object store, or if its state is not in a directory of this host.
    """
    file, directory = operation.workspace.state_file, operation.workspace.state_directory
    if found.settings.backups.copies is None or file is None or directory is None:
        return
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    try:
        with TemporaryDirectory(prefix="quorate-state-") as name:
            there = Path(name) / now / file.relative_to(directory)
            there.parent.mkdir(parents=True)
            shutil.copy(file, there)
            account = Path(name) / "store"
            account.mkdir()
            store = backup_copies.store_in(account, store_account.of_state(operation))
            store.put(f"{backup_copies.STATE}/{found.name}/{now}", Path(name), now)
    except (UserError, OSError) as error:
        print(printable(f"The state was not copied to the object store: {error}"), file=sys.stderr)
