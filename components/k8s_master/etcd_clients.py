"""What follows a change of etcd's members, authorities and keys: the cluster's own configuration, and static pods.

kubeadm keeps the list of etcd's members in the cluster, for masters that join later, and in the manifest of each API
server. An API server works while one member of its list answers, so its manifest changes after etcd has.
"""

from __future__ import annotations

from typing import Any

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from components import joining
from components.k8s_master import cluster_objects, etcd, kubernetes_authority, pki, service_account_keys, static_pods
from components.k8s_master.cluster_objects import INITIALISE, KUBECTL
from components.k8s_master.static_pods import StaticPod
from components.kubelet import CONFIGURATION, KUBERNETES
from components.machine import File, Parts, Step
from contract import API_PORT
from files.yaml_writer import template

LEAVING = f"{KUBERNETES}/leaving.yaml"
SPARED = 60
"""Seconds until another API server must be Ready. Project figure: a master that has just started needs less."""
_NAME = "quorate:leaving-node"
CONFIGURE = "configure-api-server"
_ENDPOINTS = """awk '$1 ~ /:$/ { listed = $1 == "endpoints:" } listed && $1 == "-" { print $2 }'"""
_STORED = "jsonpath={.data.ClusterConfiguration}"


def parts(plan: Plan, master: Node) -> Parts:
    """Returns a master's files and steps. The first master keeps what the whole cluster shares."""
    generations = plan.settings.certificates
    server, manager = static_pods.api_server(generations), static_pods.controller_manager(generations)
    scheduler = static_pods.scheduler(generations)
    own = Parts((*server.files, *manager.files, *scheduler.files)) + service_account_keys.parts()
    own += kubernetes_authority.question(plan)
    own += kubernetes_authority.node_parts(plan, INITIALISE if master == plan.masters[0] else "join")
    steps = (
        _api_server(plan, master, server),
        _client(plan, master, manager, "Lets the controller manager use other authorities and keys"),
        _client(plan, master, scheduler, "Lets the scheduler use other authorities"),
        *kubernetes_authority.shared_steps(plan, master, CONFIGURE),
    )
    if master != plan.masters[0]:
        return own + Parts(steps=steps)
    return own + Parts((File(LEAVING, template(*rights())),), (*steps, _upload(plan), _ALLOW))


def _api_server(plan: Plan, master: Node, pod: StaticPod) -> Step:
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
    keys = service_account_keys.question(plan, pod)
    return Step(
        name=CONFIGURE,
        does="Lets the API server know etcd's members, authorities and keys. It restarts, after another one was asked.",
        check=f"""\
grep -qx -- " *- --etcd-servers={servers}" "{pod.manifest}" &&
  {pod.has_all}""",
        apply=pod.same_version(plan) + keys + (spare if others else "") + pod.restart(master, servers),
        after=(kubernetes_authority.USE,),
    )


def _client(plan: Plan, master: Node, pod: StaticPod, uses: str) -> Step:
    """Returns the step of a program that is a client of its API server. `uses`: what the program does, as a clause."""
    return Step(
        name=f"configure-{pod.program.removeprefix('kube-')}",
        does=f"{uses}, after its API server does. It restarts.",
        check=pod.has_all,
        apply=pod.same_version(plan) + pod.restart(master),
        after=(CONFIGURE,),
    )


def _upload(plan: Plan) -> Step:
    servers = ",".join(etcd.endpoints(plan.members))
    signing = 0 if plan.settings.certificates.kubernetes.is_first else 1
    return Step(
        name="upload-configuration",
        does="Stores etcd's members and the files of controller managers in the cluster, for masters that join later.",
        check=f"""\
{joining.read("stored", f"{KUBECTL} --namespace=kube-system get configmap kubeadm-config --output='{_STORED}'")}
[ "$(echo "$stored" | {_ENDPOINTS} | paste -sd, -)" = "{servers}" ] &&
  [ "$(echo "$stored" | grep -c "{pki.SIGNING}")" = {signing} ]""",
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
