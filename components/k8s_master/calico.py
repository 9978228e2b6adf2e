"""Calico, the network of the cluster's pods, with NetworkPolicies: its manifest, its pools and its BGP configuration.

The first master downloads Calico's manifest in one pinned version, or the one that the stack names, compares its
digest, and applies it with the changes of calico_objects.py.

In clusters of fewer than 1000 nodes, every node peers with every other node. At 1000 nodes, this full mesh took
'significant time during node startup', and source 004 (5.5.8) requires route reflectors. Quorate uses the masters,
which are on different servers and start before the workers.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import contract
from blueprint import node_software
from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.stackfile.settings import CalicoManifest
from components.k8s_master import calico_objects, cluster_objects
from components.k8s_master.cluster_objects import INITIALISE, KUBECTL
from components.kubelet import KUBERNETES
from components.machine import File, Parts, Step
from contract import REFLECTOR
from files.yaml_writer import template

DIRECTORY = f"{KUBERNETES}/calico"
DATASTORE = "kubernetes"
CLUSTER_ID = "244.0.0.1"

INSTALL = "install-calico"
_CONFIGURE = "configure-calico"
_OWN = f"--selector={contract.MANAGED_BY}=quorate"
_KINDS = "bgppeers.crd.projectcalico.org,ippools.crd.projectcalico.org"


def is_installed(plan: Plan) -> bool:
    """Whether Quorate installs Calico; False if the operator installs another network plugin."""
    return plan.settings.cni == "calico"


def manifest(plan: Plan) -> CalicoManifest:
    """Returns where Calico's manifest is downloaded, and its digest."""
    known = node_software.calico_manifest(len(plan.nodes))
    return plan.settings.calico.manifest or CalicoManifest(url=known.url, sha256=known.sha256)


def parts(plan: Plan, master: Node) -> Parts:
    """Returns a master's files and steps for Calico. The first master installs it."""
    if not is_installed(plan):
        return Parts()
    found = _installation(plan) if master == plan.masters[0] else Parts()
    return found + _reflector(plan, master) if master in calico_objects.route_reflectors(plan) else found


def _installation(plan: Plan) -> Parts:
    source = manifest(plan)
    name = f"calico-{source.sha256[:12]}.yaml"
    kustomization = template(calico_objects.kustomization(plan, name))
    made_of = kustomization + template(*calico_objects.changes(plan, ""))
    stamp = hashlib.sha256(made_of.encode()).hexdigest()[:16]
    network = File(f"{DIRECTORY}/network.yaml", template(*calico_objects.network(plan)))
    files = (
        File(f"{DIRECTORY}/kustomization.yaml", kustomization),
        File(f"{DIRECTORY}/{calico_objects.CHANGES}", template(*calico_objects.changes(plan, stamp))),
        network,
    )
    install = _install(source, f"$ROOT{DIRECTORY}/{name}", stamp, calico_objects.typhas(plan))
    return Parts(files, (install, _configure(plan, network.path)))


def _install(source: CalicoManifest, path: str, stamp: str, replicas: int) -> Step:
    """Returns the step that applies Calico's manifest. `path`: of its copy; `replicas`: of Typha."""
    verify = f'echo "{source.sha256}  {path}" | sha256sum --check --quiet -'
    get = f"{KUBECTL} --namespace=kube-system get"
    escaped = calico_objects.STAMP.replace(".", r"\.")
    check = f"""\
{verify} 2>/dev/null
[ "$({get} daemonset calico-node --output='jsonpath={{.metadata.annotations.{escaped}}}')" = "{stamp}" ]"""
    if replicas:
        check += f"""
[ "$({get} deployment calico-typha --output='jsonpath={{.spec.replicas}}')" = "{replicas}" ]"""
    return Step(
        name=INSTALL,
        does="Installs Calico, the network of the pods.",
        check=check,
        apply=f"""\
if ! {verify} 2>/dev/null; then
  mkdir -p "$ROOT{DIRECTORY}"
  curl --fail --silent --show-error --location --retry 5 --max-time 300 --output "{path}" \\
    {source.url}
  {verify}
fi
{KUBECTL} apply --server-side --force-conflicts -k "$ROOT{DIRECTORY}" >/dev/null""",
        after=(INITIALISE,),
    )


def _configure(plan: Plan, path: str) -> Step:
    """Returns the step that applies pools and BGP configuration, and deletes those that the stack no longer has."""
    names = " ".join(
        f"{document['kind'].lower()}.crd.projectcalico.org/{document['metadata']['name']}"
        for document in calico_objects.network(plan)
    )
    step = cluster_objects.apply(
        _CONFIGURE, "Tells Calico which addresses pods have, and which nodes exchange routes.", path, after=INSTALL
    )
    check, delete = _former(names, "exit 1"), _former(names, f'{KUBECTL} delete "$each"')
    return replace(step, check=f"{step.check}\n{check}", apply=f"{step.apply}\n{delete}")


def _former(names: str, command: str) -> str:
    """Returns commands that run `command` for each of Quorate's objects that is not among `names`, as `$each`."""
    return f"""\
kept=" {names} "
for each in $({KUBECTL} get {_KINDS} {_OWN} --output=name); do
  case "$kept" in *" $each "*) ;; *) {command} ;; esac
done"""


def _reflector(plan: Plan, master: Node) -> Parts:
    """Returns the file and step that make a master a route reflector. Its Node object must exist."""
    path = f"{DIRECTORY}/route-reflector.yaml"
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": master.name, "annotations": {REFLECTOR: CLUSTER_ID}},
    }
    after = _CONFIGURE if master == plan.masters[0] else "join"
    step = cluster_objects.apply("reflect-routes", "Makes this master a route reflector of Calico.", path, after=after)
    return Parts((File(path, template(document)),), (step,))
