"""etcd on machines of its own: members and masters die and come back, and no acknowledged write is lost.

One test, because every operation starts from the cluster that the one before has left.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from console.errors import UserError
from console.progress import Reporter
from tests.stacks import STACKS
from tests.trials.machines import by_hand
from tests.trials.machines.changing_lab import WORKERS, Changing, Writer, etcdctl, make_client, until, write_directory
from tests.trials.machines.report_plugin import PROOF
from trials.cloud import bring_up, host, masters
from trials.cloud.lab_machines import lab_of

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

LAB = f"etcd{by_hand.OF_A_TEST}"
MEMBERS = ("etcd1", "etcd2", "etcd3")
MASTERS = ("master1", "master2")
MACHINES = (*MEMBERS, *MASTERS, WORKERS[0])


def test_etcd_on_machines_of_its_own(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with etcd_lab(tmp_path) as lab:
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


@contextmanager
def etcd_lab(work: Path) -> Generator[Changing]:
    """Starts the machines, and removes them at the end.

    Skips the test if another lab is on this host, or if the host lacks something.
    """
    by_hand.skip_beside_another_lab()
    with host.alone():
        planned = _plan(work)
        tree = work / "tree"
        for name in MACHINES:
            write_directory(planned, name, tree)
        whole = lab_of(LAB, planned, tree)
        machines = tuple(replace(each, has_disk=False) for each in whole.machines if each.name in MACHINES)
        lab = replace(whole, machines=machines)
        by_hand.skip_unless_able(lab)
        bring_up.take_down()
        try:
            bring_up.bring_up(lab, [], Reporter())
            yield Changing(lab, work)
        finally:
            bring_up.take_down()


def _plan(work: Path) -> Plan:
    """Returns the plan of the stack "dev" with a machine of etcd on each virt host, and two masters."""
    document: dict[str, Any] = yaml.safe_load(STACKS["dev"].read_text(encoding="utf-8"))
    (server,) = document["config"]["quorate:servers"]
    master, *others = server["vms"]
    etcd: dict[str, Any] = {
        "id": 4,
        "name": "etcd[1-3]",
        "cpu": 2,
        "ram": 4,
        "address": "10.20.0.61",
        "roles": ["etcd"],
    }
    servers: list[dict[str, Any]] = [
        server | {"name": f"virt{number}", "address": f"10.20.0.{10 + number}", "rack": f"lab{number}", "vms": []}
        for number in (1, 2, 3)
    ]
    for number, each in enumerate(servers, start=1):
        vms = [*others, etcd, *([master] if number < 3 else [])]
        each["vms"] = [
            vm | {"name": vm["name"].replace("[1-3]", str(number)), "address": _address(vm["address"], number)}
            for vm in vms
        ]
    document["config"] |= {"quorate:servers": servers, "quorate:cni": "none"}
    path = work / "Pulumi.etcd.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return plan(load_file(path))


def _address(first: str, number: int) -> str:
    network, _, last = first.rpartition(".")
    return f"{network}.{int(last) + number - 1}"
