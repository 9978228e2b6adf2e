"""etcd moves to machines of its own by the steps of docs/operations.md, and no acknowledged write is lost."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.trials.machines import by_hand
from tests.trials.machines.changing_lab import WORKERS, Changing, Writer, make_client, until, write_directory
from tests.trials.machines.etcd_stack import MEMBERS, etcd_lab, etcd_plan
from tests.trials.machines.report_plugin import PROOF
from trials.cloud import masters, nspawn
from trials.cloud.lab_machines import Lab

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

MASTERS = ("master1", "master2", "master3")
WORKER = WORKERS[0]
MACHINES = (*MEMBERS, *MASTERS, WORKER)
READY = 300.0
"""Seconds until all members and nodes must be ready."""
MANIFEST = "/etc/kubernetes/manifests/kube-apiserver.yaml"
BACKUPS = "/var/lib/etcd-backup"


def test_etcd_moves(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    moved = etcd_plan(tmp_path, masters=len(MASTERS))
    with etcd_lab(tmp_path, moved, MACHINES) as lab:
        before = _before(lab)
        with lab.timed("three masters with members of etcd and a worker", has_writes=False):
            by_hand.set_up(before)
            by_hand.await_nodes(before)
            make_client(lab.lab)
        assert set(lab.members("master1")) == set(MASTERS)
        writer = Writer(lab)
        with writer.writing():
            until("twenty writes", lambda: len(writer.acknowledged()) > 20)
            with lab.timed("etcd moved from three masters to three machines of its own"):
                _move(lab)
                for name in MACHINES:
                    write_directory(moved, name, tmp_path / "tree")
                    by_hand.deliver(lab.machine(name))
                with ThreadPoolExecutor() as pool:  # each waits for a majority: `up` starts them together too
                    list(pool.map(by_hand.apply, map(lab.machine, MEMBERS)))
                for name in (*MASTERS, WORKER):
                    by_hand.apply(lab.machine(name))
                for name in MASTERS:
                    _run(lab, name, "systemctl restart kubelet")
                until("three members", lambda: len(masters.healthy_members(lab.lab)) == len(MEMBERS), READY)
                until("the nodes", lambda: lab.nodes() == {*MASTERS, WORKER}, READY)
            known = len(writer.acknowledged())
            until("twenty more writes", lambda: len(writer.acknowledged()) > known + 20)
        found = writer.found()
        assert writer.acknowledged() - found == set()
        assert set(lab.members("etcd1")) == set(MEMBERS)
        for name in MACHINES:
            assert by_hand.apply(lab.machine(name)).endswith("nothing to change"), name
        for proof in writer.proofs(found):
            record_property(PROOF, proof)
    by_hand.require_nothing_left()


def _before(lab: Changing) -> Lab:
    """Returns the lab before the move, and writes the directories of its machines: masters have the members of etcd."""
    planned = etcd_plan(lab.directory, masters=len(MASTERS), has_machines=False)
    machines = [replace(lab.machine(name), has_member=name in MASTERS) for name in (*MASTERS, WORKER)]
    for machine in machines:
        write_directory(planned, machine.name, lab.directory / "tree")
    return replace(lab.lab, machines=tuple(machines))


def _move(lab: Changing) -> None:
    """Does what an operator does before the stack file is changed."""
    endpoints = ",".join(f"https://{lab.machine(name).address}:2379" for name in MEMBERS)
    old = f"[k]ube-apiserver.*{lab.machine('master1').address}:2379"
    for name in MASTERS:
        _run(lab, name, f"sed -i 's|--etcd-servers=.*|--etcd-servers={endpoints}|' {MANIFEST}")
    for name in MASTERS:
        _run(lab, name, f"while pgrep --full -- '{old}' >/dev/null; do sleep 1; done")
    _run(lab, "master1", "systemctl start etcd-backup")
    copy = _run(lab, "master1", f"ls {BACKUPS}/*.db | tail -1").strip()
    content = _run(lab, "master1", f"base64 {copy}")
    for name in MASTERS:
        timers = "etcd-backup.timer etcd-backup-test.timer etcd-defragmentation.timer"
        _run(lab, name, f"systemctl disable --now etcd {timers}")
    cluster = ",".join(f"{name}=https://{lab.machine(name).address}:2380" for name in MEMBERS)
    for name in MEMBERS:
        nspawn.run_in(lab.machine(name), ["sh", "-c", "base64 -d >/root/moved.db"], stdin=content)
        _run(
            lab,
            name,
            f"etcdutl snapshot restore /root/moved.db --data-dir=/var/lib/etcd --name={name}"
            f" --initial-cluster={cluster} --initial-advertise-peer-urls=https://{lab.machine(name).address}:2380"
            " --initial-cluster-token=quorate --bump-revision=1000000000 --mark-compacted",
        )


def _run(lab: Changing, name: str, command: str) -> str:
    return masters.output(lab.machine(name), ["sh", "-c", command])
