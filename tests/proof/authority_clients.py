"""Clients of Kubernetes that go on with the certificates of their start, and requests of all of them.

This host's operators with kubeconfigs, pods with tokens, and kubelets, which read their files again when they restart.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from cluster.api import MERGE, Api, ApiError, Unreachable
from cluster.kubeconfig import Access
from formats.certificates import Authority
from formats.derived_secret import derive
from tests.proof.authority_masters import AuthorityMasters
from tests.proof.etcd_machines import address
from tests.proof.token_masters import TokenMaster, asking

PODS = "/api/v1/namespaces/default/pods"
REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ROOT_CA = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"
AUTHORITIES = {each: Authority("kubernetes", derive("root", "kubernetes", "ca", each), each) for each in (1, 2)}
CERTIFICATES = {number: each.pair.public for number, each in AUTHORITIES.items()}
_FRONT_PROXIES = {
    each: Authority("front-proxy-ca", derive("root", "kubernetes", "front-proxy-ca", each), each) for each in (1, 2)
}
PROXY_CERTIFICATES = {number: each.pair.public for number, each in _FRONT_PROXIES.items()}
_CLIENTS = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


def root_ca(masters: AuthorityMasters) -> str:
    """The authorities that pods trust."""
    try:
        return str(masters.all[0].api().ask("GET", ROOT_CA)["data"]["ca.crt"])
    except (ApiError, Unreachable):
        return ""


def trusted_by_extensions(masters: AuthorityMasters) -> tuple[set[str], set[str]]:
    """The authorities of clients, and of front proxies, that API servers of extensions read."""
    found = masters.all[0].api().ask("GET", _CLIENTS)["data"]
    end = "-----END CERTIFICATE-----\n"
    clients, proxies = (
        {f"{each}{end}".strip() for each in found[key].split(end) if each.strip()}
        for key in ("client-ca-file", "requestheader-client-ca-file")
    )
    return clients, proxies


@dataclass
class Client:
    """A program that has read certificates at its start, and goes on with them."""

    name: str
    context: ssl.SSLContext
    headers: dict[str, str] = field(default_factory=dict[str, str])

    def ask(self, number: int, port: int = 6443) -> str:
        """Asks a master's API server who this is; returns what went wrong."""
        access = Access(address(number), port, "", self.context, headers=self.headers)
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        try:
            Api(access, timeout=30).ask("POST", REVIEW, body)
        except (ApiError, Unreachable) as error:
            return str(error)
        return ""


def holder(name: str, trusted: str, pem: str, directory: Path) -> Client:
    """A client with a certificate and its key."""
    file = directory / f"{name}.pem"
    file.write_text(pem, encoding="utf-8")
    context = ssl.create_default_context(cadata=trusted)
    context.load_cert_chain(file)
    return Client(name, context)


def operator(masters: AuthorityMasters, generations: dict[str, Any], directory: Path) -> Client:
    """A user of this host's kubeconfig, as a deployment exports it."""
    made, _, _, pki = masters.planned(masters.all[0], generations)
    text = asyncio.get_event_loop().run_until_complete(pki.kubeconfig(made.masters[0]).future())
    conf = yaml.safe_load(text or "")
    user = conf["users"][0]["user"]
    pem = "".join(decoded(user[f"client-{each}-data"]) for each in ("certificate", "key"))
    name = f"operator {generations or 'before'}"
    return holder(name, decoded(conf["clusters"][0]["cluster"]["certificate-authority-data"]), pem, directory)


def decoded(text: str) -> str:
    return base64.b64decode(text).decode()


def kubelet(machine: TokenMaster) -> Client:
    """A kubelet, with what it reads when it starts."""
    conf = yaml.safe_load((machine.root / "etc/kubernetes/kubelet.conf").read_text(encoding="utf-8"))
    context = ssl.create_default_context(cadata=decoded(conf["clusters"][0]["cluster"]["certificate-authority-data"]))
    context.load_cert_chain(machine.root / "var/lib/kubelet/pki/kubelet-client-current.pem")
    return Client(f"kubelet of {machine.name}", context)


def pod(masters: AuthorityMasters, name: str) -> Client:
    """Starts a pod: it reads the authorities now. Its token is renewed, so that it is not looked at."""
    api, now = masters.all[0].api(), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    source = {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
    spec = {
        "automountServiceAccountToken": False,
        "containers": [{"name": "program", "image": "program"}],
        "volumes": [{"name": "access", "projected": {"sources": [source]}}],
    }
    api.ask("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
    state = {"name": "program", "image": "program", "imageID": "", "ready": True, "restartCount": 0,
             "state": {"running": {"startedAt": now}}}  # fmt: skip
    api.ask("PATCH", f"{PODS}/{name}/status", {"status": {"containerStatuses": [state]}}, content=MERGE)
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 86400}}
    account = "/api/v1/namespaces/default/serviceaccounts/default/token"
    token = api.ask("POST", account, body)["status"]["token"]
    context = ssl.create_default_context(cadata=root_ca(masters))
    return Client(f"pod {name}", context, {"Authorization": f"Bearer {token}"})


@dataclass
class Requests:
    """Requests of clients that must be answered, to one API server after the other."""

    masters: AuthorityMasters
    clients: list[Client] = field(default_factory=list[Client])
    made: int = 0
    repeated: int = 0
    refused: list[str] = field(default_factory=list[str])

    def make(self, number: int) -> None:
        """Makes one of each client and each kubelet; repeats it once, at another API server, if it fails."""
        for client in (*self.clients, *self._kubelets()):
            self.made += 1
            if found := client.ask(number % 3 + 1):
                self.repeated += 1
                if again := client.ask((number + 1) % 3 + 1):
                    self.refused.append(f"{client.name}: {found} and {again}")

    def _kubelets(self) -> Iterator[Client]:
        """Yields the kubelets, which have read their files again if they were restarted."""
        for each in self.masters.machines:
            restarted = each.root / "restarted"
            if each.name not in self._running or restarted.exists():
                restarted.unlink(missing_ok=True)
                self._running[each.name] = kubelet(each)
            yield self._running[each.name]

    _running: dict[str, Client] = field(default_factory=dict[str, Client])


@contextmanager
def requests(masters: AuthorityMasters) -> Generator[Requests]:
    found = Requests(masters)
    with asking(found.make, found.refused):
        yield found


def forged(generation: int, directory: Path) -> Client:
    """Somebody with the key of an authority, who makes an administrator's certificate."""
    pair = AUTHORITIES[generation].client("forged", f"forged {generation}", "system:masters")
    return holder(f"forged {generation}", "".join(CERTIFICATES.values()), pair.public + pair.private, directory)


def forged_proxy(generation: int, directory: Path) -> Client:
    """Somebody with the key of a front proxy's authority, who says that a request is an administrator's."""
    pair = _FRONT_PROXIES[generation].client("front-proxy-client", f"forged proxy {generation}")
    trusted, name = "".join(CERTIFICATES.values()), f"forged proxy {generation}"
    client = holder(name, trusted, pair.public + pair.private, directory)
    client.headers = {"X-Remote-User": "administrator", "X-Remote-Group": "system:masters"}
    return client
