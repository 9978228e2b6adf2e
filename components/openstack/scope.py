"""What all projects of an environment share."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.openstack.config.wiring import Wiring
from components.openstack.secrets import Keyring
from components.openstack.storage import Foundation


@dataclass(frozen=True)
class Scope:
    """The environment as its projects see it."""

    environment: str
    """The name of the namespace."""
    wiring: Wiring
    keyring: Keyring
    foundation: Foundation
    """All objects wait for its namespace, pods for its classes."""
    secrets: kubernetes.Provider
    """Takes Secret objects, and nothing else."""

    def for_secrets(self, opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
        """Returns the options of a Secret object."""
        return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=self.secrets))
