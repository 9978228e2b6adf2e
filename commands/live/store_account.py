"""The account and the key of a stack's object store: from its state, or without one from its file and passphrase.

Copies of the state are of use only if they can be read without it. All secrets follow from the root secret, which the
stack file has, encrypted with the passphrase; the account is where the stack file says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from blueprint.openstack.given_secret import PREFIX
from blueprint.stackfile import backup_settings, given_secrets
from blueprint.stackfile.backup_settings import BackupCopies
from commands import stack
from commands.engine import passphrase
from commands.engine.operation import Operation
from commands.engine.passphrase import SecretAccess
from commands.stack import ROOT_SECRET, ValidStack, Workspace
from console.errors import UserError
from contract import BACKUP_STORE_OUTPUT
from formats.derived_secret import derive
from openstack import backup_store
from openstack.config.wiring import ENVIRONMENT
from toolchain.engine import installed

_SEALED = f"quorate:{given_secrets.COPIED}"
_GENERATION = 1
"""That of the key's secret, which nothing replaces."""


def files(root: Path, found: ValidStack) -> dict[str, str]:
    """Returns what the program of copies reads, by the names of files. Raises UserError if it is not found."""
    workspace = stack.main_workspace(root, found.name, os.environ)
    access = passphrase.choose("copies", found, workspace, os.environ)
    if workspace.state_file and not workspace.has_state:
        return _of_stack_file(root, found, workspace, access)
    operation = Operation(installed(root), found, workspace, access.variables)
    operation.open(keep_secrets=True)
    if known := of_state(operation):
        return known
    raise UserError(
        f"The state of {found.name} has no account and key for copies, or was not opened; run `quorate up --stack "
        f"{found.name}` once with quorate:backups.copies."
    )


def of_state(operation: Operation) -> dict[str, str]:
    """Returns the same from the state of an operation that is open; {} if the state does not have it."""
    output = operation.output(BACKUP_STORE_OUTPUT)
    return json.loads(output) if output else {}


def _of_stack_file(root: Path, found: ValidStack, workspace: Workspace, access: SecretAccess) -> dict[str, str]:
    print(f"{found.name} has no state here: account and key are taken from its file and passphrase.", flush=True)
    with stack.temporary_workspace(root, found.name) as temporary:
        operation = Operation(installed(root), found, temporary, access.variables)
        operation.open(keep_secrets=True)
        configured = operation.configuration()
    root_secret = configured.get(ROOT_SECRET)
    if not root_secret and found.can_generate_secrets and workspace.root_secret_file.is_file():
        root_secret = passphrase.generated_secret(workspace.root_secret_file)
    if not root_secret or not found.settings.backups.copies:
        raise UserError(f"{found.file.name} has no {ROOT_SECRET}, from which the key of copies follows.")
    return texts(found, found.settings.backups.copies, root_secret, configured.get(_SEALED) or {})


def texts(found: ValidStack, copies: BackupCopies, root_secret: str, sealed: Mapping[str, str]) -> dict[str, str]:
    """Returns the texts of the files. `sealed`: the decrypted values of the stack file, by name."""
    wanted = {
        key: each for key, each in given_secrets.used(found.settings).items() if key.startswith(backup_settings.KEY)
    }
    values, problems = given_secrets.read(wanted, os.environ)
    if problems:
        raise UserError("\n".join(map(str, problems)))
    values |= {f"{PREFIX}{name}": text for name, text in sealed.items()}

    def reveal(key: str) -> str:
        return values.get(key) or derive(root_secret, ENVIRONMENT, key, _GENERATION)

    return backup_store.texts(copies, reveal)
