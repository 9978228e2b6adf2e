"""Namespace, storage class and priority classes of an environment, and the volumes of its stateful processes.

Names of cluster-scoped objects and of node directories contain the environment's name, so that one cluster can hold
several environments. Data is on the node's own disk (source 004, 5.3.17: 'kept on the local storage devices of
nodes'). A process has one volume per eligible node, named after process and node, so that new nodes only add volumes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

import contract
from blueprint.openstack.projects.process_definition import Claim, ProcessDefinition, Profile
from blueprint.plan.nodes import Node
from components.kubernetes_api import core, meta, scheduling, storage
from components.openstack import labels
from contract import HOSTNAME
from openstack import data

CLAIM = "data"

_PRIORITIES = {
    "quorum": (1_000_000, "Members of a quorum: the last to be preempted."),
    "control-plane": (900_000, "OpenStack's other processes and agents."),
}


def storage_class(environment: str) -> str:
    """Returns the name of the StorageClass of local volumes."""
    return f"{environment}-local"


NODE_CRITICAL = "system-node-critical"
"""Kubernetes' built-in PriorityClass for pods that a node needs, used for agents on nodes."""


def priority(environment: str, *, quorum: bool) -> str:
    """Returns the name of the PriorityClass for pods of quorum members (`quorum`) or of other processes."""
    return f"{environment}-{'quorum' if quorum else 'control-plane'}"


@dataclass(frozen=True)
class Foundation:
    """Objects of an environment that exist before its processes: namespace, StorageClass and PriorityClasses."""

    namespace: pulumi.Resource
    classes: Sequence[pulumi.Resource]
    """The StorageClass, the PriorityClasses, and the Secret with accounts for registries if there are any."""


def foundation(name: str, environment: str, opts: pulumi.ResourceOptions) -> Foundation:
    """Creates the namespace, the StorageClass of local volumes and the PriorityClasses."""
    common = labels.common()
    # Agents manage networks and virtual machines on their nodes in privileged containers, which Pod Security
    # Admission allows only in a namespace with this label.
    privileged = {"pod-security.kubernetes.io/enforce": "privileged"}
    namespace = core.Namespace(
        name, metadata=meta.ObjectMetaArgs(name=environment, labels=common | privileged), opts=opts
    )
    local = storage.StorageClass(
        f"{name}-local",
        metadata=meta.ObjectMetaArgs(name=storage_class(environment), labels=common),
        provisioner="kubernetes.io/no-provisioner",
        volume_binding_mode="WaitForFirstConsumer",
        reclaim_policy="Retain",
        opts=opts,
    )
    priorities = [
        scheduling.PriorityClass(
            f"{name}-{kind}",
            metadata=meta.ObjectMetaArgs(name=f"{environment}-{kind}", labels=common),
            value=value,
            description=description,
            opts=opts,
        )
        for kind, (value, description) in _PRIORITIES.items()
    ]
    return Foundation(namespace, [local, *priorities])


def size(claim: Claim, profile: Profile) -> str:
    """Returns the size of each volume for a claim as a Kubernetes quantity, by the stack's profile."""
    return f"{claim.size(profile)}Gi"


def claim_template(environment: str, process: ProcessDefinition, capacity: str) -> core.PersistentVolumeClaimArgs:
    """Returns the volumeClaimTemplate of a process's StatefulSet.

    A pod's claim binds to the process's local volume on the node to which the pod is first scheduled.
    """
    return core.PersistentVolumeClaimArgs(
        metadata=meta.ObjectMetaArgs(name=CLAIM, labels=labels.of(process)),
        spec=_claim_spec(environment, process.name, capacity),
    )


def _claim_spec(environment: str, volumes: str, capacity: str) -> core.PersistentVolumeClaimSpecArgs:
    return core.PersistentVolumeClaimSpecArgs(
        access_modes=["ReadWriteOnce"],
        storage_class_name=storage_class(environment),
        selector=meta.LabelSelectorArgs(match_labels={contract.NAME: volumes}),
        resources=core.VolumeResourceRequirementsArgs(requests={"storage": capacity}),
    )


def backup_claim(environment: str, process: ProcessDefinition, capacity: str) -> core.PersistentVolumeClaimInitArgs:
    """Returns the claim for the volume with backups of a process's data."""
    name = process.backup_claim_name
    return core.PersistentVolumeClaimInitArgs(
        metadata=meta.ObjectMetaArgs(name=name, namespace=environment, labels=labels.named(name, process.project)),
        spec=_claim_spec(environment, name, capacity),
    )


def volume(
    environment: str, process: ProcessDefinition, name: str, capacity: str, node: Node
) -> core.PersistentVolumeInitArgs:
    """Returns the local volume of a process on one node. `name`: that of the process, or of its claim for backups."""
    on_node = core.NodeSelectorRequirementArgs(key=HOSTNAME, operator="In", values=[node.name])
    return core.PersistentVolumeInitArgs(
        metadata=meta.ObjectMetaArgs(
            name=f"{environment}-{name}-{node.name}", labels=labels.named(name, process.project)
        ),
        spec=core.PersistentVolumeSpecArgs(
            capacity={"storage": capacity},
            access_modes=["ReadWriteOnce"],
            persistent_volume_reclaim_policy="Retain",
            storage_class_name=storage_class(environment),
            volume_mode="Filesystem",
            local=core.LocalVolumeSourceArgs(path=f"{data.root(environment)}/{name}"),
            node_affinity=core.VolumeNodeAffinityArgs(
                required=core.NodeSelectorArgs(
                    node_selector_terms=[core.NodeSelectorTermArgs(match_expressions=[on_node])]
                )
            ),
        ),
    )
