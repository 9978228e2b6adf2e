"""Where results land: a rendered tree, or live machines and a live cluster.

Components do not ask which it is. They take the Kubernetes provider that they inherit, and hand machines to the
target; what either does with them is decided here alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import PurePosixPath

import pulumi
import pulumi_kubernetes as kubernetes

from components.machine import Machine, MachineArgs, MachinePool, MachinePoolArgs

BUILD = PurePosixPath("build")
"""Below the project, and relative to it: an absolute path in the state would make every clone a difference."""


class Target(ABC):
    """Takes Kubernetes objects, through `kubernetes`, and machines."""

    kubernetes: kubernetes.Provider

    @abstractmethod
    def machine(self, name: str, args: MachineArgs, opts: pulumi.ResourceOptions) -> pulumi.Resource:
        """One machine."""

    @abstractmethod
    def machine_pool(self, name: str, args: MachinePoolArgs, opts: pulumi.ResourceOptions) -> pulumi.Resource:
        """A pool of identical workers."""


class Render(Target):
    """Files below build/<stack>: what live would apply and copy. Needs no server."""

    def __init__(self, stack: str) -> None:
        self.root = str(directory(stack) / "machines")
        # An empty kubeconfig, since the SDK would take the user's own from the environment, and refuse it beside this.
        self.kubernetes = kubernetes.Provider(
            "render", render_yaml_to_directory=str(directory(stack) / "manifests"), kubeconfig=""
        )

    def machine(self, name: str, args: MachineArgs, opts: pulumi.ResourceOptions) -> pulumi.Resource:
        return Machine(name, args, self.root, opts)

    def machine_pool(self, name: str, args: MachinePoolArgs, opts: pulumi.ResourceOptions) -> pulumi.Resource:
        return MachinePool(name, args, self.root, opts)


def directory(stack: str) -> PurePosixPath:
    """Where everything of a stack is written."""
    return BUILD / stack


def of(stack: str) -> Target:
    """The target of a stack. Only `render` exists: the blueprint refuses live stacks until live machines come."""
    return Render(stack)
