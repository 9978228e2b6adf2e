"""`quorate audit --sign KEY` and `--verify KEY`: reports as signed bundles, in a chain for each stack."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit import bundle
from audit.bundle import BadKey, ReportOrigin
from commands import stack
from commands.review import audit_report
from console.errors import UserError
from toolchain.engine import installed

CHAIN = "audits"
"""Folder below build/<stack> with the bundles; keep a copy elsewhere."""


def private_key(key: Path) -> Ed25519PrivateKey:
    """Reads the key before the audit runs, so that a wrong one costs no time. Raises UserError."""
    try:
        return bundle.private_key(_read(key))
    except BadKey as reason:
        raise UserError(f"--sign {key}: {reason}") from None


def sign(root: Path, name: str, key: Ed25519PrivateKey, since: float) -> None:
    """Signs the report that an audit wrote after `since` as the next bundle of the stack's chain. Raises UserError."""
    report = audit_report.written(root, name, since)
    found = stack.load(root, name)
    stack_file = bundle.digest(found.file.read_bytes())
    origin = ReportOrigin(name, stack_file, _revision(root), installed(root).version)
    folder = bundle.sign(report, root / "build" / name / CHAIN, key, origin)
    print(f"Signed: {folder.relative_to(root)}/{bundle.NAME}")


def verify(root: Path, name: str, key: Path) -> int:
    """Verifies all bundles of a stack. Returns 0 if the chain is whole, 1 otherwise or if there is none."""
    try:
        public = bundle.public_key(_read(key))
    except BadKey as reason:
        raise UserError(f"--verify {key}: {reason}") from None
    chain = root / "build" / name / CHAIN
    there = bundle.bundles(chain)
    if not there:
        raise UserError(f"build/{name}/{CHAIN} has no signed report; write one with `quorate audit --sign KEY`.")
    wrong = list(bundle.faults(chain, public, name))
    for each in wrong:
        print(each)
    print(f"{len(there)} reports up to {there[-1].name}: {'not ' * bool(wrong)}as they were signed.")
    return 1 if wrong else 0


def _read(key: Path) -> bytes:
    try:
        return key.read_bytes()
    except OSError as reason:
        raise UserError(f"{key} cannot be read ({reason.strerror}); write the path of a key in PEM.") from None


def _revision(root: Path) -> str:
    described = ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    done = subprocess.run(described, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
