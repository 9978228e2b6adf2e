"""Secrets of services: each is derived from the stack's root secret, by name and generation.

The root secret itself is never written to a machine or an object. Secrets with different names have independent values,
and so have the same names in different environments. A preview without the root secret uses placeholders, which cannot
be applied.
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
    """Generation of each secret by name, increased when the secret is replaced; by default 1."""

    def generation(self, key: str) -> int:
        """Returns the generation of a secret. An annotation of pods contains it, so that a change restarts them."""
        name, _, generation = key.partition(":")
        return int(generation) if generation else self.generations.get(name, 1)

    def written(self, write: Callable[[Reveal], dict[str, str]]) -> pulumi.Output[dict[str, str]]:
        """Returns the result of `write`, called with a function that reveals secrets, as a Pulumi secret."""
        if self.root is None:
            return pulumi.Output.secret(write(placeholder))
        return pulumi.Output.secret(self.root).apply(lambda root: write(lambda key: self._derived(root, key)))

    def _derived(self, root: str, key: str) -> str:
        return derive(root, self.environment, key.partition(":")[0], self.generation(key))


def derive(root: str, environment: str, name: str, generation: int) -> str:
    """Returns a secret as URL-safe base64 with padding: 44 characters, the form of a Fernet key. HKDF (RFC 5869)."""
    purpose = f"quorate/{environment}/{name}/{generation}".encode()
    key = HKDF(algorithm=SHA256(), length=LENGTH, salt=None, info=purpose).derive(root.encode())
    return base64.urlsafe_b64encode(key).decode()


def placeholder(name: str) -> str:
    """Returns the text that replaces a secret while the root secret is unknown."""
    return f"<secret {name}>"
