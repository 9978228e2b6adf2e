"""Secrets: each is derived from the stack's root secret, the environment, and its name and generation.

The root secret itself is not written to machines or Kubernetes objects. Secrets with different names have independent
values, and so have secrets of the same name in different environments. A preview without the root secret uses
placeholders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import pulumi

from blueprint.openstack import given_secret
from formats.derived_secret import derive

T = TypeVar("T")


@dataclass(frozen=True)
class Keyring:
    """Derives the secrets of one environment from the root secret."""

    environment: str
    root: pulumi.Output[str] | None
    """The stack's root secret; None in a preview without the passphrase."""
    generations: Mapping[str, int] = field(default_factory=dict[str, int])
    """Generation of each secret by name, increased when the secret is replaced; by default 1."""
    given: pulumi.Output[dict[str, str]] | None = None
    """Values of the secrets that other systems gave, by name; None if there are none, or in such a preview."""

    def generation(self, key: str) -> int:
        """Returns the generation of the secret with a key such as nova/database or nova/database:1.

        An annotation of pods contains the generation, so that a replaced secret restarts the pods.
        """
        name, _, generation = key.partition(":")
        return int(generation) if generation else self.generations.get(name, 1)

    def written(self, write: Callable[[Callable[[str], str]], T]) -> pulumi.Output[T]:
        """Calls `write` with the function that returns secrets by key. Returns the result as a Pulumi secret."""
        if self.root is None:
            return pulumi.Output.secret(write(placeholder))
        if self.given is None:
            return pulumi.Output.secret(self.root).apply(lambda root: write(lambda key: self._derived(root, key)))
        both = pulumi.Output.all(pulumi.Output.secret(self.root), pulumi.Output.secret(self.given))
        return both.apply(lambda each: write(lambda key: each[1].get(key) or self._derived(each[0], key)))

    def _derived(self, root: str, key: str) -> str:
        if key.startswith(given_secret.PREFIX):  # a preview without the value: an update without it is refused
            return placeholder(key)
        return derive(root, self.environment, key.partition(":")[0], self.generation(key))


def placeholder(name: str) -> str:
    """Returns the text that stands for a secret in a preview without the root secret."""
    return f"<secret {name}>"
