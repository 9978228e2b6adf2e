"""What all services share in the cluster, and where the data of the stateful ones lies.

Data stays on the node's own disk (004, 5.3.17: 'kept on the local storage devices of nodes'): a volume for every node
that the service may run on, named after both, so that a plan with more nodes adds volumes and moves none.
"""

from __future__ import annotations

import pulumi
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta
from pulumi_kubernetes.scheduling import v1 as scheduling
from pulumi_kubernetes.storage import v1 as storage

import contract
from blueprint.plan.nodes import Node
from components.openstack import labels
from components.openstack.workload import Claim, Workload
from contract import HOSTNAME

NAMESPACE = "openstack"
CLASS = "quorate-local"
CLAIM = "data"
ROOT = "/var/lib/quorate"

QUORUM, CONTROL_PLANE = "quorate-quorum", "quorate-control-plane"
PRIORITIES = {
    QUORUM: (1_000_000, "Members of a quorum: the last to make room."),
    CONTROL_PLANE: (900_000, "OpenStack's other services and agents."),
}


def foundation(name: str, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """The namespace, the class of local volumes and the priorities."""
    common = {"app.kubernetes.io/part-of": "openstack", "app.kubernetes.io/managed-by": "quorate"}
    # Agents make networks and guests on their nodes; Kubernetes admits them only where a namespace says so.
    privileged = {"pod-security.kubernetes.io/enforce": "privileged"}
    namespace = core.Namespace(
        f"{name}-{NAMESPACE}", metadata=meta.ObjectMetaArgs(name=NAMESPACE, labels=common | privileged), opts=opts
    )
    local = storage.StorageClass(
        f"{name}-{CLASS}",
        metadata=meta.ObjectMetaArgs(name=CLASS, labels=common),
        provisioner="kubernetes.io/no-provisioner",
        volume_binding_mode="WaitForFirstConsumer",
        reclaim_policy="Retain",
        opts=opts,
    )
    priorities = [
        scheduling.PriorityClass(
            f"{name}-{priority_class}",
            metadata=meta.ObjectMetaArgs(name=priority_class, labels=common),
            value=value,
            description=description,
            opts=opts,
        )
        for priority_class, (value, description) in PRIORITIES.items()
    ]
    return [namespace, local, *priorities]


def priority(*, quorum: bool) -> str:
    """The PriorityClass of a service's pods."""
    return QUORUM if quorum else CONTROL_PLANE


def size(claim: Claim, profile: str) -> str:
    """How much a member asks for, and each volume offers."""
    return f"{claim.production if profile == 'production' else claim.lab}Gi"


def claim_template(workload: Workload, capacity: str) -> core.PersistentVolumeClaimArgs:
    """What each member of a StatefulSet asks for: a volume of its own service, wherever the member stands."""
    return core.PersistentVolumeClaimArgs(
        metadata=meta.ObjectMetaArgs(name=CLAIM, labels=labels.of(workload)),
        spec=core.PersistentVolumeClaimSpecArgs(
            access_modes=["ReadWriteOnce"],
            storage_class_name=CLASS,
            selector=meta.LabelSelectorArgs(match_labels={contract.NAME: workload.service}),
            resources=core.VolumeResourceRequirementsArgs(requests={"storage": capacity}),
        ),
    )


def volume(workload: Workload, capacity: str, node: Node) -> core.PersistentVolumeInitArgs:
    """The service's volume on one node."""
    on_node = core.NodeSelectorRequirementArgs(key=HOSTNAME, operator="In", values=[node.name])
    return core.PersistentVolumeInitArgs(
        metadata=meta.ObjectMetaArgs(name=f"{workload.service}-{node.name}", labels=labels.of(workload)),
        spec=core.PersistentVolumeSpecArgs(
            capacity={"storage": capacity},
            access_modes=["ReadWriteOnce"],
            persistent_volume_reclaim_policy="Retain",
            storage_class_name=CLASS,
            volume_mode="Filesystem",
            local=core.LocalVolumeSourceArgs(path=f"{ROOT}/{workload.service}"),
            node_affinity=core.VolumeNodeAffinityArgs(
                required=core.NodeSelectorArgs(
                    node_selector_terms=[core.NodeSelectorTermArgs(match_expressions=[on_node])]
                )
            ),
        ),
    )
