"""SSH host keys of virtual machines, derived from the root secret, so that a machine is recognized at its first boot.

The private key's file format of OpenSSH contains a random number (PROTOCOL.key, checkint). Here it is derived too, so
that the same secret gives the same file.
"""

from __future__ import annotations

import base64
import hashlib
import textwrap
from dataclasses import dataclass

import pulumi
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from components.secrets import LENGTH, Keyring

ALGORITHM = b"ssh-ed25519"
_BLOCK = 8
"""Size to which the private part is padded without encryption (PROTOCOL.key, section 3)."""


@dataclass(frozen=True)
class HostKey:
    """The SSH host key of a machine."""

    private: str
    """The file ssh_host_ed25519_key."""
    public: str
    """The line of ssh_host_ed25519_key.pub, without a comment."""


class HostKeys:
    """Derives the SSH host keys of virtual machines. `keyring`: derives the secret of each key."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    def private(self, node: str) -> pulumi.Output[str]:
        """Returns the private host key of a node, a Pulumi secret."""
        return self._of(node).apply(lambda found: found["private"])

    def public(self, node: str) -> pulumi.Output[str]:
        """Returns the public host key of a node, which is not secret."""
        return pulumi.Output.unsecret(self._of(node).apply(lambda found: found["public"]))

    def _of(self, node: str) -> pulumi.Output[dict[str, str]]:
        return self._keyring.written(lambda reveal: vars(host_key(reveal(f"host-key/{node}"))))


def host_key(secret: str) -> HostKey:
    """Returns the host key that is derived from a secret."""
    seed = hashlib.sha256(secret.encode()).digest()[:LENGTH]
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    blob = _text(ALGORITHM) + _text(public)
    number = hashlib.sha256(seed).digest()[:4]
    private = number + number + blob + _text(seed + public) + _text(b"")
    private += bytes(range(1, -len(private) % _BLOCK + 1))
    none = _text(b"none")
    file = b"openssh-key-v1\0" + none + none + _text(b"") + (1).to_bytes(4, "big") + _text(blob) + _text(private)
    lines = "\n".join(textwrap.wrap(base64.b64encode(file).decode(), 70))
    return HostKey(
        private=f"-----BEGIN OPENSSH PRIVATE KEY-----\n{lines}\n-----END OPENSSH PRIVATE KEY-----\n",
        public=f"{ALGORITHM.decode()} {base64.b64encode(blob).decode()}",
    )


def _text(content: bytes) -> bytes:
    """Returns a string in SSH's encoding, with its length before it (RFC 4251, section 5)."""
    return len(content).to_bytes(4, "big") + content
