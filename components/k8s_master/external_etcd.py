"""etcd of a master without a member: the certificates of etcd's clients, and the step that waits for etcd.

Masters have no member if the stack has machines of role etcd (docs/adr/0027-etcd-on-machines-of-its-own.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from blueprint.plan.nodes import Node
from components.joining import JOINED
from components.k8s_master import etcd, pki
from components.k8s_master.pki import Pki
from components.machine import Parts, Step

AWAIT = "await-etcd"
CLUSTER = "configmaps/kube-system/kubeadm-config"
"""The object by which etcd is known to have a cluster: kubeadm stores its configuration there."""
ASK = 10
"""Seconds for one question, in which etcdctl tries every member. Project figure."""
ANSWER = 120
"""Seconds until a majority must answer: as long as a member waits for one (etcd_members.sh)."""


def parts(members: Sequence[Node], certificates: Pki, begun: str) -> Parts:
    """Returns the files and the step of a master without a member.

    `begun`: a path that exists while the cluster is initialised on this master.
    """
    ask = stored(members, CLUSTER)
    apply = f"""\
end=$(($(date +%s) + {ANSWER}))
until found=$({ask}); do
  if [ "$(date +%s)" -ge "$end" ]; then
    echo "etcd has no majority, or its members do not answer: {" ".join(etcd.endpoints(members))}. Run apply there," \\
      "then again here" >&2
    exit 1
  fi
  sleep 1
done
if [ -z "$found" ] && {_had_cluster(begun)}; then
  echo "this machine is a master of a cluster that etcd does not have: the members on" \\
    "{" ".join(member.name for member in members)} are another cluster's. See docs/operations.md" >&2
  exit 1
fi"""
    step = Step(
        name=AWAIT,
        does="Waits until a majority of etcd's members answers. They must have the cluster of this master.",
        check=f'found=$({ask}) && {{ [ -n "$found" ] || ! {{ {_had_cluster(begun)}; }}; }}',
        apply=apply,
    )
    return Parts(certificates.etcd_client_files(), (step,))


def stored(members: Sequence[Node], path: str) -> str:
    """Returns a shell command that prints the key of an object that Kubernetes has stored; nothing if there is none.

    It fails without a majority of etcd's members.
    """
    return (
        f'etcdctl --cacert="$ROOT{pki.ETCD}/ca.crt" --cert="$ROOT{pki.ETCD_CLIENT}.crt" '
        f'--key="$ROOT{pki.ETCD_CLIENT}.key" --endpoints={",".join(etcd.endpoints(members))} '
        f"--command-timeout={ASK}s get --keys-only /registry/{path} </dev/null"
    )


def _had_cluster(begun: str) -> str:
    return f'{JOINED} && [ ! -f "{begun}" ]'
