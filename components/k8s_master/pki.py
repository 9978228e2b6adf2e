"""The files with certificates and keys of etcd, Kubernetes and computes, derived from the stack's root secret.

Each of the three has an authority of its own. kubeadm finds those of Kubernetes on every master and signs the
certificates of its programs itself. All files are secret files, also the certificates: they are known only when the
root secret is.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import IPv4Address
from typing import Any, TypeVar

import pulumi
import yaml

from blueprint.plan.nodes import Node
from blueprint.stackfile.certificate_generations import CertificateGenerations, Generations
from components.kubelet import DISCOVERY
from components.machine import File, Unit
from components.secrets import Keyring, placeholder
from contract import ADMINISTRATOR, API_PORT, MASTER_POOL
from formats.certificates import Authority, Pair, key_pair

ETCD = "/etc/etcd/pki"
KUBERNETES = "/etc/kubernetes/pki"
ENCRYPTION = f"{KUBERNETES}/encryption.conf"
"""Configuration with which API servers encrypt Secrets in etcd. It is in kubeadm's directory for keys, which kubeadm
mounts into the API server's pod. Its name does not end with .yaml, because only objects do below `secrets/`."""
COMPUTE = "/etc/quorate/compute"
"""Directory on a compute with the certificate for migrations (components/compute_certificate)."""
SIGNING, TRUSTED = f"{KUBERNETES}/signing-ca.crt", f"{KUBERNETES}/trusted-ca.crt"
"""Certificates of Kubernetes' authorities for controller managers, once there was more than one: that of the one in use
alone, since they refuse to sign with several in `ca.crt`; and all that are trusted, always in the same order, so that
the ConfigMaps `kube-root-ca.crt` change when an authority is added or dropped, and not when another one signs."""
ETCD_CLIENT = f"{KUBERNETES}/apiserver-etcd-client"
JOINING = "system:bootstrappers:kubeadm:default-node-token"
"""Group in Kubernetes whose members may request a kubelet's certificate (kubeadm, bootstrap tokens' default group)."""
ADMINISTRATORS = "kubeadm:cluster-admins"
"""Group in Kubernetes whose members are administrators; kubeadm binds it to the role cluster-admin."""

T = TypeVar("T")
Reveal = Callable[[str], str]
Contents = Mapping[str, str]
"""Contents of files, by path."""


class Pki:
    """Certificates and keys of a stack. `keyring`: derives their secrets, and has those that machines were given.

    `generations`: of the authorities, and of the keys that sign the tokens of service accounts.
    """

    def __init__(
        self,
        keyring: Keyring,
        generations: CertificateGenerations = CertificateGenerations(),  # noqa: B008 - it is frozen
    ) -> None:
        self.keyring = keyring
        self._generations = generations
        self._etcd = generations.etcd

    def etcd_files(self, machine: Node, restarts: Unit) -> tuple[File, ...]:
        """Returns the certificates of the member of etcd on `machine`; on a master also its API server's for etcd.

        `restarts`: etcd's unit.
        """
        paths = [f"{ETCD}/{name}" for name in ("ca.crt", "server.crt", "server.key", "peer.crt", "peer.key")]
        member = self._files(paths, lambda reveal: dict(_etcd_member(machine, self._etcd, reveal)), restarts)
        if MASTER_POOL not in machine.roles:
            return member
        client = [f"{ETCD_CLIENT}.{end}" for end in ("crt", "key")]
        return member + self._files(client, lambda reveal: dict(_etcd_client(self._etcd, reveal)))

    def etcd_client_files(self) -> tuple[File, ...]:
        """Returns what the API server of a master without a member needs: etcd's authority, and its certificate."""
        paths = [f"{ETCD}/ca.crt", *(f"{ETCD_CLIENT}.{end}" for end in ("crt", "key"))]
        return self._files(paths, lambda reveal: dict(_etcd_client_alone(self._etcd, reveal)))

    def kubernetes_files(self) -> tuple[File, ...]:
        """Returns the files that all masters share: two authorities, and the keys that sign service accounts."""
        names = ("ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.pub", "sa.key")
        paths = [f"{KUBERNETES}/{name}" for name in names]
        if not self._generations.kubernetes.is_first:
            paths += [SIGNING, TRUSTED]
        return self._files(paths, lambda reveal: dict(_shared(self._generations, reveal)))

    def encryption_file(self) -> tuple[File, ...]:
        """Returns the file with the key that encrypts Secrets in etcd."""
        return self._files([ENCRYPTION], lambda reveal: {ENCRYPTION: _encryption(reveal)})

    def compute_files(self, computes: Sequence[Node]) -> tuple[File, ...]:
        """Returns the certificate by which each of these nodes receives virtual machines from others and sends them.

        Its authority signs nothing else: whoever has one of its certificates may do everything on every compute.
        """
        authority = f"{COMPUTE}/ca.crt"
        paths = [f"{COMPUTE}/tls.{end}" for end in ("crt", "key")]
        placeholders = {path: {node.name: placeholder(path) for node in computes} for path in paths}
        generations = self._generations.computes
        contents = self._contents(placeholders, lambda reveal: _computes(computes, generations.uses, reveal))
        return (
            *self._files([authority], lambda reveal: {authority: _trusted(_compute_authority, generations, reveal)}),
            *(File(path, _at(contents, path), mode=0o600, secret=True, by_node=True) for path in paths),
        )

    def discovery_file(self, first: Node) -> tuple[File, ...]:
        """Returns the kubeconfig with which a machine joins. `first`: the master that initialises the cluster."""
        return self._files([DISCOVERY], lambda reveal: {DISCOVERY: self._discovery(first, reveal)})

    def kubeconfig(self, master: Node) -> pulumi.Output[str]:
        """Returns an administrator's kubeconfig. `master`: the master whose API server it names."""
        return self.keyring.written(lambda reveal: {"": self._administrator(master, reveal)}).apply(
            lambda found: found[""]
        )

    def _discovery(self, first: Node, reveal: Reveal) -> str:
        return _kubeconfig("join", first, *self._client("join", JOINING, reveal))

    def _administrator(self, master: Node, reveal: Reveal) -> str:
        return _kubeconfig(ADMINISTRATOR, master, *self._client("admin", ADMINISTRATORS, reveal))

    def _client(self, name: str, group: str, reveal: Reveal) -> tuple[str, Pair]:
        """Returns the authorities that a client of Kubernetes trusts, and its certificate."""
        generations = self._generations.kubernetes
        authority = _kubernetes_authority(generations.uses, reveal)
        client = authority.client(f"quorate:{name}", reveal(_key(name, generations.uses)), group)
        return _trusted(_kubernetes_authority, generations, reveal), client

    def _files(
        self, paths: list[str], write: Callable[[Reveal], dict[str, str]], restarts: Unit | None = None
    ) -> tuple[File, ...]:
        contents = self._contents({path: placeholder(path) for path in paths}, write)
        return tuple(File(path, _at(contents, path), mode=0o600, secret=True, restarts=restarts) for path in paths)

    def _contents(self, placeholders: T, write: Callable[[Reveal], T]) -> pulumi.Output[T]:
        """Returns what `write` returns; `placeholders` in a preview without the root secret."""
        if self.keyring.root is None:
            # Not an Output of a mapping, which wraps each of its values: a thousand take half a second.
            return pulumi.Output.secret("").apply(lambda _: placeholders)
        return self.keyring.written(write)


def _at(contents: pulumi.Output[dict[str, T]], path: str) -> pulumi.Output[T]:
    return contents.apply(lambda found: found[path])


def _etcd_authority(generation: int, reveal: Reveal) -> Authority:
    return Authority("etcd-ca", reveal(_key("etcd-ca", generation)), generation)


def _etcd_trusted(generations: Generations, reveal: Reveal) -> str:
    return "".join(_etcd_authority(each, reveal).pair.public for each in generations.trusts)


def _key(name: str, generation: int) -> str:
    return name if generation == 1 else f"{name}:{generation}"


def _kubernetes_authority(generation: int, reveal: Reveal) -> Authority:
    return Authority("kubernetes", reveal(_key("ca", generation)), generation)


def _front_proxy_authority(generation: int, reveal: Reveal) -> Authority:
    """Returns the authority of API servers as clients of API servers of extensions. It has Kubernetes' generations."""
    return Authority("front-proxy-ca", reveal(_key("front-proxy-ca", generation)), generation)


def _trusted(authority: Callable[[int, Reveal], Authority], generations: Generations, reveal: Reveal) -> str:
    """Returns the certificates of the generations that are trusted. kubeadm signs with the first."""
    ordered = sorted(generations.trusts, key=lambda each: each != generations.uses)
    return "".join(authority(each, reveal).pair.public for each in ordered)


def _compute_authority(generation: int, reveal: Reveal) -> Authority:
    return Authority("compute-ca", reveal(_key("compute-ca", generation)), generation)


def _etcd_member(master: Node, generations: Generations, reveal: Reveal) -> Iterator[tuple[str, str]]:
    authority = _etcd_authority(generations.uses, reveal)
    addresses = (IPv4Address(master.address), IPv4Address("127.0.0.1"))
    yield f"{ETCD}/ca.crt", _etcd_trusted(generations, reveal)
    for purpose in ("server", "peer"):
        key = _key(f"etcd-{purpose}/{master.name}", generations.uses)
        pair = authority.member(master.name, addresses, reveal(key))
        yield from _pair(f"{ETCD}/{purpose}", pair)


def _etcd_client(generations: Generations, reveal: Reveal) -> Iterator[tuple[str, str]]:
    name, generation = "kube-apiserver-etcd-client", generations.uses
    yield from _pair(ETCD_CLIENT, _etcd_authority(generation, reveal).client(name, reveal(_key(name, generation))))


def _etcd_client_alone(generations: Generations, reveal: Reveal) -> Iterator[tuple[str, str]]:
    yield f"{ETCD}/ca.crt", _etcd_trusted(generations, reveal)
    yield from _etcd_client(generations, reveal)


def _shared(generations: CertificateGenerations, reveal: Reveal) -> Iterator[tuple[str, str]]:
    kubernetes, service_accounts = generations.kubernetes, generations.service_accounts
    signing = _kubernetes_authority(kubernetes.uses, reveal).pair
    yield f"{KUBERNETES}/ca.crt", _trusted(_kubernetes_authority, kubernetes, reveal)
    yield f"{KUBERNETES}/ca.key", signing.private
    yield SIGNING, signing.public
    yield TRUSTED, "".join(_kubernetes_authority(each, reveal).pair.public for each in kubernetes.trusts)
    yield f"{KUBERNETES}/front-proxy-ca.crt", _trusted(_front_proxy_authority, kubernetes, reveal)
    yield f"{KUBERNETES}/front-proxy-ca.key", _front_proxy_authority(kubernetes.uses, reveal).pair.private
    yield f"{KUBERNETES}/sa.pub", "".join(_token_keys(each, reveal).public for each in service_accounts.trusts)
    yield f"{KUBERNETES}/sa.key", _token_keys(service_accounts.uses, reveal).private


def _token_keys(generation: int, reveal: Reveal) -> Pair:
    return key_pair(reveal(_key("service-accounts", generation)))


def _computes(computes: Sequence[Node], generation: int, reveal: Reveal) -> dict[str, dict[str, str]]:
    """Returns certificate and key of each compute: by path, the texts by node name."""
    authority = _compute_authority(generation, reveal)
    found: dict[str, dict[str, str]] = {}
    for node in computes:
        # A client compares the address that it connects to.
        own = dict.fromkeys((node.address, node.machine.addresses.get("migration", node.address)))
        key = _key(f"compute/{node.name}", generation)
        pair = authority.member(node.name, [IPv4Address(each) for each in own], reveal(key))
        for path, text in _pair(f"{COMPUTE}/tls", pair):
            found.setdefault(path, {})[node.name] = text
    return found


def _encryption(reveal: Reveal) -> str:
    """Returns the EncryptionConfiguration. Secrets that were stored without encryption stay readable (`identity`)."""
    key = hashlib.sha256(reveal("secrets-in-etcd").encode()).digest()
    secretbox = {"keys": [{"name": "key1", "secret": base64.b64encode(key).decode()}]}
    document: dict[str, Any] = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": [{"secretbox": secretbox}, {"identity": {}}]}],
    }
    return yaml.safe_dump(document, sort_keys=False)


def _pair(path: str, pair: Pair) -> Iterator[tuple[str, str]]:
    yield f"{path}.crt", pair.public
    yield f"{path}.key", pair.private


def _kubeconfig(name: str, master: Node, trusted: str, client: Pair) -> str:
    """Returns a kubeconfig with one user. `name`: the user and the context. `master`: whose API server it names."""
    cluster = {
        "server": f"https://{master.address}:{API_PORT}",
        "certificate-authority-data": _encoded(trusted),
    }
    user = {"client-certificate-data": _encoded(client.public), "client-key-data": _encoded(client.private)}
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "quorate", "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": "quorate", "user": name}}],
        "current-context": name,
    }
    return yaml.safe_dump(document, sort_keys=False)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
