"""Steps of a master that apply files with Kubernetes objects to the cluster that kubeadm has made."""

from __future__ import annotations

from components.kubelet import KUBERNETES
from components.machine import Step

INITIALISE = "initialise"
"""The step of the first master that makes the cluster."""
TRIES = 5
"""Comparisons, 2 s apart, before an object counts as different. Project figure: a rollout ends its first changes of the
status within seconds."""
KUBECTL = f'kubectl --kubeconfig="$ROOT{KUBERNETES}/admin.conf" --request-timeout=30s'
"""kubectl with the administrator's kubeconfig, in a step."""


def apply(name: str, does: str, file: str, after: str = INITIALISE) -> Step:
    """Returns the step that applies a file with objects. `file`: its path on the machine; `after`: the step before."""
    return Step(
        name=name,
        does=does,
        # While a rollout changes the object's status, kubectl may see that as a difference.
        check=f"""\
tries=0
until {KUBECTL} diff --server-side --force-conflicts -f "$ROOT{file}"; do
  tries=$((tries + 1))
  [ "$tries" -lt {TRIES} ] || exit 1
  sleep 2
done""",
        apply=f'{KUBECTL} apply --server-side --force-conflicts -f "$ROOT{file}"',
        after=(after,),
    )
