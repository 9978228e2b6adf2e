"""`python -m proof.verify --kubeconfig F --stack X`: where do the pods of a living cluster really run?

The scheduler ignores anti-affinity once a pod runs, people move things, nodes lose labels. This reads the cluster
once, changes nothing, and judges it as the proof judges its own; beside that it says where declaration and cluster
have drifted apart.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from blueprint.inventory import machines
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from blueprint.stackfile.settings import Settings
from commands import stack
from proof import proof_file as documents
from proof.api import Api, ApiError, Unreachable
from proof.checks import judge, kept
from proof.cluster import Cluster, from_api
from proof.expected import Norm, norm_of
from proof.kubeconfig import read_kubeconfig
from proof.violations import Finding
from toolchain.progress import UserError

ROOT = Path(__file__).resolve().parent.parent
VERSION = 1


def main(arguments: Sequence[str]) -> int:
    """0 where the cluster is as declared, 1 where it has drifted or cannot be read."""
    parser = argparse.ArgumentParser(prog="verify", description="Compare a living cluster with what a stack declares.")
    parser.add_argument("--kubeconfig", default=os.environ.get("KUBECONFIG", ""), help="its current context is read")
    parser.add_argument("--stack", default="dev", help="Pulumi.<stack>.yaml or examples/<stack>.yaml")
    chosen = parser.parse_args(arguments)
    # A path is the caller's, relative to where they stand; stacks are the repository's.
    kubeconfig = Path(chosen.kubeconfig).expanduser().absolute()
    try:
        if not chosen.kubeconfig:
            raise UserError("Which cluster? Give --kubeconfig FILE, or set KUBECONFIG.")
        settings = load_file(stack.find(ROOT, chosen.stack))
        cluster = from_api(Api(read_kubeconfig(kubeconfig)))
    except (UserError, InvalidStackError, ApiError, Unreachable) as trouble:
        print(trouble, file=sys.stderr)
        return 1
    norm = norm_of(settings)
    findings = verify(norm, settings, cluster)
    path = documents.write(
        ROOT / "build" / chosen.stack / "verify", "verify.json", documents.to_json(_seen(norm, cluster, findings))
    )
    for finding in findings:
        print(finding)
    print(f"{_verdict(cluster, findings)} Kept in {path.relative_to(ROOT)}.")
    return 1 if findings else 0


def verify(norm: Norm, settings: Settings, cluster: Cluster) -> list[Finding]:
    """Everything that is not as declared."""
    return sorted({*judge(norm, cluster), *_nodes_declared(settings, cluster)})


def _nodes_declared(settings: Settings, cluster: Cluster) -> Iterator[Finding]:
    """Every declared machine is a node, on the server that it was declared on; and no node is a stranger."""
    declared = {machine.name: machine for machine in machines(settings) if set(machine.roles) - {"virt"}}
    for name, machine in declared.items():
        node = cluster.nodes.get(name)
        if node is None:
            yield Finding("nodes-declared", f"node {name}", "is declared and not in the cluster")
        elif node.server not in (None, machine.server):
            message = f"says that it stands on {node.server}, declared on {machine.server}"
            yield Finding("nodes-declared", f"node {name}", message)
    for name in cluster.nodes.keys() - declared.keys():
        yield Finding("nodes-declared", f"node {name}", "is in the cluster and not declared")


def _seen(norm: Norm, cluster: Cluster, findings: Sequence[Finding]) -> documents.Document:
    pools = kept(norm, cluster)
    return {
        "version": VERSION,
        "architecture": norm.architecture.name,
        "nodes": len(cluster.nodes),
        "pods": len(cluster.pods),
        "dedicated": {"expected": norm.dedicated_total, "seen": sum(len(nodes) for nodes in pools.values())},
        "findings": [{"check": each.check, "subject": each.subject, "message": each.message} for each in findings],
    }


def _verdict(cluster: Cluster, findings: Sequence[Finding]) -> str:
    there = f"{len(cluster.pods)} pods on {len(cluster.nodes)} nodes"
    return f"{there}: {len(findings)} findings." if findings else f"{there} run as declared."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
