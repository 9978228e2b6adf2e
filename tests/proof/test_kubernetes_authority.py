"""Kubernetes' authority is replaced in three deployments of real masters and a node, under requests of all clients."""

from __future__ import annotations

import os
import signal
import ssl
import time
from collections.abc import Generator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from blueprint.version_steps import problems
from cluster.api import Api
from cluster.kubeconfig import Access
from console.progress import Reporter
from tests.proof.authority_clients import (
    CERTIFICATES,
    PODS,
    PROXY_CERTIFICATES,
    Client,
    Requests,
    decoded,
    forged,
    forged_proxy,
    kubelet,
    operator,
    pod,
    requests,
    root_ca,
    trusted_by_extensions,
)
from tests.proof.authority_masters import AuthorityMasters, authority_masters
from tests.proof.etcd_machines import address, until
from tests.proof.token_masters import SPREADS, TokenMaster
from toolchain import cluster_programs

pytestmark = pytest.mark.waits

BOTH, NEXT, ALONE = ({"uses": 1, "trusts": [1, 2]}, {"uses": 2, "trusts": [1, 2]}, {"uses": 2, "trusts": [2]})
REFUSED = 2
"""Seconds after which an API server that does not accept an authority yet has refused it."""


@pytest.fixture(scope="module")
def masters(tmp_path_factory: pytest.TempPathFactory, binaries: Path) -> Generator[AuthorityMasters]:
    if os.geteuid() != 0:
        pytest.skip("kubeadm goes into another root directory")
    node = cluster_programs.ensure(Reporter(), cluster_programs.NODE)
    with authority_masters(tmp_path_factory.mktemp("m"), binaries, node) as made:
        for each in made.machines:
            body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": made.name(each)}}
            made.all[0].api().ask("POST", "/api/v1/nodes", body)
        until(lambda: bool(root_ca(made)), 300)
        yield made


def recorded(given: dict[str, Any]) -> dict[str, str]:
    """What a deployment records of these generations."""
    return {"authority kubernetes": f"{given['uses']} of {'+'.join(map(str, given['trusts']))}"}


def deploy(masters: AuthorityMasters, before: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Gives all masters another authority, one after the other, then the node, as `up` does."""
    assert problems(recorded(before) if before else {}, recorded(wanted), is_live=True) == []
    for each in masters.machines:
        assert masters.deploy(each, wanted) == ""


def interrupt(masters: AuthorityMasters, master: TokenMaster, given: dict[str, Any]) -> None:
    """Kills `apply` of a master as soon as kubeadm has renewed its first certificates."""
    file = master.root / "etc/kubernetes/pki/apiserver.crt"
    before = file.read_bytes()
    process = masters.begin(master, given, "use-authority")
    until(lambda: file.read_bytes() != before)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert (master.root / "etc/kubernetes/authority").read_text(encoding="utf-8") == "", "it has begun"


def metrics(client: Client, number: int, port: int) -> int:
    """The status with which a program of a master answers a client that asks for its metrics."""
    context = client.context
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return Api(Access(address(number), port, "", context, headers={}), timeout=30).call("GET", "/metrics").status


def shown(masters: AuthorityMasters) -> set[str]:
    """The annotations of all nodes and programs of masters."""
    api = masters.all[0].api()
    pods = api.ask("GET", "/api/v1/namespaces/kube-system/pods?labelSelector=tier%3Dcontrol-plane")["items"]
    found = [*pods, *api.ask("GET", "/api/v1/nodes")["items"]]
    assert len(found) == 9 + 4
    return {each["metadata"].get("annotations", {}).get("quorate.io/kubernetes-authority", "") for each in found}


def texts(certificates: Mapping[int, str]) -> set[str]:
    return {each.strip() for each in certificates.values()}


def both_are_trusted(masters: AuthorityMasters, made: Requests, directory: Path) -> None:
    """The first deployment. It stops before the node, and pods have not read the new authority."""
    first, node = masters.all[0], masters.name(masters.node)
    old = pod(masters, "old")
    made.clients += [operator(masters, {}, directory), old]
    for each in masters.all:
        assert masters.deploy(each, BOTH) == ""
    said = masters.question(first, NEXT)
    assert f"Node {node} does not trust g2 yet." in said, said
    deploy(masters, {}, BOTH)
    assert shown(masters) == {"g1-of-g1-g2"}
    assert trusted_by_extensions(masters) == tuple(map(texts, (CERTIFICATES, PROXY_CERTIFICATES)))
    until(lambda: root_ca(masters) == CERTIFICATES[1] + CERTIFICATES[2], 300)
    time.sleep(SPREADS + 2)
    said = masters.question(first, NEXT)
    assert "these pods have read the authorities before the new one was among them" in said, said
    assert "default:Pod/old." in said, said
    made.clients.remove(old)
    first.api().ask("DELETE", f"{PODS}/old", {"gracePeriodSeconds": 0})
    made.clients += [operator(masters, BOTH, directory), pod(masters, "new")]
    made.clients.pop(0)  # this host's kubeconfig of before, which trusts one authority


def the_new_one_signs(masters: AuthorityMasters, made: Requests, directory: Path) -> None:
    """The second deployment. It stops half-way: no client is refused, and the third does not begin."""
    first, second, _ = masters.all
    assert masters.deploy(first, NEXT) == ""
    interrupt(masters, second, NEXT)
    made.clients.append(operator(masters, NEXT, directory))
    assert problems(recorded(BOTH), recorded(ALONE), is_live=True)
    assert "shows a certificate of one that would not be trusted here any more" in masters.question(
        first, ALONE, REFUSED
    )
    for each in masters.all:
        assert masters.deploy(each, NEXT) == ""
    said = masters.question(first, ALONE)
    assert f"Node {masters.name(masters.node)} still uses g1." in said, said
    deploy(masters, BOTH, NEXT)
    assert shown(masters) == {"g2-of-g1-g2"}
    assert root_ca(masters) == CERTIFICATES[1] + CERTIFICATES[2]
    for make in (forged, forged_proxy):
        assert [make(1, directory).ask(each) for each in (1, 2, 3)] == [""] * 3, "until the third deployment"
    for each in masters.all:
        client = (each.root / "etc/kubernetes/pki/front-proxy-client.crt").read_bytes()
        x509.load_pem_x509_certificate(client).verify_directly_issued_by(
            x509.load_pem_x509_certificate(PROXY_CERTIFICATES[2].encode())
        )
    made.clients[:] = [each for each in made.clients if each.name != f"operator {BOTH}"]


def the_old_key_is_worth_nothing(masters: AuthorityMasters, directory: Path) -> None:
    thief, other = forged(1, directory), forged(2, directory)
    for number in (1, 2, 3):
        for make in (forged, forged_proxy):
            assert "401" in make(1, directory).ask(number)
            assert make(2, directory).ask(number) == ""
        for port in (6443, 10257, 10259):
            until(lambda number=number, port=port: metrics(thief, number, port) == 401)
            assert metrics(other, number, port) == 200
    only = ({2: each[2]} for each in (CERTIFICATES, PROXY_CERTIFICATES))
    assert trusted_by_extensions(masters) == tuple(map(texts, only))
    info = masters.all[0].api().ask("GET", "/api/v1/namespaces/kube-public/configmaps/cluster-info")
    cluster = yaml.safe_load(info["data"]["kubeconfig"])["clusters"][0]["cluster"]
    assert decoded(cluster["certificate-authority-data"]) == CERTIFICATES[2]


def a_node_that_was_off_comes_back(masters: AuthorityMasters, files: dict[Path, bytes]) -> None:
    """Its Node was deleted, so that it did not stop the deployments. `files`: those of before the first."""
    api, name = masters.all[0].api(), masters.name(masters.node)
    api.ask("DELETE", f"/api/v1/nodes/{name}", {})
    for file, content in files.items():
        file.unlink()
        file.write_bytes(content)
    assert kubelet(masters.node).ask(1) != ""
    api.ask(
        "POST",
        "/api/v1/nodes",
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}},
    )
    assert masters.deploy(masters.node, ALONE) == ""
    assert kubelet(masters.node).ask(1) == ""


def test_the_authority_is_replaced_and_no_client_is_refused(masters: AuthorityMasters, tmp_path: Path) -> None:
    assert root_ca(masters) == CERTIFICATES[1]
    for each in masters.machines:
        assert masters.deploy(each, {}) == ""
        assert not (each.root / "restarted").exists(), "the first authority alone changes nothing"
    directory = masters.node.root / "etc/kubernetes"
    pem = masters.node.root / "var/lib/kubelet/pki/kubelet-client-current.pem"
    kept = {file: file.read_bytes() for file in (directory / "kubelet.conf", directory / "pki/ca.crt", pem)}
    # A deployment that is left out is refused by `up`, and on the machine.
    assert problems({}, recorded(NEXT), is_live=True)
    assert "does not accept the authority that would be used here" in masters.question(masters.all[0], NEXT, REFUSED)
    with requests(masters) as made:
        begun = [time.monotonic()]
        both_are_trusted(masters, made, tmp_path)
        begun.append(time.monotonic())
        the_new_one_signs(masters, made, tmp_path)
        begun.append(time.monotonic())
        deploy(masters, NEXT, ALONE)
        begun.append(time.monotonic())
        assert shown(masters) == {"g2-of-g2"}
        until(lambda: root_ca(masters) == CERTIFICATES[2], 300)
    spent = ", ".join(f"{end - start:.0f} s" for start, end in pairwise(begun))
    print(f"{spent}; {made.made} requests, {made.repeated} repeated once, {len(made.refused)} refused")
    assert made.refused == []
    assert made.made > 100
    the_old_key_is_worth_nothing(masters, tmp_path)
    a_node_that_was_off_comes_back(masters, kept)
