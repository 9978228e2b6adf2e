"""The clone that is handed over: its states, its size, its passphrase, and what is in the way here."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from blueprint.problems import InvalidStackError
from commands import stack
from commands.engine import passphrase
from commands.handover import destination, opening, state_lock
from commands.handover.destination import CopiedFiles
from commands.handover.opening import OpenedState
from commands.live import connection
from console.errors import UserError
from operations import under_way


@dataclass(frozen=True)
class CloneHere:
    """What is known of the clone before anything is changed."""

    root: Path
    states: Mapping[str, OpenedState]
    """The stacks with a state, by name, and whether their states can be opened here."""
    size: CopiedFiles
    passphrase: str
    """The user's passphrase; "" if none is set. It is in no message."""
    own_file: Path | None
    """The file that has it, if it is in the clone."""
    passphrase_file: Path | None
    """The file that has it, if it is outside of the clone."""
    has_live_stack: bool
    refusals: list[str] = field(default_factory=list[str])
    """Why the clone cannot be handed over now."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the file with the passphrase; "" without one."""
        return hashlib.sha256(self.passphrase_file.read_bytes()).hexdigest() if self.passphrase_file else ""

    @property
    def opened(self) -> list[str]:
        """The stacks whose states were opened here."""
        return [name for name, each in self.states.items() if not each.problem]


def look(root: Path, environment: Mapping[str, str]) -> CloneHere:
    """Returns what is known of the clone. Raises UserError if ssh or rsync is missing here."""
    if missing := [name for name in ("ssh", "rsync") if not shutil.which(name)]:
        raise UserError(f"There is no {' and no '.join(missing)} here. Install the packages openssh-client and rsync.")
    names = [each.stem for each in state_lock.states(root)]
    given = passphrase.of_user(environment)
    file = Path(given[passphrase.FILE]) if passphrase.FILE in given else None
    value = given.get(passphrase.VALUE) or (file.read_text(encoding="utf-8").strip() if file else "")
    states = opening.open_all(root, names, value)
    refusals = [*_of_clone(root, environment), *_of_states(states)]
    live = [found for name in names if (found := _live(root, name))]
    refusals += [line for found in live for line in _operation(root, found)]
    with tempfile.TemporaryDirectory(prefix="quorate-handover-") as nowhere:
        size = destination.size(root, Path(nowhere))
    own = file if file and file.is_relative_to(root) else None
    return CloneHere(root, states, size, value, own, None if own else file, bool(live), refusals)


def _of_clone(root: Path, environment: Mapping[str, str]) -> Iterator[str]:
    backend = stack.main_workspace(root, "", environment).backend
    if backend != stack.default_backend(root):
        yield (
            f"PULUMI_BACKEND_URL is {backend}: only states in build/.state are handed over. With another backend, "
            "clone the repository on the other machine and set the same variables there (docs/handover.md)."
        )
    if (root / ".git").is_file():
        yield "This directory is a worktree of another clone. Hand that clone over."
    if (root / ".git" / "objects" / "info" / "alternates").exists():
        yield "git reads objects of another clone (objects/info/alternates): `git repack -a -d`, then remove the file."


def _of_states(states: Mapping[str, OpenedState]) -> Iterator[str]:
    if not states:
        yield "There is no state in build/.state: clone the repository on the other machine instead."
    elif all(each.problem for each in states.values()):
        for name, each in states.items():
            yield f"The state of {name} cannot be opened here: {each.problem}"


def _live(root: Path, name: str) -> stack.ValidStack | None:
    """Returns a live stack of a name; None if it is rendered, or has no valid stack file."""
    try:
        found = stack.load(root, name)
    except (UserError, InvalidStackError):
        return None
    return None if found.is_rendered else found


def _operation(root: Path, found: stack.ValidStack) -> Iterator[str]:
    """Yields that a process works on an operation of a live stack. One that waits can go on from the other machine."""
    try:
        known = under_way.read(connection.connect(root, found).api, found.name)
        problem = known.problem
    except UserError as error:
        print(f"Stack {found.name} was not asked for operations under way: {error}", flush=True)
        return
    if problem:
        print(f"Stack {found.name}: {problem}", flush=True)
    elif known.operation and known.worker:
        yield f"{known.operation.sentence()} A process of {known.worker} works on it; wait until it has ended."
