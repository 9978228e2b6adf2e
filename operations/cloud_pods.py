"""Commands that operations run in pods of the cloud: each in the first ready pod that can be reached."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import contract
from cluster.api import ApiError, Unreachable
from cluster.objects import Object, listed, name
from cluster.pod_exec import CommandOutput, PodContainer, run_in_pod
from console.errors import UserError
from openstack import scripts
from openstack.config.wiring import ENVIRONMENT
from operations.live_cluster import LiveCluster
from operations.living.cloud import is_ready

_PODS = f"/api/v1/namespaces/{ENVIRONMENT}/pods"
PATIENCE = 90
"""Seconds that a command may take. Project figure: Nova lists a thousand instances in pages of 500."""
MONITORS = "ceph-mon"
NOVA = "nova-api"
"""The process in whose pods Nova and Neutron are asked, with Nova's account."""


@dataclass(frozen=True)
class PodAnswer:
    """The output of a command, and the pod in which it ran to its end."""

    pod: str
    output: CommandOutput

    @property
    def failed(self) -> bool:
        return self.output.code != 0

    @property
    def said(self) -> str:
        """The last of what a command that failed has written."""
        return (self.output.errors.strip() or self.output.text.strip() or f"exit code {self.output.code}")[-400:]


def pods(cluster: LiveCluster, process: str) -> list[Object]:
    """Returns the pods of a service's process, such as mysqld, in the namespace of the cloud."""
    query = {"labelSelector": f"{contract.NAME}={process}"}
    return listed(cluster.api.ask("GET", _PODS, query=query), "items")


def run(cluster: LiveCluster, process: str, container: str, command: Sequence[str]) -> PodAnswer:
    """Runs a command in a pod of a process. Raises UserError if it came to its end in none."""
    problem = "none of its pods is ready"
    for pod in filter(is_ready, pods(cluster, process)):
        try:
            done = run_in_pod(cluster.api.access, PodContainer(ENVIRONMENT, name(pod), container), command, PATIENCE)
        except (ApiError, Unreachable) as error:
            problem = f"{name(pod)}: {error}"
            continue
        if done.code is not None:
            return PodAnswer(name(pod), done)
        problem = f"{name(pod)} did not answer within {PATIENCE} s"
    raise UserError(f"{process} was not asked: {problem}. `quorate status` shows what is wrong with it.")


def ceph(*arguments: str) -> list[str]:
    """Returns a command of Ceph that ends if its monitors have no majority."""
    return ["timeout", "30", "ceph", "--connect-timeout", "10", *arguments]


def compute_services(*arguments: str) -> list[str]:
    """Returns the command that asks Nova and Neutron (openstack/scripts/compute_services.py)."""
    return ["python3", "-c", scripts.text("compute_services.py"), *arguments]


def document(said: str) -> Object:
    """Returns the JSON object that a command has written. Raises UserError if it is none."""
    try:
        found: object = json.loads(said)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UserError(f"An answer from a pod of the cloud is no JSON object: {said[:200]!r}")
    return cast("Object", found)
