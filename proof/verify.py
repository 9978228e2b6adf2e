"""Compares a running cluster with its stack, read-only.

The scheduler ignores anti-affinity once a pod runs, operators move pods, and nodes lose labels. This evaluates one
reading of the cluster with the proof's own checks, and adds where stack and cluster differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blueprint.stackfile.inventory import machines
from blueprint.stackfile.settings import Settings
from proof import proof_file as documents
from proof.checks import judge, kept
from proof.cluster import Cluster
from proof.expected import Norm
from proof.violations import Finding

VERSION = 1


def verify(norm: Norm, settings: Settings, cluster: Cluster) -> list[Finding]:
    """Every difference from the stack, and every failed check."""
    return sorted({*judge(norm, cluster), *_nodes_declared(settings, cluster)})


def _nodes_declared(settings: Settings, cluster: Cluster) -> Iterator[Finding]:
    """Checks that every declared machine is a node on its declared server, and every node is a declared machine."""
    declared = {machine.name: machine for machine in machines(settings) if set(machine.roles) - {"virt"}}
    for name, machine in declared.items():
        node = cluster.nodes.get(name)
        if node is None:
            yield Finding("nodes-declared", f"node {name}", "is declared but not in the cluster")
        elif node.server not in (None, machine.server):
            message = f"is labelled with server {node.server}; expected {machine.server}"
            yield Finding("nodes-declared", f"node {name}", message)
    for name in cluster.nodes.keys() - declared.keys():
        yield Finding("nodes-declared", f"node {name}", "is in the cluster but not declared")


def document(norm: Norm, cluster: Cluster, findings: Sequence[Finding]) -> documents.Document:
    """The content of verify.json."""
    pools = kept(norm, cluster)
    return {
        "version": VERSION,
        "architecture": norm.architecture.name,
        "nodes": len(cluster.nodes),
        "pods": len(cluster.pods),
        "dedicated": {"expected": norm.dedicated_total, "seen": sum(len(nodes) for nodes in pools.values())},
        "findings": [{"check": each.check, "subject": each.subject, "message": each.message} for each in findings],
    }


def verdict(cluster: Cluster, findings: Sequence[Finding]) -> str:
    """The result in a sentence."""
    there = f"{len(cluster.pods)} pods on {len(cluster.nodes)} nodes"
    return f"{there}: {len(findings)} findings." if findings else f"{there} run as declared."
