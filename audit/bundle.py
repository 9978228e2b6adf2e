"""Signs an audit as a bundle, and verifies a chain of bundles.

A bundle is a folder with the audit's files, `bundle.json`, and `bundle.json.sig`: the Ed25519 signature of the former
in base64, which others verify too (`openssl pkeyutl -verify -rawin`). `bundle.json` has the digest of every file,
of the stack file, and of the `bundle.json` before it, so that a report that was removed from between is noticed. The
newest bundles can be removed unnoticed: compare the number of the last one with a copy kept elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

NAME, SIGNATURE = "bundle.json", "bundle.json.sig"
VERSION = 1


class BadKey(ValueError):
    """A file has no Ed25519 key of the kind that is needed."""


@dataclass(frozen=True)
class ReportOrigin:
    """Where a report comes from."""

    stack: str
    stack_file: str
    """SHA-256 of the stack file."""
    revision: str
    """Commit of the repository; it ends in "-dirty" if the working tree had changes."""
    engine: str
    """Version of Pulumi."""


def private_key(pem: bytes) -> Ed25519PrivateKey:
    """Reads a private key without a passphrase (`openssl genpkey -algorithm ed25519`). Raises BadKey."""
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as reason:
        raise BadKey(f"no private key without a passphrase in PEM ({reason})") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadKey("the key is not of Ed25519; write one with `openssl genpkey -algorithm ed25519 -out FILE`")
    return key


def public_key(pem: bytes) -> Ed25519PublicKey:
    """Reads a public key (`openssl pkey -in KEY -pubout`). Raises BadKey."""
    try:
        key = load_pem_public_key(pem)
    except ValueError as reason:
        raise BadKey(f"no public key in PEM ({reason})") from None
    if not isinstance(key, Ed25519PublicKey):
        raise BadKey("the key is not of Ed25519")
    return key


def digest(content: bytes) -> str:
    """Returns the SHA-256 of a file's content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def sign(report: Path, chain: Path, key: Ed25519PrivateKey, origin: ReportOrigin) -> Path:
    """Copies the files of a report into the next bundle of the chain, and signs it. Returns the bundle's folder."""
    before = bundles(chain)
    number = int(before[-1].name) + 1 if before else 1
    findings: dict[str, Any] = json.loads((report / "findings.json").read_text(encoding="utf-8"))
    folder = chain / f"{number:06}"
    made = chain / f".{number:06}.unfinished"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    files = sorted(path for path in report.iterdir() if path.is_file() and path.name != "events.jsonl")
    for path in files:
        shutil.copyfile(path, made / path.name)
    document = {
        "version": VERSION,
        "number": number,
        "previous": digest((before[-1] / NAME).read_bytes()) if before else "",
        **asdict(origin),
        "pack": findings["generatedBy"]["version"],
        "time": findings["generatedBy"]["time"],
        "verdict": findings["summary"]["verdict"],
        "files": {path.name: digest((made / path.name).read_bytes()) for path in files},
    }
    text = (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()
    (made / NAME).write_bytes(text)
    (made / SIGNATURE).write_bytes(base64.b64encode(key.sign(text)) + b"\n")
    made.rename(folder)
    return folder


def bundles(chain: Path) -> list[Path]:
    """Returns the folders of a chain's bundles, the oldest first; [] if there is no chain."""
    return sorted(path for path in chain.glob("[0-9]*") if path.is_dir() and path.name.isdecimal())


def faults(chain: Path, key: Ed25519PublicKey, stack: str) -> Iterator[str]:
    """Yields what is wrong with a chain, in words: a signature, a file, a missing report."""
    before, expected = "", 1
    for folder in bundles(chain):
        try:
            text = (folder / NAME).read_bytes()
            key.verify(base64.b64decode((folder / SIGNATURE).read_bytes(), validate=False), text)
            document = cast("dict[str, Any]", json.loads(text))
        except InvalidSignature:
            yield f"{folder.name}: the signature of {NAME} is not by this key"
            document, text = {}, b""
        except (OSError, ValueError) as reason:
            yield f"{folder.name}: {NAME} or its signature cannot be read ({reason})"
            document, text = {}, b""
        if document:
            if document["number"] != int(folder.name) or document["stack"] != stack:
                yield f"{folder.name}: is report {document['number']} of stack {document['stack']}"
            if int(folder.name) != expected:
                yield f"{folder.name}: reports from {expected:06} to {int(folder.name) - 1:06} are missing"
            elif document["previous"] != before:
                yield f"{folder.name}: the report before it is another one than when it was signed"
            yield from (f"{folder.name}: {wrong}" for wrong in _changed(folder, document["files"]))
        before, expected = digest(text), int(folder.name) + 1


def _changed(folder: Path, files: Mapping[str, str]) -> Iterator[str]:
    for name, wanted in files.items():
        path = folder / Path(name).name
        if not path.is_file():
            yield f"{name} is missing"
        elif digest(path.read_bytes()) != wanted:
            yield f"{name} has changed"
    for extra in sorted({path.name for path in folder.iterdir()} - files.keys() - {NAME, SIGNATURE}):
        yield f"{extra} is not part of the signed report"
