"""Another authority for Kubernetes on real kubelets, in three deployments, while a client writes.

`up` is left out: each machine's rendered `apply` runs in the order of `up`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from console.errors import UserError
from tests.trials.machines import by_hand
from tests.trials.machines.changing_lab import (
    ADMINISTRATOR,
    MASTERS,
    WORKERS,
    Changing,
    Writer,
    changing_lab,
    make_client,
    start,
    until,
)
from tests.trials.machines.report_plugin import PROOF
from trials.cloud import masters, nspawn

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

THREE = MASTERS[:3]
BOTH, NEXT, ALONE = ({"uses": 1, "trusts": [1, 2]}, {"uses": 2, "trusts": [1, 2]}, {"uses": 2, "trusts": [2]})
SHOWN = "jsonpath={range .items[*]}{.metadata.annotations.quorate\\.io/kubernetes-authority} {end}"
OLD = "/root/old.conf"
"""A kubeconfig with a certificate of the first authority, which trusts both."""
PODS = ["--namespace=kube-system", "daemonset/kube-proxy", "daemonset/node-dns", "deployment/coredns"]
"""What has an account and reads the authority once."""
READ = 300.0
"""Seconds until pods may be restarted, and the masters' question about them is answered. docs/masters.md says 150."""


def test_the_authority_of_kubernetes_is_replaced(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with changing_lab(tmp_path) as lab:
        with lab.timed("three masters and two workers", has_writes=False):
            start(lab, by_hand.apply)
        writer = Writer(lab)
        with writer.writing():
            until("twenty writes", lambda: len(writer.acknowledged()) > 20)
            with lab.timed("both authorities of Kubernetes are trusted"):
                deploy(lab, BOTH)
            make_client(lab.lab)
            nspawn.run_in(lab.machine(WORKERS[0]), ["cp", ADMINISTRATOR, OLD])
            pods_read_it(lab)
            with lab.timed("the new authority signs, by an apply that was killed and one that went on"):
                until("the first master goes further", lambda: goes_further(lab), READ)
                is_killed(lab, THREE[1])
                lab.update(THREE)
            make_client(lab.lab)
            with lab.timed("only the new authority is trusted"):
                deploy(lab, ALONE)
            known = len(writer.acknowledged())
            until("twenty more writes", lambda: len(writer.acknowledged()) > known + 20)
        assert lab.nodes() == {*THREE, *WORKERS}
        assert set(shown(lab, "nodes")) == {"g2-of-g2"}
        assert "Unauthorized" in old_credentials(lab)
        found = writer.found()
        refused = [reason for _, _, reason in writer.tried if reason]
        print(f"{len(writer.acknowledged())} of {len(writer.tried)} acknowledged; not: {refused}")
        assert writer.acknowledged() - found == set()
        for proof in writer.proofs(found):
            record_property(PROOF, proof)
    by_hand.require_nothing_left()


def render(lab: Changing, generations: Mapping[str, object]) -> None:
    lab.certificates = {"kubernetes": generations}
    lab.render(THREE)


def deploy(lab: Changing, generations: Mapping[str, object]) -> None:
    """Gives all machines these generations, one master after the other, then the workers, as `up` does."""
    render(lab, generations)
    lab.update(THREE)
    until("the nodes are Ready", lambda: lab.nodes() == {*THREE, *WORKERS})


def pods_read_it(lab: Changing) -> None:
    """The second deployment is refused until the pods with accounts have restarted."""
    render(lab, NEXT)
    with pytest.raises(UserError, match="kube-system:DaemonSet/kube-proxy"):
        by_hand.apply(lab.machine(THREE[0]))
    assert set(shown(lab, "nodes")) == {"g1-of-g1-g2"}
    time.sleep(150)  # until kubelets have given both authorities to pods that start
    lab.kubectl("rollout", "restart", *PODS)


def goes_further(lab: Changing) -> bool:
    """Whether the second deployment is admitted on the first master. Raises UserError if it is not."""
    by_hand.apply(lab.machine(THREE[0]))
    return True


def is_killed(lab: Changing, name: str) -> None:
    """Kills a master's `apply` as soon as kubeadm has renewed a certificate."""
    before = serial(lab, name)
    running = by_hand.begin(lab.machine(name))
    until("a certificate is renewed", lambda: serial(lab, name) != before)
    by_hand.kill(lab.machine(name), running)


def serial(lab: Changing, name: str) -> str:
    show = ["openssl", "x509", "-noout", "-serial", "-in", "/etc/kubernetes/pki/apiserver.crt"]
    return masters.output(lab.machine(name), show)


def shown(lab: Changing, kind: str) -> list[str]:
    """The annotations of all objects of a kind."""
    return lab.kubectl("get", kind, f"--output={SHOWN}").split()


def old_credentials(lab: Changing) -> str:
    """What the API server says to a certificate of the first authority."""
    ask = ["kubectl", f"--kubeconfig={OLD}", "--request-timeout=20s", "get", "nodes"]
    return nspawn.run_in(lab.machine(WORKERS[0]), ask).stderr
