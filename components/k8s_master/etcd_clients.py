"""What follows a change of etcd's members: the cluster's own configuration, and API servers that ask every member.

kubeadm keeps the list of etcd's members in the cluster, for masters that join later, and in the manifest of each API
server. An API server works while one member of its list answers, so its manifest changes after etcd has. It reads the
authorities of etcd when it starts. So their generations are an annotation of its pod, and another one restarts it.
"""

from __future__ import annotations

from typing import Any

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from components import joining
from components.k8s_master import cluster_objects, etcd
from components.k8s_master.cluster_objects import INITIALISE, KUBECTL
from components.k8s_master.versions import kubernetes
from components.kubelet import CONFIGURATION, KUBERNETES, PATCHES
from components.machine import File, Parts, Step
from contract import API_PORT
from files.yaml_writer import template

LEAVING = f"{KUBERNETES}/leaving.yaml"
SPARED = 60
"""Seconds until another API server must be Ready. Project figure: a master that has just started needs less."""
RESTARTED = 180
"""Seconds until a restarted API server must be Ready. Project figure: a busy one-host lab takes up to 60."""
_NAME = "quorate:leaving-node"
AUTHORITIES = "quorate.io/etcd-authorities"
"""Annotation of an API server's pod: the generations of etcd's authority that it trusts; none for the first alone."""
_IN_JSONPATH = AUTHORITIES.replace(".", r"\.")
_STATE = (
    f"jsonpath={{.spec.containers[0].command}} [{{.metadata.annotations.{_IN_JSONPATH}}}] "
    '{.status.conditions[?(@.type=="Ready")].status}'
)
"""The API server's command line, the generations that it trusts, and whether it is ready."""
_ENDPOINTS = """awk '$1 ~ /:$/ { listed = $1 == "endpoints:" } listed && $1 == "-" { print $2 }'"""
_STORED = "jsonpath={.data.ClusterConfiguration}"


def parts(plan: Plan, master: Node) -> Parts:
    """Returns a master's file and steps. The first master keeps what the whole cluster shares."""
    trusted = _trusted(plan)
    patch = template({"metadata": {"annotations": {AUTHORITIES: trusted}}})
    files = (File(f"{PATCHES}/kube-apiserver.yaml", patch),) if trusted else ()
    if master != plan.masters[0]:
        return Parts(files, (_api_server(plan, master, "join"),))
    steps = (_api_server(plan, master, INITIALISE), _upload(plan), _ALLOW)
    return Parts((*files, File(LEAVING, template(*rights()))), steps)


def _trusted(plan: Plan) -> str:
    generations = plan.settings.certificates.etcd.trusts
    return "" if generations == (1,) else "-".join(f"g{each}" for each in generations)


def _api_server(plan: Plan, master: Node, after: str) -> Step:
    servers = ",".join(etcd.endpoints(plan.members))
    others = [each.address for each in plan.masters if each != master]
    spare = f"""\
ready() {{ {KUBECTL} --server="https://$1:{API_PORT}" --request-timeout=5s get --raw=/readyz >/dev/null 2>&1; }}
end=$(($(date +%s) + {SPARED}))
until {" || ".join(f"ready {address}" for address in others)}; do
  if [ "$(date +%s)" -ge "$end" ]; then
    echo "no other API server is ready; this one stays as it is" >&2
    exit 1
  fi
  sleep 1
done
"""
    manifest = f"$ROOT{KUBERNETES}/manifests/kube-apiserver.yaml"
    same = f"""\
running=$(sed -n 's/^ *image: .*kube-apiserver://p' "{manifest}")
if [ "$running" != {kubernetes(plan)} ]; then
  echo "Kubernetes $running runs here: apply does not update it. Write quorate:kubernetes: \\"${{running#v}}\\"" >&2
  exit 1
fi
"""
    pod = f"{KUBECTL} --namespace=kube-system get pod kube-apiserver-{master.name}"
    return Step(
        name="configure-api-server",
        does="Lets the API server know all members and authorities of etcd. It restarts, after another one was asked.",
        check=f"""\
grep -qx -- " *- --etcd-servers={servers}" "{manifest}" &&
  [ "$(sed -n 's|^ *{AUTHORITIES}: ||p' "{manifest}")" = "{_trusted(plan)}" ]""",
        apply=f"""\
{same}{spare if others else ""}kubeadm init phase control-plane apiserver --config "$ROOT{CONFIGURATION}"
end=$(($(date +%s) + {RESTARTED}))
until found=$({pod} --output='{_STATE}') &&
  case $found in *"{servers}"*" [{_trusted(plan)}] True") ;; *) false ;; esac; do
  if [ "$(date +%s)" -ge "$end" ]; then
    echo "the API server is not ready after {RESTARTED} s: $found" >&2
    exit 1
  fi
  sleep 1
done""",
        after=(after,),
    )


def _upload(plan: Plan) -> Step:
    servers = ",".join(etcd.endpoints(plan.members))
    return Step(
        name="upload-configuration",
        does="Stores the list of etcd's members in the cluster, for masters that join later.",
        check=f"""\
{joining.read("stored", f"{KUBECTL} --namespace=kube-system get configmap kubeadm-config --output='{_STORED}'")}
[ "$(echo "$stored" | {_ENDPOINTS} | paste -sd, -)" = "{servers}" ]""",
        apply=f'kubeadm init phase upload-config kubeadm --config "$ROOT{CONFIGURATION}"',
        after=(INITIALISE,),
    )


_ALLOW = cluster_objects.apply(
    "allow-leaving",
    "Lets every node delete its own Node object, for `leave`; the plugin NodeRestriction protects other nodes.",
    LEAVING,
)


def rights() -> tuple[dict[str, Any], ...]:
    """Returns the role, and its binding to all nodes, with which a node may delete its Node object."""
    group = "rbac.authorization.k8s.io"
    return (
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": _NAME},
            "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["delete"]}],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": _NAME},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": _NAME},
            "subjects": [{"apiGroup": group, "kind": "Group", "name": "system:nodes"}],
        },
    )
