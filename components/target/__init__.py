"""Targets: where the results are written. Components work with every target, through its providers and `machines`."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import pulumi
import pulumi_kubernetes as kubernetes

BUILD = PurePosixPath("build")
"""Relative to the project: an absolute path in the state would differ in every clone."""


@dataclass(frozen=True)
class Tree:
    """Files of one machine or of identical machines: templates that are filled with the values of each of `nodes`."""

    nodes: Sequence[Mapping[str, str]]
    """Template values of each node; `node` is its name."""
    files: Mapping[str, str]
    """Templates by path below the node's directory."""
    secrets: Mapping[str, str | pulumi.Output[str]]
    """Contents of secret files by their path on the machine."""


class Target(ABC):
    """Takes Kubernetes objects through two providers, and machines as trees of files."""

    kubernetes: kubernetes.Provider
    """Takes every object but Secrets."""
    secrets: kubernetes.Provider
    """Takes Secret objects."""

    def options(self) -> pulumi.ResourceOptions:
        """Returns the options of the stack's uppermost component."""
        return pulumi.ResourceOptions(providers=[self.kubernetes])

    @abstractmethod
    def machines(self, name: str, tree: Tree, opts: pulumi.ResourceOptions) -> None:
        """Creates the resource for one machine or for a pool of identical workers, below the component `name`."""


def table(nodes: Sequence[Mapping[str, str]]) -> str:
    """Returns the values of nodes as one JSON text.

    As a list, a thousand nodes would be four thousand values, each processed by the SDK, the engine and the providers.
    """
    return json.dumps([dict(node) for node in nodes])


def directory(stack: str) -> PurePosixPath:
    """Returns the directory of a stack's files."""
    return BUILD / stack


def secrets_directory(stack: str) -> PurePosixPath:
    """Returns the directory of a stack's secret files, which only its owner may read."""
    return directory(stack) / "secrets"
