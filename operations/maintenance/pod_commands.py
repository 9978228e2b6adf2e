"""Changes that a maintenance makes through pods of the cloud: in Nova the state of computes, in Ceph the flag noout."""

from __future__ import annotations

from collections.abc import Sequence

from cluster.objects import Object, mapping, words
from console.errors import UserError
from operations import cloud_pods
from operations.cloud_pods import MONITORS, NOVA, document
from operations.live_cluster import LiveCluster

_NOOUT = "noout"


def disable_computes(cluster: LiveCluster, hosts: Sequence[str], reason: str) -> None:
    """Lets Nova's scheduler put no new instances on computes. Those that an operator has disabled stay as they are."""
    ask_nova(cluster, "disable", reason, *hosts)


def enable_computes(cluster: LiveCluster, hosts: Sequence[str]) -> None:
    """Enables the computes that `disable_computes` has disabled."""
    ask_nova(cluster, "enable", *hosts)


def hosts_kept_in(cluster: LiveCluster) -> frozenset[str]:
    """Returns the hosts in Ceph's tree whose OSDs have the flag noout: Ceph does not copy their data when they stop."""
    flags = mapping(document(_ceph(cluster, "osd", "dump", "--format=json")), "crush_node_flags")
    return frozenset(host for host in flags if _NOOUT in words(flags, host))


def keep_in(cluster: LiveCluster, host: str) -> None:
    """Sets the flag noout for the OSDs of a host."""
    _ceph(cluster, "osd", "set-group", _NOOUT, host)


def let_out(cluster: LiveCluster, host: str) -> None:
    """Removes the flag noout from the OSDs of a host."""
    _ceph(cluster, "osd", "unset-group", _NOOUT, host)


def ask_nova(cluster: LiveCluster, *arguments: str) -> Object:
    """Runs the program that asks Nova (openstack/scripts/compute_services.py) and returns what it prints."""
    return document(_run(cluster, NOVA, cloud_pods.compute_services(*arguments)))


def _ceph(cluster: LiveCluster, *arguments: str) -> str:
    return _run(cluster, MONITORS, cloud_pods.ceph(*arguments))


def _run(cluster: LiveCluster, process: str, command: Sequence[str]) -> str:
    """Returns the output of a command in a pod. Raises UserError if it fails, with the last of what it says."""
    done = cloud_pods.run(cluster, process, process, command)
    if done.failed:
        raise UserError(f"{process} refused, in pod {done.pod}: {done.said}")
    return done.output.text
