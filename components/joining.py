"""How a machine joins the cluster, and how it leaves: the drain, and the removal of its node.

A machine joins through the first API server that answers, so that no single master is needed. It leaves with kubelet's
own credentials: a node may evict its own pods, and Quorate lets it delete its own Node object
(components/k8s_master/etcd_clients.py).
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from blueprint.plan.nodes import Node
from components.kubelet import CONFIGURATION, CRI_SOCKET, DISCOVERY, JOINING, KUBERNETES, NODE
from components.machine import Step
from contract import API_PORT

AWAITED = 300
"""Seconds until an API server must answer: kubeadm's own timeout for discovery."""
STARTING = 30
"""Seconds until an API server that does not answer counts as down. Project figure."""
DRAIN = 900
"""Seconds until all pods must have left the machine. Project figure: members of a quorum that start again elsewhere
take minutes each, and the budgets admit one at a time."""


_NAME = f"""node=$(sed -n 's/^name: "\\(.*\\)"$/\\1/p' "$ROOT{NODE}")"""
_READY = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'


def read(variable: str, command: str) -> str:
    """Returns shell commands that read a command's output into a variable, and exit with 1 if the API stays silent.

    An API server that has just started refuses everybody until it has read the roles.
    """
    return f"""\
end=$(($(date +%s) + {STARTING}))
until {variable}=$({command}); do
  [ "$(date +%s)" -lt "$end" ] || exit 1
  sleep 2
done"""


def commands(masters: Sequence[Node]) -> str:
    """Returns shell commands that join a machine to the cluster. `masters`: those that may have an API server.

    A machine that replaces a dead one waits until the cluster has noticed that: kubeadm refuses the name of a Ready
    node.
    """
    return f"""\
end=$(($(date +%s) + {AWAITED}))
masters="{" ".join(master.address for master in masters)}"
server=
until [ -n "$server" ]; do
  for address in $masters; do
    if kubectl --kubeconfig="$ROOT{DISCOVERY}" --server="https://$address:{API_PORT}" --request-timeout=5s \\
      get --raw=/readyz >/dev/null 2>&1; then
      server=https://$address:{API_PORT}
      break
    fi
  done
  if [ -z "$server" ] && [ "$(date +%s)" -ge "$end" ]; then
    echo "no API server answers; finish \\`apply\\` on the masters, then run it again here" >&2
    exit 1
  fi
  [ -n "$server" ] || sleep 2
done
(umask 077 && sed "s|server: .*|server: $server|" "$ROOT{DISCOVERY}" >"$ROOT{JOINING}")
{_NAME}
ready() {{ [ "$(kubectl --kubeconfig="$ROOT{JOINING}" --request-timeout=5s get node "$node" --ignore-not-found \\
  --output='{_READY}')" = True ]; }}
while ready; do
  if [ "$(date +%s)" -ge "$end" ]; then
    echo "the cluster has a node $node that is Ready; a machine under this name still runs" >&2
    exit 1
  fi
  sleep 2
done
kubeadm join --config "$ROOT{CONFIGURATION}"
rm -f "$ROOT{JOINING}\""""


def step(masters: Sequence[Node], after: Sequence[str] = ()) -> Step:
    """Returns the step that joins a machine to the cluster, as a worker or as a further master.

    `masters`: the masters that may have an API server. `after`: names of the steps that must run before.
    """
    return Step(
        name="join",
        does="Joins this machine to the cluster.",
        check=JOINED,
        apply=commands(masters),
        leave=LEAVE,
        after=tuple(after),
    )


JOINED = f'[ -f "$ROOT{KUBERNETES}/kubelet.conf" ]'

USE_PROXY = Step(
    name="use-api-proxy",
    does="Sends kubelet to this machine's own proxy; kubeadm join names one master only.",
    check=f'grep -q "server: https://127.0.0.1:{API_PORT}" "$ROOT{KUBERNETES}/kubelet.conf"',
    apply=f"""\
sed -i "s|server: https://.*|server: https://127.0.0.1:{API_PORT}|" "$ROOT{KUBERNETES}/kubelet.conf"
systemctl restart kubelet.service""",
    after=("join",),
)

_PODS = (
    "jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name} {.status.phase} "
    '{.metadata.ownerReferences[?(@.controller==true)].kind}{"\\n"}{end}'
)

LEAVE = f"""\
{_NAME}
kube() {{ kubectl --kubeconfig="$ROOT{KUBERNETES}/kubelet.conf" --request-timeout=30s "$@"; }}
# Prints the pods to evict. Static pods and those of DaemonSets end with the machine.
pods() {{
  kube get pods --all-namespaces --field-selector="spec.nodeName=$node" --output='{_PODS}' |
    awk '$3 != "Succeeded" && $3 != "Failed" && $4 != "DaemonSet" && $4 != "Node" {{ print $1, $2 }}'
}}
evict() {{
  printf '{{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"namespace":"%s","name":"%s"}}}}' "$1" "$2" |
    {{ kube create --raw="/api/v1/namespaces/$1/pods/$2/eviction" --filename=- >/dev/null; }} 2>&1 || :
}}
if {JOINED}; then
{textwrap.indent(read("found", 'kube get node "$node" --ignore-not-found --output=name'), "  ")}
  if [ -n "$found" ]; then
    kube patch node "$node" --patch='{{"spec":{{"unschedulable":true}}}}' >/dev/null
    end=$(($(date +%s) + {DRAIN}))
    left=$(pods)
    while [ -n "$left" ]; do
      refused=$(echo "$left" | while read -r namespace name; do evict "$namespace" "$name"; done)
      sleep 2
      left=$(pods)
      if [ -n "$left" ] && [ "$(date +%s)" -ge "$end" ]; then
        echo "these pods have not left $node after {DRAIN} s; the node admits no others:" >&2
        printf '%s\\n' "$left" "$refused" >&2
        exit 1
      fi
    done
    systemctl stop kubelet.service
    kube delete node "$node" --ignore-not-found --wait=false
  fi
fi
systemctl stop kubelet.service
# Without the phase, kubeadm deletes etcd's data, which is copied first and removed by a step of its own.
kubeadm reset --force --cri-socket={CRI_SOCKET} --skip-phases=remove-etcd-member
"""
"""Shell commands that drain the machine, delete its node, and remove what kubeadm made. Evictions respect the
disruption budgets. Until the last pod has left, the machine stays a node."""
