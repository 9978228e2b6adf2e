"""Renders a stack with the engine in a temporary state, for the proof and the machine lab.

The user's stack is not touched: its state, tree, passphrase and secrets are not used, and secrets are generated. Live
stacks are rendered with the target `render`.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from commands import build_directory, stack
from commands.engine import passphrase
from commands.engine.operation import Operation
from commands.stack import ValidStack
from console.errors import UserError
from toolchain.engine import installed


@contextmanager
def rendered(root: Path, original: ValidStack, **changes: object) -> Generator[Path]:
    """Yields the rendered tree of a stack; the tree is deleted when the context ends.

    `changes`: keys of the configuration with other values than the stack file's.
    """
    engine = installed(root)
    with stack.temporary_workspace(root, original.name) as temporary:
        # A random name, so that concurrent proofs of a stack use separate trees, and no stack of the user has the name.
        # The proof registers nodes from the files of machines, which a stack on existing machines does not have.
        managed = stack.as_rendered(original, temporary.directory, machines=None, cluster=None, **changes)
        renamed = replace(managed, name=f"proof-{secrets.token_hex(8)}")
        workspace = replace(temporary, stack=renamed.name)
        tree = build_directory.of_stack(root, renamed.name)
        operation = Operation(engine, renamed, workspace, passphrase.temporary_passphrase())
        try:
            operation.open(keep_secrets=False)
            operation.give_root_secret(secrets.token_urlsafe(48))
            log = workspace.directory / "up.log"
            result = operation.run("up", output=log)
            if result.was_interrupted:
                raise KeyboardInterrupt
            if result.code:
                output = log.read_text(encoding="utf-8", errors="replace")[-3000:]
                raise UserError(
                    f"{output}\nPulumi could not render {original.name} (see above), so there is nothing to prove."
                )
            yield tree
        finally:
            build_directory.remove(tree)
