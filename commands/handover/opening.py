"""Opens the states of a clone: whether Pulumi reads them, and whether the passphrase decrypts their secrets.

Called as `python -m commands.handover.opening` on the other machine of a handover, with the passphrase on its standard
input. No secret is printed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from commands import stack
from commands.engine import passphrase
from commands.engine.operation import Operation
from commands.stack import Stack, Workspace
from console.errors import UserError
from toolchain.engine import installed


@dataclass(frozen=True)
class OpenedState:
    """A state that was opened: its number of resources, or why it was not opened."""

    resources: int = 0
    problem: str = ""


def open_all(root: Path, names: Iterable[str], given: str) -> dict[str, OpenedState]:
    """Opens the states of stacks. `given`: the user's passphrase; a stack with a generated one is opened with that."""
    return {name: _open(root, name, given) for name in names}


def _open(root: Path, name: str, given: str) -> OpenedState:
    own = stack.main_workspace(root, name, {})
    variables = {passphrase.FILE: str(own.passphrase_file)} if own.passphrase_file.is_file() else {}
    if not variables and given:
        variables = {passphrase.VALUE: given}
    file = next((each for each in stack.places(root, name) if each.is_file()), root / f"Pulumi.{name}.yaml")
    provider = stack.read_document(file).get("secretsprovider")
    if not variables and not provider:
        return OpenedState(problem=f"no passphrase is set ({passphrase.VALUE} or {passphrase.FILE})")
    # A copy of the stack file of its own: another command may use that of the stack now.
    with tempfile.TemporaryDirectory(prefix=".scratch-", dir=root / "build") as directory:
        workspace = Workspace(root, name, Path(directory), own.backend)
        workspace.prepare(file, keep_secrets=True)
        opened = Stack(name, file, profile="production", target="render", secrets_provider=provider)
        try:
            return OpenedState(Operation(installed(root), opened, workspace, variables).decrypted())
        except UserError as error:
            return OpenedState(problem=str(error))


def question(names: Iterable[str], given: str) -> str:
    """Returns the standard input of the program."""
    return json.dumps({"stacks": list(names), "passphrase": given})


def answer(text: str) -> dict[str, OpenedState]:
    """Returns the answer that the program prints. Raises UserError if it is none."""
    try:
        found: Mapping[str, dict[str, object]] = json.loads(text.strip().rpartition("\n")[2])
        return {name: OpenedState(**each) for name, each in found.items()}  # pyright: ignore[reportArgumentType]
    except (ValueError, TypeError, AttributeError):
        raise UserError("The other machine gave no answer about its states.") from None


def main() -> int:
    """Answers the question on the standard input for the clone in the working directory."""
    asked = json.load(sys.stdin)
    os.umask(0o077)
    found = open_all(Path.cwd(), asked["stacks"], asked["passphrase"])
    print(json.dumps({name: asdict(each) for name, each in found.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
