"""SSH keys that follow from a secret: the same secret gives the same key, and the same file.

The private key's file format of OpenSSH contains a random number (PROTOCOL.key, checkint). Here it is derived too.
"""

from __future__ import annotations

import base64
import hashlib
import textwrap
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ALGORITHM = b"ssh-ed25519"
_SEED = 32
"""Bytes of a private key of Ed25519 (RFC 8032, 5.1.5)."""
_BLOCK = 8
"""Size to which the private part is padded without encryption (PROTOCOL.key, section 3)."""


@dataclass(frozen=True)
class SshKey:
    """An SSH key of a machine or of a user."""

    private: str
    """The file id_ed25519 or ssh_host_ed25519_key."""
    public: str
    """The line of the file with the same name and .pub, without a comment."""


def derived(secret: str) -> SshKey:
    """Returns the key that is derived from a secret."""
    seed = hashlib.sha256(secret.encode()).digest()[:_SEED]
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    blob = _text(ALGORITHM) + _text(public)
    number = hashlib.sha256(seed).digest()[:4]
    private = number + number + blob + _text(seed + public) + _text(b"")
    private += bytes(range(1, -len(private) % _BLOCK + 1))
    none = _text(b"none")
    file = b"openssh-key-v1\0" + none + none + _text(b"") + (1).to_bytes(4, "big") + _text(blob) + _text(private)
    lines = "\n".join(textwrap.wrap(base64.b64encode(file).decode(), 70))
    return SshKey(
        private=f"-----BEGIN OPENSSH PRIVATE KEY-----\n{lines}\n-----END OPENSSH PRIVATE KEY-----\n",
        public=f"{ALGORITHM.decode()} {base64.b64encode(blob).decode()}",
    )


def _text(content: bytes) -> bytes:
    """Returns a string in SSH's encoding, with its length before it (RFC 4251, section 5)."""
    return len(content).to_bytes(4, "big") + content
