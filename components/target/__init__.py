"""Where results land. Components do not ask which target it is: they hand it trees of files and use its provider."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import pulumi
import pulumi_kubernetes as kubernetes

BUILD = PurePosixPath("build")
"""Below the project, and relative to it: an absolute path in the state would make every clone a difference."""


@dataclass(frozen=True)
class Tree:
    """Files of one machine, or of many that are alike: templates that each of `nodes` fills with its own values."""

    nodes: Sequence[Mapping[str, str]]
    """What each node's templates may use; `node` is its name."""
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

    @abstractmethod
    def machines(self, name: str, tree: Tree, opts: pulumi.ResourceOptions) -> None:
        """Creates what stands for one machine, or for a pool of identical workers, below the component `name`."""


def table(nodes: Sequence[Mapping[str, str]]) -> str:
    """Returns the values of nodes as one text, in JSON.

    As a list, a thousand nodes are four thousand values, which the SDK, the engine and the providers handle singly.
    """
    return json.dumps([dict(node) for node in nodes])


def directory(stack: str) -> PurePosixPath:
    """Returns where everything of a stack is written."""
    return BUILD / stack


def secrets_directory(stack: str) -> PurePosixPath:
    """Returns where everything secret of a stack is written. Only its owner may read it."""
    return directory(stack) / "secrets"
