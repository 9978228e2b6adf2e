"""Selects the passphrase that encrypts a stack's secrets. Raises an error if a required passphrase is missing.

`up`, `refresh`, `destroy` and `copies` require the user's passphrase. For a rendered lab, a passphrase is generated, so
that the first `make up` on a fresh machine works. The read-only commands (preview, audit) require none: without one,
they use a temporary state and placeholder secrets.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from commands.stack import Stack, Workspace, default_backend
from console.errors import UserError
from files import generated_secret as file_of_secret

Command = Literal["up", "refresh", "destroy", "copies", "preview", "audit"]
VALUE, FILE = "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"
READ_ONLY = ("preview", "audit")


@dataclass(frozen=True)
class SecretAccess:
    """How a command gets access to a stack's secrets."""

    variables: dict[str, str] = field(default_factory=dict[str, str])
    """Passphrase variables for the engine. Those of the user's environment are not passed on."""
    is_temporary: bool = False
    """Whether the command uses a temporary state."""
    new_passphrase_file: Path | None = None
    """The file for a newly generated passphrase, to be written before anything else."""
    note: str = ""
    """A note for the user, such as that a passphrase was generated; empty for none."""


def choose(command: Command, stack: Stack, workspace: Workspace, environment: Mapping[str, str]) -> SecretAccess:
    """Returns how a command gets access to a stack's secrets.

    Raises UserError if it needs a passphrase that is missing.
    """
    given = of_user(environment)
    if given:
        return SecretAccess(given)
    if stack.secrets_provider or workspace.backend.startswith("http"):
        return SecretAccess()
    kept = workspace.passphrase_file
    if stack.can_generate_secrets and kept.is_file():
        generated_secret(kept)
        return SecretAccess({FILE: str(kept)})
    if command in READ_ONLY:
        return _temporary(workspace)
    if not stack.can_generate_secrets:
        raise UserError(_missing(command, stack))
    if command == "destroy" and not workspace.has_state:
        return SecretAccess()
    if workspace.has_state or workspace.backend != default_backend(workspace.root):
        raise UserError(_locked_out(stack, workspace))
    name = kept.relative_to(workspace.root)
    note = f"Generated a passphrase for this lab. To use plain `pulumi`, set {FILE}={name}."
    return SecretAccess({FILE: str(kept)}, new_passphrase_file=kept, note=note)


def without(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment without the user's passphrase, which opens another stack than the one of a command."""
    return {name: value for name, value in environment.items() if name not in (VALUE, FILE)}


def temporary_passphrase() -> dict[str, str]:
    """Returns the environment variable with a random passphrase, for a temporary state.

    Nothing stores the passphrase.
    """
    return {VALUE: secrets.token_urlsafe(24)}


def generate_secret(path: Path) -> bool:
    """Writes a new secret into a file with mode 0600. Returns False and changes nothing if the file exists."""
    return file_of_secret.create(path)


def generated_secret(path: Path) -> str:
    """Reads a file that generate_secret() wrote, and returns the secret. Raises UserError if the content is damaged."""
    try:
        return file_of_secret.read(path)
    except file_of_secret.DamagedError as what:
        name = path.parent.name
        raise UserError(
            f"build/{name}/{path.name} {what}. Nothing was run.\n"
            f"Restore it from a backup, or start over with `make clean` and `make up STACK={name}`; "
            "a rendered lab loses no data."
        ) from None


def of_user(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variable that gives the user's passphrase, if any; an empty passphrase counts as unset."""
    if environment.get(VALUE):
        return {VALUE: environment[VALUE]}
    name = environment.get(FILE)
    if not name:
        return {}
    file = Path(name)
    if file.exists() and not file.is_file():  # the check below would empty a pipe before the engine reads it
        raise UserError(f"{FILE} names {name}, which is not a regular file.")
    try:
        is_empty = not file.read_bytes().strip()
    except OSError as error:
        raise UserError(f"{FILE} names {name}, which cannot be read: {error.strerror}.") from None
    if is_empty:
        raise UserError(f"{FILE} names {name}, which is empty.")
    return {FILE: str(file.resolve())}


def _temporary(workspace: Workspace) -> SecretAccess:
    note = "No passphrase is set: this run uses placeholder secrets and temporary state."
    if workspace.has_state:
        note += (
            f"\nWithout its passphrase ({VALUE}) the stack's state cannot be opened, so every resource is shown as new."
        )
    return SecretAccess(is_temporary=True, note=note)


def _missing(command: str, stack: Stack) -> str:
    kind = "a stack whose file contains encrypted secrets"
    if not stack.is_disposable:
        kind = "a production stack" if stack.profile == "production" else "a stack on live machines"
    return (
        f"{stack.name} is {kind}, so `{command}` needs its passphrase: set {VALUE} or {FILE} and run it again.\n"
        f"Nothing was changed. `make preview STACK={stack.name}` does not need a passphrase."
    )


def _locked_out(stack: Stack, workspace: Workspace) -> str:
    if workspace.backend != default_backend(workspace.root):
        return f"The state of {stack.name} is in {workspace.backend}: set {VALUE} or {FILE} to its passphrase."
    return (
        f"Stack {stack.name} has state, but its generated passphrase is missing from build/{stack.name}.\n"
        f"Set {VALUE} if you have it, or start over with `make clean` and `make up STACK={stack.name}`; "
        "a rendered lab loses no data."
    )
