"""How nodes and masters follow a change of Kubernetes' authority, in the order in which all of them stay connected.

Each master asks before its files change. Then each node trusts what its `discovery.conf` does, and gets a client
certificate of the authority in use; a master also has kubeadm renew its own certificates.
"""

from __future__ import annotations

from functools import cache
from itertools import starmap
from pathlib import Path

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.stackfile.certificate_generations import Generations
from components import joining
from components.k8s_master import pki
from components.k8s_master.cluster_objects import KUBECTL
from components.kubelet import DISCOVERY, KUBERNETES
from components.machine import File, Parts, Question, Step
from files.yaml_writer import literal

SCRIPT, QUESTION = "/usr/local/lib/quorate/kubernetes-authority", "/usr/local/lib/quorate/authority-question"
USE = "use-authority"
STATE = f"{KUBERNETES}/authority"
"""File of the script that a node has which ever had another authority than the first."""


def generations(given: Generations) -> str:
    """Returns the form in which nodes and static pods are annotated, such as g2-of-g1-g2."""
    return f"g{given.uses}-of-{'-'.join(f'g{each}' for each in given.trusts)}"


def _check(plan: Plan, check: str) -> str:
    """Returns a step's check, which succeeds at once on a machine without the state file while the first is used."""
    only = f'[ -e "$ROOT{STATE}" ] || exit 0\n' if plan.settings.certificates.kubernetes.is_first else ""
    return only + check


def node_parts(plan: Plan, after: str) -> Parts:
    """Returns the script of a Kubernetes node, and the step that uses it. `after`: the step before."""
    command = f'sh "$ROOT{SCRIPT}"', generations(plan.settings.certificates.kubernetes)
    step = Step(
        name=USE,
        does="Lets this node trust and use the authorities of Kubernetes in discovery.conf. kubelet restarts.",
        check=_check(plan, " used ".join(command)),
        apply=" use ".join(command),
        after=(after,),
    )
    return Parts((File(SCRIPT, literal(_script("kubernetes_authority")), mode=0o755),), (step,))


def question(plan: Plan) -> Parts:
    """Returns what a master asks before its files change."""
    value = generations(plan.settings.certificates.kubernetes)
    addresses = " ".join(each.address for each in plan.masters)
    asks = Question(
        name="kubernetes-authority",
        does="Asks whether all nodes and masters can go on beside this one with another authority of Kubernetes.",
        asks=f'sh "$HERE/root{QUESTION}" {value} {addresses}',
    )
    return Parts((File(QUESTION, literal(_script("authority_question")), mode=0o755),), questions=(asks,))


def shared_steps(plan: Plan, master: Node, after: str) -> tuple[Step, ...]:
    """Returns a master's steps for what the cluster has once. `after`: the step in which its API server restarts.

    The first master publishes the authorities for machines that join by hand. The last one lets API servers forget what
    none of them trusts any more: they keep every authority there that one of them had.
    """
    publish = Step(
        name="publish-authority",
        does="Publishes the authorities of Kubernetes in the ConfigMap cluster-info, if there is one.",
        check=_check(
            plan,
            f"""\
{joining.read("found", f"{_CLUSTER_INFO} --ignore-not-found --output='jsonpath={{.data.kubeconfig}}'")}
[ -z "$found" ] ||
  [ "$(echo "$found" | {_DATA} | base64 -d | {_CERTIFICATES})" = "{_own(_AUTHORITIES)}" ]""",
        ),
        apply=f"""\
data=$({_DATA} "$ROOT{DISCOVERY}")
{_CLUSTER_INFO} --output=json | sed "s|\\(certificate-authority-data: \\)[A-Za-z0-9+/=]*|\\1$data|" |
  {KUBECTL} replace --filename=-""",
        after=(after,),
    )
    forget = Step(
        name="forget-authority",
        does="Lets the API servers forget authorities of clients and front proxies that none of them trusts any more.",
        check=_check(plan, "\n".join(starmap(_has_own, _OF_CLIENTS))),
        apply=f"""\
lines() {{ awk '{{ printf "%s\\\\n", $0 }}' "$ROOT$1"; }}
{_KUBE_SYSTEM} patch {_CLIENTS} --patch="{{\\"data\\":{{{_OWN_DATA}}}}}\"""",
        after=(after,),
    )
    first = (publish,) if master == plan.masters[0] else ()
    return (*first, forget) if master == plan.masters[-1] else first


def _has_own(key: str, file: str) -> str:
    """Returns shell commands that fail if the ConfigMap of clients has other authorities than a file of the master."""
    return f"""\
{joining.read("found", f"{_KUBE_SYSTEM} get {_CLIENTS} --output='jsonpath={{.data.{key}}}'")}
[ "$(echo "$found" | {_CERTIFICATES})" = "{_own(file)}" ] || exit 1"""


def _own(file: str) -> str:
    return f'$(<"$ROOT{file}" {_CERTIFICATES})'


_DATA = "sed -n 's|^ *certificate-authority-data: *||p'"
_AUTHORITIES, _FRONT_PROXY = f"{pki.KUBERNETES}/ca.crt", f"{pki.KUBERNETES}/front-proxy-ca.crt"
_CERTIFICATES = r"""awk '/-----BEGIN/ { block = "" } { block = block $0 } /-----END/ { print block }' | sort -u"""
_CLUSTER_INFO = f"{KUBECTL} --namespace=kube-public get configmap cluster-info"
_KUBE_SYSTEM = f"{KUBECTL} --namespace=kube-system"
_CLIENTS = "configmap extension-apiserver-authentication"
_OF_CLIENTS = (("client-ca-file", _AUTHORITIES), ("requestheader-client-ca-file", _FRONT_PROXY))
"""The keys of this ConfigMap, which API servers of extensions read, and the file of each on a master."""
_OWN_DATA = ",".join(rf"\"{key}\":\"$(lines {file})\"" for key, file in _OF_CLIENTS)


@cache
def _script(name: str) -> str:
    return (Path(__file__).parent / f"{name}.sh").read_text(encoding="utf-8")
