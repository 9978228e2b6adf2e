"""What all projects of an environment share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.openstack.config.wiring import Wiring
from components.openstack.secrets import Keyring


@dataclass(frozen=True)
class Scope:
    """The environment as its projects see it."""

    environment: str
    """The name of the namespace."""
    wiring: Wiring
    keyring: Keyring
    objects: Sequence[pulumi.Resource]
    """The namespace, and the cluster-scoped objects of the environment."""
    secrets: kubernetes.Provider
    """Takes Secret objects, and nothing else."""

    def for_secrets(self, opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
        """Returns the options of a Secret object."""
        return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=self.secrets))
