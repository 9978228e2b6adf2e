"""Targets of a deployment: rendered files or a live cluster. Components use either through the class Target."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import pulumi
import pulumi_kubernetes as kubernetes

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


class Target(ABC):
    """The place to which a deployment goes: two providers for Kubernetes objects, and a method for machines' files."""

    kubernetes: kubernetes.Provider
    """Provider for all Kubernetes objects except Secrets."""
    secrets: kubernetes.Provider
    """Provider for Secret objects."""

    def options(self) -> pulumi.ResourceOptions:
        """Returns the resource options of the stack's root component, Cloud."""
        return pulumi.ResourceOptions(providers=[self.kubernetes])

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
