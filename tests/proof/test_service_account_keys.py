"""Keys of service accounts are replaced in three deployments, one real API server after the other, under requests."""

from __future__ import annotations

import base64
import json
import os
import signal
import ssl
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from blueprint.version_steps import problems
from cluster.api import MERGE, Api, ApiError, Unreachable
from cluster.kubeconfig import Access
from console.progress import Reporter
from tests.proof.etcd_machines import address, until
from tests.proof.token_masters import PODS, TokenMaster, TokenMasters, asking, token_masters
from toolchain import cluster_programs

pytestmark = pytest.mark.waits

BOTH, NEXT, ALONE = ({"uses": 1, "trusts": [1, 2]}, {"uses": 2, "trusts": [1, 2]}, {"uses": 2, "trusts": [2]})
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
SECRETS = "/api/v1/namespaces/default/secrets"
LONG_TOKEN = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "long"},
    "spec": {
        "automountServiceAccountToken": False,
        "containers": [{"name": "long", "image": "long"}],
        "volumes": [
            {
                "name": "token",
                "projected": {"sources": [{"serviceAccountToken": {"path": "token", "expirationSeconds": 7200}}]},
            }
        ],
    },
}
"""A pod whose token is valid for two hours."""
OLD_TOKEN = "old-token"  # noqa: S105 - the name of a Secret


@pytest.fixture(scope="module")
def masters(tmp_path_factory: pytest.TempPathFactory, binaries: Path) -> Generator[TokenMasters]:
    if os.geteuid() != 0:
        pytest.skip("kubeadm goes into another root directory")
    node = cluster_programs.ensure(Reporter(), cluster_programs.NODE)
    with token_masters(tmp_path_factory.mktemp("m"), binaries, node) as made:
        until(lambda: _has_account(made.all[0]))
        yield made


def _has_account(master: TokenMaster) -> bool:
    try:
        master.api().ask("GET", ACCOUNT)
    except (ApiError, Unreachable):
        return False
    return True


def token(master: TokenMaster) -> str:
    """A token that this master's API server signs now."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    return str(master.api().ask("POST", f"{ACCOUNT}/token", body)["status"]["token"])


def answer(master: TokenMaster, given: str) -> int:
    """The status with which a master's API server answers who has this token; 0 for no answer."""
    context = ssl.create_default_context(cafile=str(master.root / "etc/kubernetes/pki/ca.crt"))
    access = Access(address(master.number), 6443, "", context, headers={"Authorization": f"Bearer {given}"})
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        return Api(access, timeout=10).call("POST", REVIEW, body).status
    except Unreachable:
        return 0


def answers(masters: TokenMasters, given: str) -> list[int]:
    return [answer(each, given) for each in masters.all]


@dataclass
class Requests:
    """Requests of programs in pods, to one API server after the other, with tokens that must be valid."""

    tokens: list[str] = field(default_factory=list[str])
    """Tokens that are kept; each request also has one that was signed just before."""
    made: int = 0
    repeated: int = 0
    refused: list[str] = field(default_factory=list[str])

    def make(self, masters: TokenMasters, number: int) -> None:
        """Makes one; repeats it once, at another API server, if it fails."""
        ordered = [masters.all[(number + each) % 3] for each in range(3)]
        fresh = next((found for each in (*ordered, *ordered) if (found := _token(each))), "")
        assert fresh, "no API server signs a token"
        for given in (fresh, *self.tokens):
            self.made += 1
            found = answer(ordered[1], given)
            if found != 201:
                self.repeated += 1
                again = answer(ordered[2], given)
                if again != 201:
                    self.refused.append(f"{found} and {again} for {_key(given)}")


def _token(master: TokenMaster) -> str:
    try:
        return token(master)
    except (ApiError, Unreachable):
        return ""


def _key(given: str) -> str:
    return str(json.loads(base64.urlsafe_b64decode(given.split(".", maxsplit=1)[0] + "=="))["kid"])


@contextmanager
def requests(masters: TokenMasters) -> Generator[Requests]:
    found = Requests()
    with asking(lambda number: found.make(masters, number), found.refused):
        yield found


def stale(master: TokenMaster) -> str:
    """A token that the key on the master's disk has signed, of a program that does not read its token again."""
    now = int(time.time())
    account = master.api().ask("GET", ACCOUNT)
    key = serialization.load_pem_private_key((master.root / "etc/kubernetes/pki/sa.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    claims = {
        "aud": ["https://kubernetes.default.svc.cluster.local"],
        "iss": "https://kubernetes.default.svc.cluster.local",
        "sub": "system:serviceaccount:default:default",
        "iat": now - 7200, "nbf": now - 7200, "exp": now + 86400,
        "kubernetes.io": {
            "namespace": "default",
            "serviceaccount": {"name": "default", "uid": account["metadata"]["uid"]},
            "warnafter": now - 3600,
        },
    }  # fmt: skip
    head = {"alg": "ES256", "kid": _key(token(master))}
    signed = b".".join(_encoded(json.dumps(each).encode()) for each in (head, claims))
    numbers = utils.decode_dss_signature(key.sign(signed, ec.ECDSA(hashes.SHA256())))
    return b".".join((signed, _encoded(b"".join(each.to_bytes(32, "big") for each in numbers)))).decode()


def _encoded(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


def secret_token(master: TokenMaster) -> str:
    """The token of the Secret, as the controller manager has written it; "" for none yet."""
    found = master.api().ask("GET", f"{SECRETS}/{OLD_TOKEN}").get("data", {}).get("token", "")
    return base64.b64decode(found).decode()


def recorded(keys: dict[str, Any]) -> dict[str, str]:
    """What a deployment records of these generations."""
    trusts = "+".join(map(str, keys["trusts"]))
    return {"authority serviceAccounts": f"{keys['uses']} of {trusts}"}


def deploy(masters: TokenMasters, before: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Gives all masters other keys, one after the other, as `up` does."""
    assert problems(recorded(before) if before else {}, recorded(wanted), is_live=True) == []
    for each in masters.all:
        assert masters.deploy(each, wanted) == ""


def interrupt(masters: TokenMasters, master: TokenMaster, keys: dict[str, Any]) -> None:
    """Kills `apply` of a master while its API server restarts, and leaves the manifest as if it was being written."""
    manifest = master.root / "etc/kubernetes/manifests/kube-apiserver.yaml"
    before, before_key = manifest.read_text(encoding="utf-8"), _key(token(master))
    process = master.begin(masters.write(master, keys)[0].apply)
    until(lambda: (text := manifest.read_text(encoding="utf-8")) != before and text.endswith("\n"))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    until(lambda: (made := _token(master)) != "" and _key(made) != before_key)
    manifest.write_text("", encoding="utf-8")


def await_end_of_old(masters: TokenMasters) -> None:
    """Tries the third deployment until nothing is in its way."""
    first = masters.all[0]
    first.api().ask("POST", PODS.replace("kube-system", "default"), LONG_TOKEN)
    said = masters.deploy(first, ALONE)
    assert "and tokens are valid for 7200 s: wait" in said, said
    first.api().ask("DELETE", f"{PODS.replace('kube-system', 'default')}/long", {"gracePeriodSeconds": 0})
    said = masters.deploy(first, ALONE)
    assert "these Secrets have tokens that would not be accepted here any more: default/old-token." in said, said
    before = secret_token(first)
    assert before not in said
    first.api().ask("PATCH", f"{SECRETS}/{OLD_TOKEN}", {"data": {"token": None}}, content=MERGE)
    until(lambda: secret_token(first) not in {"", before})
    with use(masters, stale(first)):
        said = masters.deploy(first, ALONE)
    assert "had tokens that their programs should have read again long ago" in said, said


@pytest.fixture
def old(masters: TokenMasters) -> str:
    """A token of the first key. There is also a Secret with one."""
    first = masters.all[0]
    metadata = {"name": OLD_TOKEN, "annotations": {"kubernetes.io/service-account.name": "default"}}
    first.api().ask("POST", SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": metadata,
                                      "type": "kubernetes.io/service-account-token"})  # fmt: skip
    until(lambda: bool(secret_token(first)))
    return token(first)


def test_keys_are_replaced_and_no_valid_token_is_refused(masters: TokenMasters, old: str) -> None:
    first, second, _ = masters.all
    in_secret = secret_token(first)
    # A deployment that is left out is refused by `up`, and on the machine.
    assert problems({}, recorded(NEXT), is_live=True)
    assert "does not accept the key that would sign here" in masters.deploy(first, NEXT)
    with requests(masters) as made:
        made.tokens += [old, in_secret]
        deploy(masters, {}, BOTH)
        assert {_key(token(each)) for each in masters.all} == {_key(old)}

        # The second deployment stops half-way: nobody is refused, and the third does not begin.
        assert masters.deploy(first, NEXT) == ""
        new = token(first)
        assert _key(new) != _key(old)
        made.tokens.append(new)
        interrupt(masters, second, NEXT)
        assert problems(recorded(BOTH), recorded(ALONE), is_live=True)
        assert "still signs with a key that would not be accepted here" in masters.deploy(first, ALONE)
        deploy(masters, BOTH, NEXT)
        assert {_key(token(each)) for each in masters.all} == {_key(new)}
        assert answers(masters, old) == [201, 201, 201], "until the third deployment"

        made.tokens.remove(in_secret)
        await_end_of_old(masters)
        assert answers(masters, old) == [201, 201, 201], "no API server has restarted"
        made.tokens += [secret_token(first)]
        made.tokens.remove(old)  # kubelets and controllers have renewed theirs
        deploy(masters, NEXT, ALONE)
        assert answers(masters, old) == answers(masters, in_secret) == [401, 401, 401]
        assert answers(masters, new) == [201, 201, 201]
    print(f"{made.made} requests, {made.repeated} repeated once, {len(made.refused)} refused")
    assert made.refused == []
    assert made.made > 100
    assert _key(secret_token(first)) == _key(new)
    assert {shown(each, "kube-controller-manager") for each in masters.all} == {"g2"}
    assert {shown(each, "kube-apiserver") for each in masters.all} == {"g2-of-g2"}


def shown(master: TokenMaster, program: str) -> str:
    """The annotation of a static pod that says which keys it has read."""
    found = master.api().ask("GET", f"{PODS}/{program}-{master.name}")
    return str(found["metadata"]["annotations"]["quorate.io/service-account-keys"])


@contextmanager
def use(masters: TokenMasters, given: str) -> Generator[None]:
    """A program that goes on with its token."""
    failed: list[str] = []
    assert answer(masters.all[1], given) == 201
    with asking(lambda _number: answer(masters.all[1], given), failed):
        yield
    assert failed == []
