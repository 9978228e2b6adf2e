"""Calico, the network of the cluster's pods, with NetworkPolicies: its manifest, and its BGP configuration.

The first master downloads Calico's manifest in one pinned version, compares its digest, and applies it.

In clusters of fewer than 1000 nodes, every node peers with every other node. At 1000 nodes, this full mesh took
'significant time during node startup', and source 004 (5.5.8) requires route reflectors. Quorate uses the masters,
which are on different servers and start before the workers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from components.k8s_master import cluster_objects
from components.k8s_master.cluster_objects import INITIALISE, KUBECTL
from components.k8s_master.versions import large
from components.kubelet import KUBERNETES
from components.machine import File, Parts, Step
from contract import HOSTNAME, REFLECTOR
from files.yaml_writer import template

DIRECTORY = f"{KUBERNETES}/calico"
DATASTORE = "kubernetes"
API = "crd.projectcalico.org/v1"
AS_NUMBER = 64512
"""BGP's first private AS number, which is also Calico's default."""
CLUSTER_ID = "244.0.0.1"

VERSION = "v3.32.1"
_SOURCE = f"https://raw.githubusercontent.com/projectcalico/calico/{VERSION}/manifests"
_DIGESTS = {
    "calico": "a1df919d9721cf667accdc3e72848911b0cb25cfab7d2478ad0c996302c95744",
    "calico-typha": "7ecc42a5ca2bd47764384f5c52b89b007c06cbf907fd3214c1cf4abc75ead76f",
}
"""SHA-256 digests of the manifests of this version, by name."""
MOST_WITHOUT_TYPHA = 50
NODES_OF_A_TYPHA = 200
LEAST_TYPHAS = 3
"""Typha stands between calico-node and the API servers. Calico's manifest recommends it for more than 50 nodes, with a
replica for each 100 to 200 nodes, and at least 3."""

INSTALL = "install-calico"
_CONFIGURE = "configure-calico"


def is_installed(plan: Plan) -> bool:
    """Whether Quorate installs Calico; False if the operator installs another network plugin."""
    return plan.settings.cni == "calico"


def route_reflectors(plan: Plan) -> tuple[Node, ...]:
    """Returns the masters that are Calico's route reflectors; () if all nodes peer with each other."""
    return plan.masters if large(plan) else ()


def typhas(plan: Plan) -> int:
    """Returns the number of Typha's replicas; 0 without Typha."""
    nodes = len(plan.nodes)
    return max(LEAST_TYPHAS, math.ceil(nodes / NODES_OF_A_TYPHA)) if nodes > MOST_WITHOUT_TYPHA else 0


def parts(plan: Plan, master: Node) -> Parts:
    """Returns a master's files and steps for Calico. The first master installs it."""
    if not is_installed(plan):
        return Parts()
    found = _installation(plan) if master == plan.masters[0] else Parts()
    return found + _reflector(plan, master) if master in route_reflectors(plan) else found


def _installation(plan: Plan) -> Parts:
    reflectors = route_reflectors(plan)
    documents = [_bgp_configuration(mesh=not reflectors), *([_bgp_peer(reflectors)] if reflectors else [])]
    path = f"{DIRECTORY}/bgp.yaml"
    configure = cluster_objects.apply(_CONFIGURE, "Tells Calico which nodes exchange routes.", path, after=INSTALL)
    return Parts((File(path, template(*documents)),), (_install(typhas(plan)), configure))


def _install(replicas: int) -> Step:
    """Returns the step that applies Calico's manifest. `replicas`: of Typha."""
    name = "calico-typha" if replicas else "calico"
    path = f"$ROOT{DIRECTORY}/{name}-{VERSION}.yaml"
    verify = f'echo "{_DIGESTS[name]}  {path}" | sha256sum --check --quiet -'
    namespace = "--namespace=kube-system"
    check = f"{verify} 2>/dev/null\n{KUBECTL} {namespace} get daemonset calico-node >/dev/null"
    scale = ""
    if replicas:
        given = f"{KUBECTL} {namespace} get deployment calico-typha --output='jsonpath={{.spec.replicas}}'"
        check += f'\n[ "$({given})" = "{replicas}" ]'
        scale = f"\n{KUBECTL} {namespace} scale deployment calico-typha --replicas={replicas}"
    return Step(
        name=INSTALL,
        does=f"Installs Calico {VERSION}, the network of the pods.",
        check=check,
        apply=f"""\
if ! {verify} 2>/dev/null; then
  mkdir -p "$ROOT{DIRECTORY}"
  curl --fail --silent --show-error --location --retry 5 --max-time 300 --output "{path}" \\
    {_SOURCE}/{name}.yaml
  {verify}
fi
{KUBECTL} apply --server-side --force-conflicts -f "{path}" >/dev/null{scale}""",
        after=(INITIALISE,),
    )


def _reflector(plan: Plan, master: Node) -> Parts:
    """Returns the file and step that make a master a route reflector. Its Node object must exist."""
    path = f"{DIRECTORY}/route-reflector.yaml"
    document = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": master.name, "annotations": {REFLECTOR: CLUSTER_ID}},
    }
    after = _CONFIGURE if master == plan.masters[0] else "join"
    step = cluster_objects.apply("reflect-routes", "Makes this master a route reflector of Calico.", path, after=after)
    return Parts((File(path, template(document)),), (step,))


def _bgp_configuration(*, mesh: bool) -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": "BGPConfiguration",
        "metadata": {"name": "default"},
        "spec": {"asNumber": AS_NUMBER, "nodeToNodeMeshEnabled": mesh, "logSeverityScreen": "Info"},
    }


def _bgp_peer(reflectors: Sequence[Node]) -> dict[str, Any]:
    names = ", ".join(f"'{node.name}'" for node in reflectors)
    return {
        "apiVersion": API,
        "kind": "BGPPeer",
        "metadata": {"name": "route-reflectors"},
        "spec": {"nodeSelector": "all()", "peerSelector": f"{HOSTNAME} in {{ {names} }}"},
    }
