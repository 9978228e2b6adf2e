"""What nodes run beside the cloud's own programs: images and archives, with their versions, digests and places.

Components name them, and `quorate images` lists them. What a stack file may change is not here.
"""

from __future__ import annotations

from dataclasses import dataclass

NGINX = "docker.io/library/nginx:1.30.4-alpine"
"""The proxy to the API servers."""
COREDNS = "registry.k8s.io/coredns/coredns:v1.14.6"
"""The DNS server of each node: the image that kubeadm installs with Kubernetes 1.37."""

KUBERNETES_REGISTRY = "registry.k8s.io"
"""kubeadm's imageRepository, if its configuration names none."""
_PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
_PAUSE = {35: "3.10.1", 36: "3.10.2", 37: "3.10.2"}
_COREDNS = {35: "v1.13.1", 36: "v1.14.2", 37: "v1.14.6"}
"""Tags by minor version of Kubernetes: PauseVersion and CoreDNSVersion of kubeadm (constants.go), read there for 1.37;
those of 1.35 and 1.36 are what `kubeadm config images list` of these versions prints in public repositories. `doctor`
compares the sandbox image with each machine's kubeadm."""

CALICO_VERSION = "v3.32.1"
_CALICO_SOURCE = f"https://raw.githubusercontent.com/projectcalico/calico/{CALICO_VERSION}/manifests"
_CALICO_SUMS = {
    "calico": "a1df919d9721cf667accdc3e72848911b0cb25cfab7d2478ad0c996302c95744",
    "calico-typha": "7ecc42a5ca2bd47764384f5c52b89b007c06cbf907fd3214c1cf4abc75ead76f",
}
"""SHA-256 digests of the manifests of this version, by name."""
CALICO_REGISTRIES = ("quay.io", "docker.io")
"""Where manifests of Calico have their images: those of this version in the first one, earlier ones in the second."""
CALICO_PROGRAMS = ("cni", "kube-controllers", "node")
TYPHA = "typha"
MOST_WITHOUT_TYPHA = 50
"""Typha stands between calico-node and the API servers. Calico's manifest recommends it for more than 50 nodes."""

ETCD = "3.6.5"
"""The version that Quorate's trials run. The distributions have 3.4, or a 3.5 that may not run (ADR 27)."""
_ETCD_SUMS = {
    "x86_64": ("amd64", "66bad39ed920f6fc15fd74adcb8bfd38ba9a6412f8c7852d09eb11670e88cac3"),
    "aarch64": ("arm64", "7010161787077b07de29b15b76825ceacbbcedcb77fe2e6832f509be102cab6b"),
}
"""Digests of etcd's releases, by what `uname -m` says: as several public repositories pin them."""
_ETCD_URL = "https://github.com/etcd-io/etcd/releases/download/v{version}/etcd-v{version}-linux-{architecture}.tar.gz"


@dataclass(frozen=True)
class PinnedArchive:
    """A file that machines or jobs download, and install only with this digest."""

    name: str
    url: str
    sha256: str


def sandbox(minor: int) -> str:
    """Returns the image of pods' sandboxes. `minor`: version of Kubernetes."""
    return f"{KUBERNETES_REGISTRY}/pause:{_PAUSE[minor]}"


def of_kubeadm(version: str) -> tuple[str, ...]:
    """Returns the images of a new cluster with an external etcd. `version`: of Kubernetes, such as 1.37.2."""
    minor = int(version.split(".")[1])
    own = (f"{KUBERNETES_REGISTRY}/{name}:v{version}" for name in _PROGRAMS)
    return (*own, f"{KUBERNETES_REGISTRY}/coredns/coredns:{_COREDNS[minor]}", sandbox(minor))


def has_typha(nodes: int) -> bool:
    """Whether a cluster of so many nodes has Typha."""
    return nodes > MOST_WITHOUT_TYPHA


def calico_manifest(nodes: int) -> PinnedArchive:
    """Returns Calico's manifest for a cluster of so many nodes."""
    name = "calico-typha" if has_typha(nodes) else "calico"
    return PinnedArchive(name, f"{_CALICO_SOURCE}/{name}.yaml", _CALICO_SUMS[name])


def calico_images(nodes: int) -> tuple[str, ...]:
    """Returns the images of `calico_manifest`."""
    names = (*CALICO_PROGRAMS, TYPHA) if has_typha(nodes) else CALICO_PROGRAMS
    return tuple(f"{CALICO_REGISTRIES[0]}/calico/{name}:{CALICO_VERSION}" for name in names)


def etcd_archives() -> tuple[PinnedArchive, ...]:
    """Returns etcd's release for each kind of processor; their names end in what `uname -m` says."""
    return tuple(
        PinnedArchive(f"etcd-{machine}", _ETCD_URL.format(version=ETCD, architecture=architecture), digest)
        for machine, (architecture, digest) in _ETCD_SUMS.items()
    )
