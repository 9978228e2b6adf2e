"""Secrets of services: each is derived from the stack's root secret, by name and generation.

The root secret itself reaches no machine and no object. Two names never share a value, and a secret of one environment
says nothing about that of another. A preview without the root secret uses placeholders; they cannot be applied.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pulumi
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from components.openstack.config.layers import Reveal

LENGTH = 32
"""Bytes of a secret: 256 bits, as many as a Fernet key has."""


@dataclass(frozen=True)
class Keyring:
    """Gives the secrets of one environment."""

    environment: str
    root: pulumi.Output[str] | None
    """The stack's root secret, None in a preview without it."""
    generations: Mapping[str, int] = field(default_factory=dict[str, int])
    """How often each secret was replaced, by name. One that is not listed has generation 1."""

    def generation(self, name: str) -> int:
        """Returns the generation of a secret. It may be published, so that pods roll when it changes."""
        return self.generations.get(name, 1)

    def written(self, write: Callable[[Reveal], dict[str, str]]) -> pulumi.Output[dict[str, str]]:
        """Returns what `write` makes with the secrets, as a Pulumi secret."""
        if self.root is None:
            return pulumi.Output.secret(write(placeholder))
        return pulumi.Output.secret(self.root).apply(lambda root: write(lambda name: self._derived(root, name)))

    def _derived(self, root: str, name: str) -> str:
        return derive(root, self.environment, name, self.generation(name))


def derive(root: str, environment: str, name: str, generation: int) -> str:
    """Returns a secret as URL-safe base64 with padding: 44 characters, the form of a Fernet key. HKDF (RFC 5869)."""
    purpose = f"quorate/{environment}/{name}/{generation}".encode()
    key = HKDF(algorithm=SHA256(), length=LENGTH, salt=None, info=purpose).derive(root.encode())
    return base64.urlsafe_b64encode(key).decode()


def placeholder(name: str) -> str:
    """Returns the text that stands for a secret while the root secret is not known."""
    return f"<secret {name}>"
