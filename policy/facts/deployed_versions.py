"""The versions that a stack deploys, read from its resources: from the Cloud, kubeadm's files and images."""

from __future__ import annotations

from blueprint.version_steps import AUTHORITY, BACKEND, BROKER, CEPH, DATABASE, KUBERNETES, OPENSTACK
from contract import OVN
from formats import image_reference
from policy.facts.programs import QuorumKind
from policy.facts.quorums.quorums import quorum_of
from policy.facts.stack import Facts

_PARTS = {QuorumKind.GALERA: DATABASE, QuorumKind.RABBITMQ: BROKER, QuorumKind.CEPH_MON: CEPH}


def deployed_versions(facts: Facts) -> dict[str, str]:
    """Returns the versions that a stack deploys, in the form of blueprint/version_steps.py.

    A part that no resource shows is left out, such as Kubernetes on existing machines.
    """
    found: dict[str, str] = {}
    for cloud in facts.clouds:
        if cloud.release:
            found[OPENSTACK] = cloud.release
        if cloud.has_ovn:
            found[BACKEND] = OVN
    for tier in facts.master_tiers:
        found |= {f"{AUTHORITY} {name}": each for name, each in tier.generations.items()}
    for machine in facts.machines:
        for document in machine.of_kind("ClusterConfiguration") if machine.is_master else ():
            found[KUBERNETES] = str(document.get("kubernetesVersion", "")).removeprefix("v")
    for workload in facts.workloads:
        kind = quorum_of(workload)
        part = _PARTS.get(kind) if kind else None
        if part and workload.images:
            service = facts.service(workload) or workload.name
            found[f"{part} {service}"] = image_reference.parse(workload.images[0]).version
    return found
