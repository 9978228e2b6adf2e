"""Masters and workers join, leave, die and are replaced on a running cluster, and no acknowledged write is lost.

Real machines with their own systemd, etcd, API servers and kubelets. One test, because every operation starts from the
cluster that the one before has left.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from console.errors import UserError
from contract import DEDICATED, POOL
from tests.trials.machines import by_hand
from tests.trials.machines.changing_lab import (
    MASTERS,
    PHYSICAL,
    WORKERS,
    Changing,
    Writer,
    changing_lab,
    etcdctl,
    start,
    until,
)
from tests.trials.machines.report_plugin import PROOF
from trials.cloud import nspawn
from trials.cloud.lab_machines import LabMachine

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

THREE, FOUR, FIVE = MASTERS[:3], MASTERS[:4], MASTERS[:5]
MOVED = ("master1", "master3", PHYSICAL)
PAUSE = "registry.k8s.io/pause"
CUT_OFF = "written-while-cut-off"
"""A key of etcd that no member may acknowledge."""


def test_members_come_and_go(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with changing_lab(tmp_path) as lab:
        with lab.timed("three masters and two workers, kubeadm init interrupted once", has_writes=False):
            start(lab, initialise_twice)
        writer = Writer(lab)
        with writer.writing():
            add_a_master_with_an_interruption(lab)
            add_a_fifth_with_a_power_cut(lab)
            replace_a_dead_master(lab, "master2")
            replace_a_dead_master(lab, "master1")
            remove_a_master(lab)
            remove_a_dead_master(lab)
            drain_and_remove_a_worker(lab)
            cut_a_master_off(lab, writer)
            two_masters_down(lab, writer)
            move_a_master_to_a_physical_server(lab)
            nothing_is_left_to_do(lab)
        found = writer.found()
        everything_leaves(lab)
        proofs = writer.proofs(found)
        for proof in proofs:
            record_property(PROOF, proof)
        assert [proof for proof in proofs if not proof.holds] == []
        assert writer.acknowledged() - found == set()
        assert len(writer.acknowledged()) > 100
    by_hand.require_nothing_left()


def initialise_twice(master: LabMachine) -> None:
    """`apply` of the first master is killed as soon as kubelet has its kubeconfig, and run again."""
    running = by_hand.begin(master)
    known = ["test", "-f", "/etc/kubernetes/kubelet.conf"]
    until("kubelet's kubeconfig", lambda: nspawn.run_in(master, known).returncode == 0)
    by_hand.kill(master, running)
    by_hand.apply(master)


def add_a_master_with_an_interruption(lab: Changing) -> None:
    """`apply` of the new master is killed after `member add`, and run again."""
    before = lab.processes(THREE)
    with lab.timed("a fourth master, interrupted once"):
        lab.render(FOUR)
        for name in THREE:
            by_hand.apply(lab.machine(name))
        running = applying_until_listed(lab, "extra1")
        by_hand.kill(lab.machine("extra1"), running)
        assert "extra1" not in lab.members()
        by_hand.apply(lab.machine("extra1"))
        for name in WORKERS:
            by_hand.apply(lab.machine(name))
    assert set(lab.members()) == set(FOUR)
    assert lab.processes(THREE) == before, "a member of etcd was restarted"
    until("the node", lambda: "extra1" in lab.nodes())


def add_a_fifth_with_a_power_cut(lab: Changing) -> None:
    """The new master loses its power after `member add`, and `apply` is run again when it is back."""
    before = lab.processes(FOUR)
    with lab.timed("a fifth master, without power once"):
        lab.render(FIVE)
        for name in FOUR:
            by_hand.apply(lab.machine(name))
        running = applying_until_listed(lab, "extra2")
        lab.cut_power("extra2")
        assert running.wait(20) != 0
        assert "extra2" not in lab.members()
        lab.power_on("extra2")
        for name in ("extra2", *WORKERS):
            by_hand.apply(lab.machine(name))
    assert set(lab.members()) == set(FIVE)
    assert lab.processes(FOUR) == before, "a member of etcd was restarted"
    until("the node", lambda: "extra2" in lab.nodes())


def applying_until_listed(lab: Changing, name: str) -> subprocess.Popen[bytes]:
    """Starts `apply` on a new master and returns it as soon as etcd lists the master's member."""
    machine = lab.machine(name)
    running = by_hand.begin(machine)
    until("member add", lambda: f"{machine.address}:2380" in etcdctl(lab.machine("master3"), "member", "list"))
    return running


def replace_a_dead_master(lab: Changing, name: str) -> None:
    """The machine comes back with its name and address, and without its disk."""
    old = lab.members()[name]
    lab.cut_power(name)
    time.sleep(10)
    with lab.timed(f"{name} replaced"):
        lab.repair(name)
        by_hand.apply(lab.machine(name))
    assert set(lab.members()) == set(FIVE)
    assert lab.members()[name] != old
    until("the node", lambda: name in lab.nodes())


def remove_a_master(lab: Changing) -> None:
    """The others first, as in `quorate up`; they leave the member alone, because it answers."""
    with lab.timed("from five masters to four"):
        lab.render(FOUR)
        lab.update(FOUR)
        assert set(lab.members()) == set(FIVE)
        print(by_hand.run(lab.machine("extra2"), "leave"))
    assert set(lab.members()) == set(FOUR)
    assert "extra2" not in lab.nodes()


def remove_a_dead_master(lab: Changing) -> None:
    """Its machine is gone, so that the first of the others removes it."""
    lab.cut_power("extra1")
    with lab.timed("from four masters to three, the fourth is dead"):
        lab.render(THREE)
        lab.update(THREE)
    assert set(lab.members()) == set(THREE)
    assert "extra1" not in lab.kubectl("get", "nodes")


def drain_and_remove_a_worker(lab: Changing) -> None:
    """A budget admits the eviction of one pod at a time."""
    lab.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(_guarded(_pause_image(lab))))
    until("two pods", lambda: "2/2" in lab.kubectl("get", "deployment", "guarded"))
    leaving = WORKERS[1]
    with lab.timed("a worker drained and removed"):
        print(by_hand.run(lab.machine(leaving), "leave"))
    assert leaving not in lab.kubectl("get", "nodes")
    assert by_hand.run(lab.machine(leaving), "leave").endswith("nothing to leave")
    done = nspawn.run_in(lab.machine(leaving), ["sh", "-c", "ls /etc/kubernetes/*.conf /var/lib/kubelet/config.yaml"])
    assert "No such file" in done.stderr
    with lab.timed("the worker added again"):
        by_hand.deliver(lab.machine(leaving))
        by_hand.apply(lab.machine(leaving))
    until("the node", lambda: leaving in lab.nodes())


def cut_a_master_off(lab: Changing, writer: Writer) -> None:
    """Without a majority its member of etcd reads what it has and acknowledges nothing. It rejoins by itself."""
    before = lab.processes(THREE)
    alone = lab.machine("master2")
    with lab.timed("a master cut off from the network"):
        with lab.cut_off(alone.name):
            time.sleep(10)  # longer than an election
            acknowledged = len(writer.acknowledged())
            assert "/registry/" in etcdctl(alone, "get", "--consistency=s", "--prefix", "--keys-only", "/registry/name")
            with pytest.raises(UserError):
                etcdctl(alone, "put", CUT_OFF, "")
            until("ten writes", lambda: len(writer.acknowledged()) >= acknowledged + 10)
        until("a whole quorum", lambda: bool(etcdctl(alone, "endpoint", "status", "--cluster")))
        until("the node", lambda: len(lab.nodes()) == 5, 300)
    assert etcdctl(alone, "get", CUT_OFF) == ""
    assert lab.processes(THREE) == before, "a member of etcd was restarted"


def two_masters_down(lab: Changing, writer: Writer) -> None:
    """The cluster goes on as soon as one of the two is back."""
    with lab.timed("two of three masters without power, apply refuses meanwhile"):
        for name in ("master2", "master3"):
            lab.cut_power(name)
        time.sleep(5)
        said = by_hand.run(lab.machine("master1"), "apply", code=1)
        assert "etcd has no majority: no member answers of" in said, said
        for name in ("master2", "master3"):
            lab.power_on(name)
        before = writer.acknowledged()
        until("a majority", lambda: len(lab.members()) == 3 and len(lab.nodes()) >= 5, 300)
        # The client may still wait for the answer to an attempt that it made before.
        until("a write is acknowledged", lambda: writer.acknowledged() > before)


def move_a_master_to_a_physical_server(lab: Changing) -> None:
    """One update of the stack file: the server joins as a fourth member, then the virtual machine leaves."""
    before = lab.processes(("master1", "master3"))
    with lab.timed("a master moved from a virtual machine to a physical server"):
        lab.render(MOVED)
        lab.update(MOVED)
        assert set(lab.members()) == {*THREE, PHYSICAL}
        print(by_hand.run(lab.machine("master2"), "leave"))
    assert set(lab.members()) == set(MOVED)
    assert lab.processes(("master1", "master3")) == before, "a member of etcd was restarted"
    assert "master2" not in lab.nodes()
    until("the node", lambda: PHYSICAL in lab.nodes())


def nothing_is_left_to_do(lab: Changing) -> None:
    for name in (*MOVED, *WORKERS):
        assert by_hand.apply(lab.machine(name)).endswith("nothing to change"), name


def everything_leaves(lab: Changing) -> None:
    """Workers, then masters in reverse order, after all objects, as in `quorate destroy`."""
    lab.kubectl("delete", "deployment,poddisruptionbudget", "guarded")
    with lab.timed("all machines leave", has_writes=False):
        said = [by_hand.run(lab.machine(name), "leave") for name in (*reversed(WORKERS), *reversed(MOVED))]
    assert "this is etcd's last member" in said[-1], said[-1]
    assert "Deleted contents of the etcd data directory" not in "".join(said)
    copies = nspawn.run_in(lab.machine("master1"), ["ls", "/var/lib/etcd-backup"]).stdout.split()
    assert copies


def _pause_image(lab: Changing) -> str:
    shown = nspawn.run_in(lab.machine(WORKERS[1]), ["grep", "-o", f'{PAUSE}[^"]*', "/etc/containerd/config.toml"])
    return shown.stdout.split()[0]


def _guarded(image: str) -> list[dict[str, object]]:
    labels = {"app": "guarded"}
    pod = {
        "terminationGracePeriodSeconds": 1,
        "nodeSelector": {POOL: "rabbitmq"},
        "tolerations": [{"key": DEDICATED, "operator": "Exists"}],
        "containers": [{"name": "pause", "image": image, "imagePullPolicy": "Never"}],
    }
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "guarded"},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "guarded"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
        },
    ]
