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
    """The objects of an environment that its projects use."""

    environment: str
    """The name of the namespace."""
    wiring: Wiring
    keyring: Keyring
    node_networks: tuple[str, ...]
    """The networks that contain the nodes' addresses."""
    foundation: Foundation
    """All objects depend on its namespace, workloads on its storage and priority classes."""
    secrets: kubernetes.Provider
    """The provider for Secret objects only."""

    def for_secrets(self, opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
        """Returns the options of a Secret object."""
        return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=self.secrets))
