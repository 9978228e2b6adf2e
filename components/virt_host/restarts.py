"""What is asked before a virtual machine restarts, and how it is known that it is back.

A member of etcd asks etcd, by the same scripts as `apply`. Every other node is drained, which respects the disruption
budgets of the members in its pods, by kubectl on a master.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blueprint.plan.nodes import Node
from contract import APPLY_DIRECTORY

DRAIN = 900
"""Seconds until a drain fails. Project figure: a member of Galera may need minutes to join after another restart."""
_KUBECTL = "kubectl --kubeconfig /etc/kubernetes/admin.conf"


@dataclass(frozen=True)
class Restart:
    """The shell texts for the restart of a machine, and the node on which they run."""

    asks: Node
    may_stop: str
    is_back: str


def of(node: Node, quorums: Sequence[str], masters: Sequence[Node]) -> Restart:
    """Returns what is asked before `node` restarts. `quorums`: names of the quorums that it has a member of."""
    if quorums:
        scripts = [f"{APPLY_DIRECTORY}/{node.name}/quorums/{quorum}" for quorum in quorums]
        # Before the first `apply`, the machine is not a member.
        asks = " && ".join(f"{{ [ ! -e {each} ] || sh {each} may-stop; }}" for each in scripts)
        back = " && ".join(f"{{ [ ! -e {each} ] || sh {each} is-back; }}" for each in scripts)
        return Restart(node, asks, back)
    others = [each for each in masters if each.server != node.server] or list(masters)
    joined = f"found=$({_KUBECTL} get node {node.name} --ignore-not-found -o name) || exit 1"
    # Before the first master is finished there is no cluster, so the node is not in one.
    lead = f'[ -e /etc/kubernetes/admin.conf ] || exit 0; {joined}; [ -n "$found" ] || exit 0'
    drain = f"{_KUBECTL} drain {node.name} --ignore-daemonsets --delete-emptydir-data --timeout={DRAIN}s"
    ready = f"{_KUBECTL} wait node/{node.name} --for=condition=Ready --timeout=30s && {_KUBECTL} uncordon {node.name}"
    return Restart(others[0], f"{lead}; {drain}", f"{lead}; {ready}")
