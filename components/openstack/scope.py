"""The objects and data that all projects of an environment share."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.openstack.storage import Foundation
from components.secrets import Keyring
from openstack.config.wiring import Wiring


@dataclass(frozen=True)
class Scope:
    """Objects and data of an environment that its projects and processes use."""

    environment: str
    """Name of the environment, which is also the name of its namespace."""
    wiring: Wiring
    keyring: Keyring
    node_networks: tuple[str, ...]
    """Networks that contain the addresses of the cluster's nodes, for NetworkPolicies."""
    foundation: Foundation
    """The namespace, on which all objects depend, and the storage and priority classes, on which workloads depend."""
    secrets: kubernetes.Provider
    """The Kubernetes provider for Secret objects. All other objects use another provider."""

    def for_secrets(self, opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
        """Returns `opts` with the provider for Secret objects."""
        return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=self.secrets))
