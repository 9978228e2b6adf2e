"""The static pods of API server and controller manager, and what their programs read once, when they start.

kubelet starts a pod again when its manifest changes, not when a file changes that the program reads. So the generations
of authorities and keys in these files are annotations of the pod, and other ones restart it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.stackfile.certificate_generations import CertificateGenerations
from components.k8s_master import kubernetes_authority
from components.k8s_master.cluster_objects import KUBECTL
from components.k8s_master.versions import kubernetes
from components.kubelet import CONFIGURATION, KUBERNETES, PATCHES
from components.machine import File
from files.yaml_writer import template

ETCD_AUTHORITIES = "quorate.io/etcd-authorities"
"""Annotation: the generations of etcd's authority that the program trusts; none for the first alone."""
TOKEN_KEYS = "quorate.io/service-account-keys"  # noqa: S105 - a name
"""Annotation: the generation of the keys of service accounts that signs, and those that the program trusts, if it does;
none for the first alone."""
AUTHORITY = "quorate.io/kubernetes-authority"
"""Annotation, of nodes too: the generation of Kubernetes' authority that is used, and those that are trusted; none for
the first alone."""
RESTARTED = 180
"""Seconds until a restarted program must be Ready. Project figure: a busy one-host lab takes up to 60."""


@dataclass(frozen=True)
class StaticPod:
    """A static pod of a master."""

    program: str
    """Name of the program, of its manifest and of its pods, such as kube-apiserver."""
    annotations: Mapping[str, str]
    """Values by key; "" for an annotation that the pod has not."""

    @property
    def files(self) -> tuple[File, ...]:
        """The patch with which kubeadm writes the annotations into the manifest."""
        given = {key: value for key, value in self.annotations.items() if value}
        patch = template({"metadata": {"annotations": given}})
        return (File(f"{PATCHES}/{self.program}.yaml", patch),) if given else ()

    @property
    def manifest(self) -> str:
        """Path of the manifest, for a shell."""
        return f"$ROOT{KUBERNETES}/manifests/{self.program}.yaml"

    def has(self, key: str) -> str:
        """Returns a shell command that succeeds if the manifest has the annotation with this key."""
        return f"""[ "$(sed -n 's|^ *{key}: ||p' "{self.manifest}")" = "{self.annotations[key]}" ]"""

    @property
    def has_all(self) -> str:
        """A shell command that succeeds if the manifest has all annotations."""
        return " &&\n  ".join(map(self.has, self.annotations))

    def same_version(self, plan: Plan) -> str:
        """Returns shell commands that fail if kubeadm would write a manifest of another version of Kubernetes.

        A manifest without an image is one that `apply` was killed in writing, and is written again.
        """
        return f"""\
running=$(sed -n 's/^ *image: .*{self.program}://p' "{self.manifest}")
if [ "${{running:-{kubernetes(plan)}}}" != {kubernetes(plan)} ]; then
  echo "Kubernetes $running runs here: apply does not update it. Write quorate:kubernetes: \\"${{running#v}}\\"" >&2
  exit 1
fi
"""

    def restart(self, master: Node, argument: str = "") -> str:
        """Returns shell commands that write the manifest, and wait until the new pod is Ready.

        `argument`: text of the program's command line by which the new pod is known too.
        """
        values = "".join(f" [{{.metadata.annotations.{_in_jsonpath(key)}}}]" for key in self.annotations)
        state = f'jsonpath={{.spec.containers[0].command}}{values} {{.status.conditions[?(@.type=="Ready")].status}}'
        expected = "".join(f" [{value}]" for value in self.annotations.values())
        return f"""\
kubeadm init phase control-plane {self.program.removeprefix("kube-")} --config "$ROOT{CONFIGURATION}"
end=$(($(date +%s) + {RESTARTED}))
until found=$({KUBECTL} --namespace=kube-system get pod {self.program}-{master.name} --output='{state}') &&
  case $found in *"{argument}"*"{expected} True") ;; *) false ;; esac; do
  if [ "$(date +%s)" -ge "$end" ]; then
    echo "{self.program} is not ready after {RESTARTED} s: $found" >&2
    exit 1
  fi
  sleep 1
done"""


def api_server(generations: CertificateGenerations) -> StaticPod:
    """Returns the API server's pod: it trusts authorities of etcd and of Kubernetes, and keys of service accounts."""
    keys = generations.service_accounts
    both = "" if keys.is_first else f"g{keys.uses}-of-{_named(keys.trusts)}"
    trusted = "" if generations.etcd.trusts == (1,) else _named(generations.etcd.trusts)
    return StaticPod(
        "kube-apiserver", {ETCD_AUTHORITIES: trusted, AUTHORITY: _authority(generations), TOKEN_KEYS: both}
    )


def controller_manager(generations: CertificateGenerations) -> StaticPod:
    """Returns the controller manager's pod, which signs the tokens that Secrets have, and certificates of nodes."""
    uses = generations.service_accounts.uses
    keys = "" if uses == 1 else _named((uses,))
    return StaticPod("kube-controller-manager", {AUTHORITY: _authority(generations), TOKEN_KEYS: keys})


def scheduler(generations: CertificateGenerations) -> StaticPod:
    """Returns the scheduler's pod, a client of its API server."""
    return StaticPod("kube-scheduler", {AUTHORITY: _authority(generations)})


def _authority(generations: CertificateGenerations) -> str:
    kubernetes = generations.kubernetes
    return "" if kubernetes.is_first else kubernetes_authority.generations(kubernetes)


def _named(generations: tuple[int, ...]) -> str:
    return "-".join(f"g{each}" for each in generations)


def _in_jsonpath(key: str) -> str:
    return key.replace(".", r"\.")
