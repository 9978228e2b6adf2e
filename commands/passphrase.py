"""With which passphrase a stack's secrets are sealed and opened, or why a command cannot go on without one.

Whoever runs `up` on anything that matters brings the passphrase; a rendered lab gets one made up, so that the first
`make up` on a fresh machine just works. A look (preview, audit) never needs one: without it the stack is looked at in
a throw-away state, with placeholders for its secrets.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from commands.stack import Stack, Workspace, default_backend
from toolchain.progress import UserError

Command = Literal["up", "destroy", "preview", "audit"]
VALUE, FILE = "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"
LOOKS = ("preview", "audit")


@dataclass(frozen=True)
class Access:
    """How a command may reach a stack's secrets."""

    variables: dict[str, str] = field(default_factory=dict[str, str])
    """What to set for the engine; the user's own passphrase variables are not passed on beside it."""
    is_scratch: bool = False
    make_up: Path | None = None
    """The file to write a new passphrase into, before anything else is written."""
    note: str = ""


def choose(command: Command, stack: Stack, workspace: Workspace, environment: Mapping[str, str]) -> Access:
    """Decides without writing anything. Raises UserError where the command must be refused."""
    given = _given(environment)
    if given:
        return Access(given)
    if stack.secrets_provider or workspace.backend.startswith("http"):
        return Access()
    kept = workspace.passphrase_file
    if stack.may_make_up_secrets and kept.is_file():
        return Access({FILE: str(kept)})
    if command in LOOKS:
        return _look(workspace)
    if not stack.may_make_up_secrets:
        raise UserError(_missing(command, stack))
    if command == "destroy" and not workspace.has_state:
        return Access()
    if workspace.has_state or workspace.backend != default_backend(workspace.root):
        raise UserError(_locked_out(stack, workspace))
    name = kept.relative_to(workspace.root)
    note = f"A passphrase was made up for this lab's secrets (plain `pulumi` finds it by {FILE}={name})."
    return Access({FILE: str(kept)}, make_up=kept, note=note)


def throw_away() -> dict[str, str]:
    """A passphrase that nobody keeps, for a state that nobody keeps."""
    return {VALUE: secrets.token_urlsafe(24)}


def make_up(path: Path) -> bool:
    """Writes a new secret, readable by its owner alone; one that is there already stays, and False is returned."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(secrets.token_urlsafe(48) + "\n")
    return True


def _given(environment: Mapping[str, str]) -> dict[str, str]:
    """The user's passphrase. An empty one counts as none: it would seal nothing."""
    if environment.get(VALUE):
        return {VALUE: environment[VALUE]}
    name = environment.get(FILE)
    if not name:
        return {}
    file = Path(name)
    try:
        is_empty = not file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UserError(f"{FILE} names {name}, which cannot be read: {error.strerror}.") from None
    if is_empty:
        raise UserError(f"{FILE} names {name}, which is empty.")
    return {FILE: str(file.resolve())}


def _look(workspace: Workspace) -> Access:
    note = "No passphrase is set: secrets are placeholders, and nothing of this look is kept."
    if workspace.has_state:
        note += f"\nThe stack's state opens only with its passphrase ({VALUE}), so everything shows as new."
    return Access(is_scratch=True, note=note)


def _missing(command: str, stack: Stack) -> str:
    kind = "a stack whose file holds sealed secrets"
    if not stack.is_disposable:
        kind = "a production stack" if stack.profile == "production" else "a stack on live machines"
    return (
        f"`{command}` of {stack.name}, {kind}, needs its passphrase: set {VALUE} or {FILE} and run it again.\n"
        f"Nothing was changed. `make preview STACK={stack.name}` works without one."
    )


def _locked_out(stack: Stack, workspace: Workspace) -> str:
    if workspace.backend != default_backend(workspace.root):
        return f"Stack {stack.name} is kept in {workspace.backend}: set {VALUE} or {FILE} to its passphrase."
    return (
        f"Stack {stack.name} has a state, but the passphrase that was made up for it is gone from build/{stack.name}.\n"
        f"Set {VALUE} if it was yours; or start this lab over with `make clean` and `make up STACK={stack.name}`: "
        "it is only rendered, nothing is lost."
    )
