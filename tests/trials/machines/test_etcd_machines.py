"""etcd on machines of its own: members and masters die and come back, and no acknowledged write is lost.

One test, because every operation starts from the cluster that the one before has left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from console.errors import UserError
from tests.trials.machines import by_hand
from tests.trials.machines.changing_lab import WORKERS, Changing, Writer, etcdctl, make_client, until
from tests.trials.machines.etcd_stack import MEMBERS, etcd_lab, etcd_plan
from tests.trials.machines.report_plugin import PROOF
from trials.cloud import masters

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

MASTERS = ("master1", "master2")
MACHINES = (*MEMBERS, *MASTERS, WORKERS[0])


def test_etcd_on_machines_of_its_own(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with etcd_lab(tmp_path, etcd_plan(tmp_path, masters=len(MASTERS)), MACHINES) as lab:
        with lab.timed("three machines of etcd, two masters and a worker", has_writes=False):
            by_hand.set_up(lab.lab)
            by_hand.await_nodes(lab.lab)
            make_client(lab.lab)
        assert lab.nodes() == {*MASTERS, WORKERS[0]}
        assert set(lab.members("etcd1")) == set(MEMBERS)
        writer = Writer(lab)
        with writer.writing():
            a_member_has_no_power(lab, writer)
            a_member_has_lost_its_disk(lab)
            a_master_has_no_power(lab, writer)
            a_master_leaves_and_joins_again(lab)
            for name in MACHINES:
                assert by_hand.apply(lab.machine(name)).endswith("nothing to change"), name
        found = writer.found()
        everything_leaves(lab)
        proofs = writer.proofs(found)
        for proof in proofs:
            record_property(PROOF, replace(proof, name=proof.name.replace("Members:", "Machines of etcd:")))
        assert [proof for proof in proofs if not proof.holds] == []
        assert writer.acknowledged() - found == set()
        assert len(writer.acknowledged()) > 50
    by_hand.require_nothing_left()


def a_member_has_no_power(lab: Changing, writer: Writer) -> None:
    with lab.timed("a machine of etcd without power"):
        lab.cut_power("etcd2")
        acknowledged = len(writer.acknowledged())
        until("ten writes with two members", lambda: len(writer.acknowledged()) >= acknowledged + 10)
        lab.power_on("etcd2")
        until("three members", lambda: len(masters.healthy_members(lab.lab)) == 3)


def a_member_has_lost_its_disk(lab: Changing) -> None:
    old = lab.members("etcd1")["etcd3"]
    others = lab.processes(("etcd1", "etcd2"))
    lab.cut_power("etcd3")
    with lab.timed("a machine of etcd replaced"):
        lab.repair("etcd3")
        by_hand.apply(lab.machine("etcd3"))
    assert set(lab.members("etcd1")) == set(MEMBERS)
    assert lab.members("etcd1")["etcd3"] != old
    assert lab.processes(("etcd1", "etcd2")) == others, "a member of etcd was restarted"


def a_master_has_no_power(lab: Changing, writer: Writer) -> None:
    """The worker's proxy goes on with the other API server."""
    others = lab.processes(MEMBERS)
    with lab.timed("a master beside machines of etcd without power"):
        lab.cut_power("master1")
        acknowledged = len(writer.acknowledged())
        until("ten writes with one master", lambda: len(writer.acknowledged()) >= acknowledged + 10)
        lab.power_on("master1")
        until("the node", lambda: "master1" in lab.nodes(), 300)
    assert lab.processes(MEMBERS) == others, "a member of etcd was restarted"


def a_master_leaves_and_joins_again(lab: Changing) -> None:
    """No member of etcd changes with it."""
    before = lab.members("etcd1")
    with lab.timed("a master beside machines of etcd leaves and joins again"):
        by_hand.run(lab.machine("master2"), "leave")
        assert "master2" not in lab.kubectl("get", "nodes")
        by_hand.deliver(lab.machine("master2"))
        by_hand.apply(lab.machine("master2"))
        until("the node", lambda: "master2" in lab.nodes(), 300)
    assert lab.members("etcd1") == before


def everything_leaves(lab: Changing) -> None:
    """Workers, masters, then machines of etcd, as in `quorate destroy`."""
    with lab.timed("all machines of a stack with machines of etcd leave", has_writes=False):
        said = [by_hand.run(lab.machine(name), "leave") for name in reversed(MACHINES)]
    assert "this is etcd's last member" in said[-1], said[-1]
    with pytest.raises(UserError):
        etcdctl(lab.machine("etcd1"), "member", "list")
