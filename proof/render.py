"""Builds a stack with the real engine in a throw-away state, for the proof alone.

Neither the state nor the tree of the user's own stack is touched, and no passphrase of theirs is needed: the secrets
of this rendering are made up and gone with it. A stack that targets live machines is rendered here as well.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from commands import passphrase, stack
from commands.operation import Operation
from toolchain.engine import MANIFEST, Engine
from toolchain.progress import UserError

TARGET = "quorate:target"


@contextmanager
def rendered(root: Path, name: str) -> Generator[Path]:
    """The tree of a stack, as `up` writes it; gone afterwards."""
    judged = stack.load(root, name)
    engine = Engine.load(root / ".venv" / MANIFEST)
    if engine is None:
        raise UserError("The engine is not set up; run `make setup`.")
    with stack.scratch_workspace(root, name) as scratch:
        # Named after the scratch directory, so that several proofs of one stack do not share a tree.
        proof = replace(judged, name=f"proof-{scratch.directory.name}", target="render")
        if judged.target != "render":
            proof = replace(proof, file=_to_render(judged.file, scratch.directory))
        workspace = replace(scratch, stack=proof.name)
        tree = root / "build" / proof.name
        operation = Operation(engine, proof, workspace, passphrase.throw_away())
        try:
            operation.open(keep_secrets=False)
            operation.give_root_secret(secrets.token_urlsafe(48))
            log = workspace.directory / "up.log"
            result = operation.run("up", output=log)
            if result.was_interrupted:
                raise KeyboardInterrupt
            if result.code:
                said = log.read_text(encoding="utf-8", errors="replace")[-3000:]
                raise UserError(f"{said}\nThe engine could not build {name}, so there is nothing to prove.")
            yield tree
        finally:
            shutil.rmtree(tree, ignore_errors=True)


def _to_render(file: Path, directory: Path) -> Path:
    document: dict[str, Any] = stack.read_document(file)
    document["config"] = {**document["config"], TARGET: "render"}
    copy = directory / file.name
    copy.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return copy
