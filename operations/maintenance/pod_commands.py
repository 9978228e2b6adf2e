"""Changes that a maintenance makes through pods of the cloud: in Nova the state of computes, in Ceph the flag noout."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from cluster.api import ApiError, Unreachable
from cluster.objects import Object, mapping, name, words
from cluster.pod_exec import PodContainer, run_in_pod
from console.errors import UserError
from openstack import scripts
from openstack.config.wiring import ENVIRONMENT
from operations.live_cluster import LiveCluster
from operations.living.cloud import is_ready
from operations.living_quorum import pods

PATIENCE = 90
"""Seconds that a command may take. Project figure: Nova lists a thousand instances in pages of 500."""
_NOOUT = "noout"


def disable_computes(cluster: LiveCluster, hosts: Sequence[str], reason: str) -> None:
    """Lets Nova's scheduler put no new instances on computes. Those that an operator has disabled stay as they are."""
    ask_nova(cluster, "disable", reason, *hosts)


def enable_computes(cluster: LiveCluster, hosts: Sequence[str]) -> None:
    """Enables the computes that `disable_computes` has disabled."""
    ask_nova(cluster, "enable", *hosts)


def hosts_kept_in(cluster: LiveCluster) -> frozenset[str]:
    """Returns the hosts in Ceph's tree whose OSDs have the flag noout: Ceph does not copy their data when they stop."""
    flags = mapping(_document(_ceph(cluster, "osd", "dump", "--format=json")), "crush_node_flags")
    return frozenset(host for host in flags if _NOOUT in words(flags, host))


def keep_in(cluster: LiveCluster, host: str) -> None:
    """Sets the flag noout for the OSDs of a host."""
    _ceph(cluster, "osd", "set-group", _NOOUT, host)


def let_out(cluster: LiveCluster, host: str) -> None:
    """Removes the flag noout from the OSDs of a host."""
    _ceph(cluster, "osd", "unset-group", _NOOUT, host)


def ask_nova(cluster: LiveCluster, *arguments: str) -> Object:
    """Runs the program that asks Nova (openstack/scripts/compute_services.py) and returns what it prints."""
    said = _run(cluster, "nova-api", "nova-api", ["python3", "-c", scripts.text("compute_services.py"), *arguments])
    return _document(said)


def _ceph(cluster: LiveCluster, *arguments: str) -> str:
    return _run(cluster, "ceph-mon", "ceph-mon", ["timeout", "30", "ceph", "--connect-timeout", "10", *arguments])


def _document(said: str) -> Object:
    try:
        found: object = json.loads(said)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UserError(f"An answer from a pod of the cloud is no JSON object: {said[:200]!r}")
    return cast("Object", found)


def _run(cluster: LiveCluster, process: str, container: str, command: Sequence[str]) -> str:
    """Runs a command in the first ready pod of a process that can be reached, and returns its output.

    Raises UserError if none can, or if the command fails, with the last of what it says.
    """
    problem = "none of its pods is ready"
    for pod in filter(is_ready, pods(cluster, process)):
        try:
            done = run_in_pod(cluster.api.access, PodContainer(ENVIRONMENT, name(pod), container), command, PATIENCE)
        except (ApiError, Unreachable) as error:
            problem = f"{name(pod)}: {error}"
            continue
        if done.code == 0:
            return done.text
        if done.code is None:
            problem = f"{name(pod)} did not answer within {PATIENCE} s"
            continue
        said = (done.errors.strip() or done.text.strip() or f"exit code {done.code}")[-400:]
        raise UserError(f"{process} refused, in pod {name(pod)}: {said}")
    raise UserError(f"{process} was not asked: {problem}. `quorate status` shows what is wrong with it.")
