"""Where results land: a rendered tree, or live machines and a live cluster.

Components do not ask which it is. They take the Kubernetes provider that they inherit, and hand machines to the
target; what either does with them is decided here alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import PurePosixPath

import pulumi
import pulumi_kubernetes as kubernetes

from blueprint.problems import InvalidStackError, Problem
from blueprint.stackfile.settings import Settings
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


class Live(Target):
    """A cluster that the machine's own kubeconfig reaches. Machines themselves come in a later release."""

    def __init__(self) -> None:
        self.kubernetes = kubernetes.Provider("live")

    def machine(self, name: str, args: MachineArgs, opts: pulumi.ResourceOptions) -> pulumi.Resource:  # noqa: ARG002
        raise _no_live_machines(name)

    def machine_pool(self, name: str, args: MachinePoolArgs, opts: pulumi.ResourceOptions) -> pulumi.Resource:  # noqa: ARG002
        raise _no_live_machines(name)


def directory(stack: str) -> PurePosixPath:
    """Where everything of a stack is written."""
    return BUILD / stack


def of(settings: Settings, stack: str) -> Target:
    """The target that the settings name."""
    return Render(stack) if settings.target == "render" else Live()


def _no_live_machines(name: str) -> InvalidStackError:
    problem = f"live machines (here {name}) come with a later release; write render, which makes the files for them"
    return InvalidStackError([Problem("quorate:target", problem)])
