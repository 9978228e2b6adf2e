"""What of a cloud is on a machine: its members, the volumes of its node, and its OSDs, by the plan and the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blueprint.architecture import ovn_rows
from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from cluster.api import Api, ApiError
from cluster.objects import Object, listed, name, text, words
from contract import HOSTNAME
from openstack.config.wiring import ENVIRONMENT
from operations.live_cluster import LiveCluster
from operations.living.cloud import ETCD, OSD, members_of, quorums_of
from operations.replacement import in_pods

COMPUTE = "nova-compute"
AGENTS = (ovn_rows.L2_AGENT, ovn_rows.CONTROLLER)
"""Processes of which a node with any agent of Neutron has one: with Open vSwitch, and with OVN."""
VOLUMES = "/api/v1/persistentvolumes"
PODS = f"/api/v1/namespaces/{ENVIRONMENT}/pods"
CLAIMS = f"/api/v1/namespaces/{ENVIRONMENT}/persistentvolumeclaims"
_OF_MEMBER = "data-"
"""Prefix of the claim of a StatefulSet's pod, before the pod's name (components/openstack/storage.py)."""


@dataclass(frozen=True)
class NodeVolume:
    """A local volume on a node, and the claim that has its data there."""

    name: str
    claim: str
    """"" if no claim is bound to it: it was never used, or its claim was deleted."""
    path: str = ""
    """Its directory on the node."""

    @property
    def pod(self) -> str:
        """The pod of a StatefulSet that the claim is of; "" for another claim, such as that for backups."""
        return self.claim.removeprefix(_OF_MEMBER) if self.claim.startswith(_OF_MEMBER) else ""


@dataclass(frozen=True)
class DeadMachine:
    """A machine that is dead, and what of the cloud is lost with it."""

    node: Node
    has_etcd: bool
    members: tuple[tuple[str, str], ...]
    """Pairs of quorum and member, of those in pods whose data is on it."""
    volumes: tuple[NodeVolume, ...]
    osds: tuple[str, ...]
    """Numbers of the OSDs of this host."""
    is_compute: bool
    has_agents: bool
    """Whether it has agents of Neutron."""

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.node.name

    @property
    def all_members(self) -> tuple[tuple[str, str], ...]:
        """Pairs of quorum and member, with that of etcd."""
        return (*(((ETCD, self.name),) if self.has_etcd else ()), *self.members)


def find(cluster: LiveCluster, node: Node) -> DeadMachine:
    """Returns what is on a machine. Raises ApiError, Unreachable, or UserError if Ceph cannot be asked."""
    plan = cluster.plan
    volumes = volumes_of(cluster.api, node.name)
    return DeadMachine(
        node,
        # On machines that exist already, etcd is not Quorate's.
        has_etcd=plan.settings.cluster is None and node in plan.members,
        members=members_on(plan, volumes),
        volumes=volumes,
        osds=in_pods.osds_of(cluster, node.name) if carries(plan, node, OSD) else (),
        is_compute=carries(plan, node, COMPUTE),
        has_agents=any(carries(plan, node, agent) for agent in AGENTS),
    )


def members_on(plan: Plan, volumes: Sequence[NodeVolume]) -> tuple[tuple[str, str], ...]:
    """Returns pairs of quorum and member, of the members in pods whose data is in volumes."""
    used = {volume.pod for volume in volumes}
    return tuple(
        (service.name, member) for service in quorums_of(plan) for member in members_of(service) if member in used
    )


def carries(plan: Plan, node: Node, process: str) -> bool:
    """Whether pods of a process run on a node by the plan."""
    return any(service.process == process and node.pool in service.pools for service in plan.processes)


def volumes_of(api: Api, node: str) -> tuple[NodeVolume, ...]:
    """Returns Quorate's local volumes on a node, sorted by name."""
    found = [each for each in api.items(VOLUMES)[0] if _is_on(each, node)]
    return tuple(
        NodeVolume(name(each), _claim(api, each), text(each, "spec", "local", "path"))
        for each in sorted(found, key=name)
    )


def claim_name(member: str) -> str:
    """Returns the name of the claim that has a member's data."""
    return f"{_OF_MEMBER}{member}"


def claim_of(api: Api, claim: str) -> Object:
    """Returns a claim of the cloud; {} if there is none."""
    return found(api, f"{CLAIMS}/{claim}")


def found(api: Api, path: str) -> Object:
    """Returns an object; {} if there is none."""
    try:
        return api.ask("GET", path)
    except ApiError as error:
        if error.status == 404:
            return {}
        raise


def _is_on(volume: Object, node: str) -> bool:
    terms = listed(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms")
    rules = [[each for each in listed(term, "matchExpressions") if each.get("key") == HOSTNAME] for term in terms]
    here = [any(words(each, "values") == (node,) for each in found) for found in rules]
    return bool(here) and all(here) and name(volume).startswith(f"{ENVIRONMENT}-")


def _claim(api: Api, volume: Object) -> str:
    """Returns the claim that is bound to a volume now: a claim of the same name may have another volume by now."""
    claim = text(volume, "spec", "claimRef", "name")
    if not claim or text(volume, "spec", "claimRef", "namespace") != ENVIRONMENT:
        return ""
    return claim if text(claim_of(api, claim), "spec", "volumeName") == name(volume) else ""
