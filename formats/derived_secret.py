"""Derives a stack's secrets from its root secret."""

from __future__ import annotations

import base64

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

LENGTH = 32
"""Length of a derived secret in bytes: that of a Fernet key."""


def derive(root: str, environment: str, name: str, generation: int) -> str:
    """Derives a secret from the root secret by HKDF (RFC 5869).

    Returns 44 characters of base64, as a Fernet key has.
    """
    purpose = f"quorate/{environment}/{name}/{generation}".encode()
    key = HKDF(algorithm=SHA256(), length=LENGTH, salt=None, info=purpose).derive(root.encode())
    return base64.urlsafe_b64encode(key).decode()
