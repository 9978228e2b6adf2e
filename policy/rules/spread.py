"""Instances of one service on distinct nodes."""

from __future__ import annotations

from collections.abc import Iterator

from contract import HOSTNAME
from policy.facts.kubernetes.scheduling import anti_affinity_gap
from policy.facts.kubernetes.workload import Workload
from policy.facts.quorums import group_of, is_member
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule
from policy.wording import join_names, pluralize


def _known(facts: Facts, workload: Workload) -> bool:
    """A service of the architecture, or a quorum."""
    return workload.is_long_running and (facts.row(workload) is not None or is_member(facts, workload))


def _mates(facts: Facts, workload: Workload) -> tuple[Workload, ...]:
    """Other workloads that are members of the same quorum."""
    group = group_of(facts, workload)
    if group.error:
        raise group.error
    return tuple(each for each in group.workloads if each is not workload)


def _several(facts: Facts, workload: Workload) -> bool:
    if workload.replicas is None or not _known(facts, workload):
        return False
    return workload.replicas > 1 or bool(_mates(facts, workload))


@rule(
    id="one-instance-per-node",
    title="Instances of a service run on distinct nodes",
    severity=Severity.CRITICAL,
    rationale="Replicas are counted for availability. Two instances on one node fail together, and the scheduler "
    "may put them there unless a rule forbids it. A preferred anti-affinity is no guarantee.",
    sources=(
        Source("004", "5.4.7", "one instance of Conductor service should be running per physical node"),
        Source("004", "5.4.14", "Ceph Monitors should be placed to different physical nodes"),
        Source(
            "004", "5.4.15", "Elasticsearch scales horizontally by adding instances, each running on a separate node"
        ),
    ),
    remediation="Add a required podAntiAffinity with topologyKey kubernetes.io/hostname whose labelSelector selects "
    "the workload's own pod labels.",
    subjects=lambda facts: facts.workloads,
    applies=_several,
    not_applicable_reason="no service of the architecture and no quorum has several replicas",
    parameters={"topology": HOSTNAME},
)
def one_instance_per_node(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """A host port keeps pods on distinct nodes as well."""
    several = (workload.replicas or 0) > 1
    if several and not facts.is_anti_affine(workload, workload, HOSTNAME) and not workload.host_ports:
        yield Problem(
            anti_affinity_gap(workload, HOSTNAME),
            f"a required anti-affinity over {HOSTNAME} that selects its own pods",
        )
    beside = [each.title for each in _mates(facts, workload) if not facts.is_anti_affine(workload, each, HOSTNAME)]
    if beside:
        yield Problem(
            f"can share a node with {join_names(beside)}, members of the same quorum",
            f"a required anti-affinity over {HOSTNAME} that also selects their pods",
        )


@rule(
    id="replicas-fit-nodes",
    title="Every replica has an eligible node",
    severity=Severity.HIGH,
    rationale="With one instance per node, a workload with more replicas than eligible nodes has Pending pods, and "
    "a quorum has fewer members than its configuration states.",
    sources=(
        Source("004", "5.4.16", "table: Number Of Instances"),
        Source("project", "Capacity", "every instance has a node to run on"),
    ),
    remediation="Add nodes to its pools, let it run on further pools (node affinity and tolerations), or lower "
    "spec.replicas.",
    subjects=lambda facts: facts.workloads,
    applies=_known,
    not_applicable_reason="no workload belongs to the architecture or is a quorum",
)
def replicas_fit_nodes(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """Counts nodes by the scheduler's own rules."""
    there = len(facts.eligible(workload))
    apart = facts.is_anti_affine(workload, workload, HOSTNAME) or workload.host_ports
    needed = (workload.replicas or 1) if apart else 1
    if there < needed:
        yield Problem(
            f"{pluralize(there, 'eligible node')} for {pluralize(workload.replicas or 1, 'replica')}",
            f"at least {needed}" + (", one per replica" if apart else ""),
        )
