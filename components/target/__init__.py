"""Targets of a deployment: rendered files or a live cluster. Components use either through the class Target."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import pulumi
import pulumi_kubernetes as kubernetes

from blueprint.plan.nodes import Node
from components.virt_host.restarts import Restart

BUILD = PurePosixPath("build")
"""Directory of rendered files, relative to the project: an absolute path in the state would differ in every clone."""


@dataclass(frozen=True)
class Tree:
    """Files of one machine or of identical machines, as templates that are filled with the values of each node."""

    nodes: Sequence[Mapping[str, str]]
    """Template values of each node; the value `node` is the node's name."""
    files: Mapping[str, str]
    """Templates by path below the node's directory."""
    secrets: Mapping[str, str | pulumi.Output[str]]
    """Contents of secret files by their path on the machine."""
    node_secrets: Mapping[str, pulumi.Output[Mapping[str, str]]] = field(
        default_factory=dict[str, pulumi.Output[Mapping[str, str]]]
    )
    """Contents of secret files that differ between the nodes, by node name, by their path on the machine."""
    meeting: str | None = None
    """Name of the first step that waits for other machines; None if there is none."""


@dataclass(frozen=True)
class GuestMachine:
    """A virtual machine that a target may make."""

    node: Node
    definition: Mapping[str, str]
    """Texts of the files that define it, by name: a libvirt domain, or those of a system container."""
    disk: int
    """Size of its disk in GiB. A system container is in the file system of its host, without a limit."""
    restart: Restart
    """What is asked before it restarts."""


class Target(ABC):
    """The place to which a deployment goes: two providers for Kubernetes objects, and a method for machines' files."""

    def options(self) -> pulumi.ResourceOptions:
        """Returns the resource options of the stack's root component, Cloud."""
        return pulumi.ResourceOptions()

    @property
    @abstractmethod
    def kubernetes(self) -> kubernetes.Provider:
        """Provider for all Kubernetes objects except Secrets. Asked for after all machines are registered."""

    @property
    def secrets(self) -> kubernetes.Provider:
        """Provider for Secret objects."""
        return self.kubernetes

    def virtual_machine(
        self,
        name: str,  # noqa: ARG002
        vm: GuestMachine,  # noqa: ARG002
        after: Sequence[pulumi.Resource],  # noqa: ARG002
        opts: pulumi.ResourceOptions,  # noqa: ARG002
    ) -> Sequence[pulumi.Resource]:
        """Makes a virtual machine on its virt host, whose component is the parent in `opts`.

        `after`: resources that a restart of the machine waits for, but not its creation. Returns the resources that
        stand for it; [] for a target that makes no virtual machines.
        """
        return []

    def start(self, name: str, tree: Tree, opts: pulumi.ResourceOptions) -> Sequence[pulumi.Resource]:  # noqa: ARG002
        """Runs the steps of a new machine before the first one that waits for other machines.

        Machines that wait for each other are all started before the first of them is finished by `machines`. Returns
        the resources that do so; [] for a target that runs no steps.
        """
        return []

    @abstractmethod
    def machines(self, name: str, tree: Tree, opts: pulumi.ResourceOptions) -> None:
        """Creates the resource with the files of one machine or of a pool of identical workers.

        `name`: name of the machine's component, from which the resource's name is made.
        """


def table(nodes: Sequence[Mapping[str, str]]) -> str:
    """Returns the template values of nodes as one JSON text.

    As a list, a thousand nodes would be four thousand values, each processed by the SDK, the engine and the providers.
    """
    return json.dumps([dict(node) for node in nodes])


def directory(stack: str) -> PurePosixPath:
    """Returns the directory of a stack's rendered files, relative to the project."""
    return BUILD / stack


def secrets_directory(stack: str) -> PurePosixPath:
    """Returns the directory of a stack's rendered secret files, relative to the project."""
    return directory(stack) / "secrets"
