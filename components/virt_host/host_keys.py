"""SSH host keys of virtual machines, derived from the root secret: a machine is recognized at its first boot."""

from __future__ import annotations

import pulumi

from components.secrets import Keyring
from formats import ssh_key


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
        return self._keyring.written(lambda reveal: dict(vars(ssh_key.derived(reveal(f"host-key/{node}")))))
