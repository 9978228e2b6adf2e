"""Compares a running cluster with its stack, read-only.

A running cluster drifts: the scheduler does not re-check the anti-affinity of running pods, operators move pods, and
nodes lose labels. The checks are those of `quorate prove`, and a comparison of the cluster's nodes with the stack file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proof import proof_file as documents
from proof.checks import check_cluster, dedicated_pools
from proof.cluster import ClusterState
from proof.expected import ExpectedState
from proof.violations import Violation

VERSION = 1


def verify(state: ExpectedState, cluster: ClusterState) -> list[Violation]:
    """Runs all checks on a running cluster. Returns the findings, sorted; [] if the cluster is as expected."""
    return sorted({*check_cluster(state, cluster), *_nodes_declared(state, cluster)})


def _nodes_declared(state: ExpectedState, cluster: ClusterState) -> Iterator[Violation]:
    """Checks that every declared machine is a node on its declared server, and every node is a declared machine."""
    for name, server in state.servers.items():
        node = cluster.nodes.get(name)
        if node is None:
            yield Violation("nodes-declared", f"node {name}", "is declared but not in the cluster")
        elif node.server not in (None, server):
            message = f"is labelled with server {node.server}; expected {server}"
            yield Violation("nodes-declared", f"node {name}", message)
    for name in cluster.nodes.keys() - state.servers.keys():
        yield Violation("nodes-declared", f"node {name}", "is in the cluster but not declared")


def document(state: ExpectedState, cluster: ClusterState, findings: Sequence[Violation]) -> documents.Document:
    """Returns the content of verify.json."""
    pools = dedicated_pools(state, cluster)
    return {
        "version": VERSION,
        "architecture": state.architecture.name,
        "nodes": len(cluster.nodes),
        "pods": len(cluster.pods),
        "dedicated": {"expected": state.dedicated_total, "seen": sum(len(nodes) for nodes in pools.values())},
        "findings": [{"check": each.check, "subject": each.subject, "message": each.message} for each in findings],
    }


def verdict(cluster: ClusterState, findings: Sequence[Violation]) -> str:
    """Returns the result of the checks as one line of text: numbers of pods, nodes and findings."""
    size = f"{len(cluster.pods)} pods on {len(cluster.nodes)} nodes"
    return f"{size}: {len(findings)} findings." if findings else f"{size} run as declared."
