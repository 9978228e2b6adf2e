"""Creates and reads files that contain one generated secret: a passphrase or a root secret of a rendered lab."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from files import atomic

_FORM = rb"[A-Za-z0-9_-]{64}\n"


class DamagedError(Exception):
    """The file does not contain a generated secret. The message has no subject and contains no part of the content."""


def create(path: Path) -> bool:
    """Writes a new secret into a file with mode 0600. Returns False and changes nothing if the file exists."""
    return atomic.create(path, secrets.token_urlsafe(48) + "\n", 0o600)


def read(path: Path) -> str:
    """Returns the secret in a file that create() wrote.

    Raises DamagedError if the content is damaged, and OSError if the file cannot be read.
    """
    content = path.read_bytes()
    if not re.fullmatch(_FORM, content):
        what = "is empty" if not content.strip() else "is damaged: expected the generated 64 characters and a line end"
        raise DamagedError(what)
    return content.decode().strip()
