"""Commands of a replacement that run in pods of the cloud: those of RabbitMQ, of Ceph, and of Nova and Neutron."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cluster.objects import Object, listed, number, text, words
from console.errors import UserError
from operations import cloud_pods
from operations.cloud_pods import MONITORS, NOVA, document
from operations.live_cluster import LiveCluster

_RABBITMQ = "rabbitmq"


@dataclass(frozen=True)
class Osd:
    """An OSD in Ceph's map."""

    number: str
    identity: str
    """Its uuid. Ceph gives the number of an OSD that it has removed to the next one."""
    is_up: bool
    is_in: bool


def forget_broker(cluster: LiveCluster, quorum: str, member: str) -> str:
    """Removes a member that does not run from the list of a RabbitMQ cluster.

    Returns what was done. Raises UserError if it runs, or if the cluster refuses.
    """
    listed_names = _status(cluster, quorum)
    node = next((each for each in words(listed_names, "disk_nodes") if _member(each) == member), "")
    if not node:
        return f"{quorum} does not list {member}"
    if node in words(listed_names, "running_nodes"):
        raise UserError(f"{member} runs in {quorum}: it is not the member of a dead machine.")
    try:
        _done(cluster, quorum, _RABBITMQ, ["rabbitmqctl", "--quiet", "--timeout", "60", "forget_cluster_node", node])
    except UserError:
        # The answer of a slow pod was given up, the next pod was asked, and had nothing left to forget.
        if node in words(_status(cluster, quorum), "disk_nodes"):
            raise
    return f"{quorum} has forgotten {node}"


def broker_runs(cluster: LiveCluster, quorum: str, member: str) -> bool:
    """Whether a RabbitMQ cluster lists a member as running."""
    return any(_member(each) == member for each in words(_status(cluster, quorum), "running_nodes"))


def forget_monitor(cluster: LiveCluster, quorum: str, member: str) -> str:
    """Removes a monitor from Ceph's map of monitors. Returns what was done. Raises UserError if Ceph refuses."""
    known = [text(each, "name") for each in listed(_ceph_json(cluster, "mon", "dump"), "mons")]
    if member not in known:
        return f"{quorum} does not list {member}"
    _ceph(cluster, "mon", "remove", member)
    return f"{quorum} has removed {member}"


def osds_of(cluster: LiveCluster, host: str) -> tuple[str, ...]:
    """Returns the numbers of the OSDs of a host in Ceph's tree."""
    nodes = listed(_ceph_json(cluster, "osd", "tree"), "nodes")
    found = [words(each, "children") for each in nodes if each.get("type") == "host" and each.get("name") == host]
    return tuple(sorted((each for children in found for each in children), key=int))


def all_osds(cluster: LiveCluster) -> list[Osd]:
    """Returns the OSDs in Ceph's map."""
    found = listed(_ceph_json(cluster, "osd", "dump"), "osds")
    return [
        Osd(str(number(each, "osd")), text(each, "uuid"), number(each, "up") == 1, number(each, "in") == 1)
        for each in found
    ]


def blocks_stop(cluster: LiveCluster, osd: str) -> str:
    """Returns why an OSD may not stop, in Ceph's words; "" if every placement group serves without it."""
    done = cloud_pods.run(cluster, MONITORS, MONITORS, cloud_pods.ceph("osd", "ok-to-stop", osd))
    return done.said if done.failed else ""


def stop(cluster: LiveCluster, osd: str) -> None:
    """Lets an OSD end by itself."""
    _ceph(cluster, "osd", "stop", osd)


def devices_of(cluster: LiveCluster, osd: str) -> str:
    """Returns the disks of an OSD as it named them when it last started, such as sdb; "" if that is not known."""
    return text(_ceph_json(cluster, "osd", "metadata", osd), "devices")


def put_out(cluster: LiveCluster, osds: Sequence[str]) -> None:
    """Marks OSDs out, so that Ceph copies their data elsewhere. It is not an error if they are out."""
    if left := _known(cluster, osds):
        _ceph(cluster, "osd", "out", *left)


def blocks_purge(cluster: LiveCluster, osds: Sequence[str]) -> str:
    """Returns why OSDs may not be purged yet, in Ceph's words; "" if their loss loses no data."""
    if not (left := _known(cluster, osds)):
        return ""
    done = cloud_pods.run(cluster, MONITORS, MONITORS, cloud_pods.ceph("osd", "safe-to-destroy", *left))
    return done.said if done.failed else ""


def purge(cluster: LiveCluster, osds: Sequence[str]) -> None:
    """Removes OSDs from Ceph: their place in the tree, their keys and their numbers."""
    for osd in _known(cluster, osds):
        _ceph(cluster, "osd", "purge", osd, "--yes-i-really-mean-it")


def remove_host(cluster: LiveCluster, host: str) -> None:
    """Removes a host without OSDs from Ceph's tree. It is not an error if the tree does not have it."""
    nodes = listed(_ceph_json(cluster, "osd", "tree"), "nodes")
    found = [each for each in nodes if each.get("type") == "host" and each.get("name") == host]
    if found and not words(found[0], "children"):
        _ceph(cluster, "osd", "crush", "remove", host)


def instances_of(cluster: LiveCluster, host: str) -> list[str]:
    """Returns the instances that Nova has on a compute, each as text."""
    found = listed(_nova(cluster, "show", host), "instances")
    return [f"{each['name']} ({each['id']}) of project {each['project']}, {each['status']}" for each in found]


def forget_records(cluster: LiveCluster, host: str) -> None:
    """Deletes the records of a host: its compute in Nova, with what Placement has of it, and its agents of Neutron."""
    _nova(cluster, "forget", host)


def _known(cluster: LiveCluster, osds: Sequence[str]) -> list[str]:
    """Returns those of the OSDs that Ceph still has."""
    if not osds:
        return []
    known = {each.number for each in all_osds(cluster)}
    return [osd for osd in osds if osd in known]


def _ceph(cluster: LiveCluster, *arguments: str) -> str:
    return _done(cluster, MONITORS, MONITORS, cloud_pods.ceph(*arguments))


def _ceph_json(cluster: LiveCluster, *arguments: str) -> Object:
    return document(_ceph(cluster, *arguments, "--format=json"))


def _status(cluster: LiveCluster, quorum: str) -> Object:
    command = ["rabbitmqctl", "--quiet", "--timeout", "30", "cluster_status", "--formatter=json"]
    return document(_done(cluster, quorum, _RABBITMQ, command))


def _member(node: str) -> str:
    """Returns the member's name, such as rabbitmq-0, of an Erlang node's."""
    return node.partition("@")[2].partition(".")[0]


def _nova(cluster: LiveCluster, *arguments: str) -> Object:
    return document(_done(cluster, NOVA, NOVA, cloud_pods.compute_services(*arguments)))


def _done(cluster: LiveCluster, process: str, container: str, command: Sequence[str]) -> str:
    """Returns the output of a command in a pod. Raises UserError if it fails, with the last of what it says."""
    done = cloud_pods.run(cluster, process, container, command)
    if done.failed:
        raise UserError(f"{process} refused `{' '.join(command[:8])[:120]}`: {done.said}")
    return done.output.text
