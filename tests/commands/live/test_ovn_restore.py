"""`quorate restore ovn-nb` and `ovn-sb` after two of three members were lost: what it shows, does and refuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from blueprint.stackfile.settings import Networks, PhysicalNetwork
from cluster.api import Unreachable
from cluster.kubeconfig import Access
from cluster.objects import Object
from cluster.pod_exec import CommandOutput, PodContainer
from commands import stack
from commands.live import restore_command
from commands.live.restore_request import RestoreRequest
from console.errors import UserError
from operations.live_cluster import LiveCluster
from operations.living.quorum import LivingMember, LivingQuorum
from operations.restoration.survivor_programs import PROGRAMS
from tests.operations.restoration.lost_majority import LostGalera, use_lost
from tests.stacks import ROOT, STACKS

OVN = load_file(STACKS["dev"]).model_copy(
    update={"networks": Networks(backend="ovn", physical={"physnet1": PhysicalNetwork(interface="eth0")})}
)
CLUSTER = "0b0b0b0b-0000-4000-8000-000000000001"


class LostOvn(LostGalera):
    """The cloud of the stack `dev` with OVN. `die` switches a member's machine off."""

    def __init__(self) -> None:
        super().__init__(plan(OVN))
        self.alone: set[str] = set()
        """The members that are a cluster alone."""
        for member in (f"{database}-{each}" for database in ("ovn-nb", "ovn-sb") for each in range(3)):
            container = f"{member[:6]}-db-server"
            self.pods[member]["status"]["containerStatuses"] = [{"name": container, "state": {"running": {}}}]

    def run_program(self, _access: Access, place: PodContainer, command: Sequence[str], _s: float) -> CommandOutput:
        if place.pod in self.off:
            raise Unreachable("dial tcp: i/o timeout")
        assert tuple(command[:-1]) == PROGRAMS[place.pod[:6]].command
        if command[-1] == "look":
            return CommandOutput(json.dumps(self.member(place.pod)), "", 0)
        if self.refuses:
            return CommandOutput("", self.refuses, 1)
        self.changed(f"go on {place.pod}")
        if self.comes_back:
            self.alone.add(place.pod)
        return CommandOutput("", "", 0)

    def member(self, name: str) -> Object:
        """What a member tells of itself."""
        all_members = [f"{name[:6]}-{each}" for each in range(3)]
        here = [each for each in all_members if each not in self.off]
        leader = "self" if name in self.alone else "unknown" if len(here) == 1 else "aaaa"
        said = {
            "state": "cluster member",
            "leader": leader,
            "cluster": CLUSTER,
            "server": "cccc",
            "index": 13,
            "term": 3,
        }
        members = [name] if name in self.alone else all_members
        return said | {"members": members, "date": 1796051003.0, "served": 1796051004.0}

    def read_quorum(self, _cluster: LiveCluster, quorum: str, pods: Sequence[Object]) -> LivingQuorum:
        del pods
        members = (LivingMember(f"{quorum}-{each}", f"{quorum}-{each}" in self.alone, "leader") for each in range(3))
        return LivingQuorum(quorum, "ovn", tuple(members), serves=bool(self.alone))


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> LostOvn:
    found = LostOvn()
    use_lost(monkeypatch, found)
    live = replace(stack.load(ROOT, "dev"), target="live", settings=OVN)
    monkeypatch.setattr(stack, "load", lambda _root, _name: live)  # type: ignore[misc]
    return found


def restore(what: str, dead: tuple[str, ...] = (), *, plan: bool = False) -> int:
    return restore_command.run(ROOT, "live", RestoreRequest(what, "", dead, plan, "" if plan else "dev"))


def changes(cloud: LostOvn) -> list[str]:
    return [each for each in cloud.changes if "Lease" not in each]


@pytest.mark.parametrize("database", ["ovn-nb", "ovn-sb"])
def test_the_plan_says_what_is_left_and_what_is_lost(
    cloud: LostOvn, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    dead = (cloud.die(f"{database}-0"), cloud.die(f"{database}-1"))
    assert restore(database, dead, plan=True) == 0
    said = capsys.readouterr().out
    assert f"{database}: 0 of 3 members have a majority" in said
    assert f"    {database}-2 on {cloud.homes[f'{database}-2']}: cluster member, knows no leader\n" in said
    data = "cluster 0b0b0b0b, server cccc, entry 13 of term 3, data written until 2026-11-30 15:03:23 UTC"
    assert f"        data: {data}; took part until 2026-11-30 15:03:24 UTC" in said
    assert f"        the members that it knows of: {database}-0, {database}-1, {database}-2\n" in said
    assert f"From the data of {database}-2 ({data})" in said
    assert "Lost: what the other members had acknowledged after that" in said
    assert ("neutron-ovn-db-sync-util" if database == "ovn-nb" else "ovn-northd and ovn-controller write again") in said
    assert f"  2. {database}-2: make a new cluster of its log" in said
    assert f"  3. wait until {database}-2 takes part\n" in said
    assert cloud.changes == []


@pytest.mark.parametrize("database", ["ovn-nb", "ovn-sb"])
def test_a_member_goes_on_alone(cloud: LostOvn, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    dead = (cloud.die(f"{database}-0"), cloud.die(f"{database}-1"))
    assert restore(database, dead) == 0
    assert changes(cloud) == [
        *(f'node {each}: {{"unschedulable": true}}' for each in dead),
        f"delete pod {database}-0",
        f"delete pod {database}-1",
        f"go on {database}-2",
    ]
    assert cloud.leases == {}
    assert f"{database} of dev runs with 1 of 3 members." in capsys.readouterr().out


def test_a_run_that_was_interrupted_goes_on(cloud: LostOvn) -> None:
    dead = (cloud.die("ovn-nb-0"), cloud.die("ovn-nb-1"))
    cloud.refuses = "it hears ovn-nb-1: it is not alone"
    with pytest.raises(
        UserError, match=r"was not let go on: it hears ovn-nb-1: it is not alone\. Run the same command"
    ):
        restore("ovn-nb", dead)
    cloud.refuses, cloud.comes_back = "", False
    with pytest.raises(UserError, match="ovn-nb does not serve after"):
        restore("ovn-nb")
    cloud.comes_back = True
    assert restore("ovn-nb") == 0
    assert cloud.leases == {}


def test_two_that_answer_are_a_majority(cloud: LostOvn, capsys: pytest.CaptureFixture[str]) -> None:
    machine = cloud.die("ovn-nb-0")
    assert restore("ovn-nb", (machine,), plan=True) == 3
    said = capsys.readouterr().out
    assert "  - ovn-nb-1, ovn-nb-2 has a majority: the quorum is not lost" in said
    assert "  - ovn-nb-1, ovn-nb-2 answer, and only one may" in said
    with pytest.raises(UserError, match="Nothing was changed"):
        restore("ovn-nb", (machine,))
    assert cloud.changes == []


def test_a_member_that_is_not_called_dead_stops_it(cloud: LostOvn) -> None:
    dead = (cloud.die("ovn-sb-0"), cloud.die("ovn-sb-1"))
    with pytest.raises(UserError, match=rf"ovn-sb-1 on {dead[1]} was not asked.*\n?.*add --dead {dead[1]}"):
        restore("ovn-sb", dead[:1])
    assert cloud.changes == []


def test_a_stack_without_ovn_has_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    found = LostGalera()
    use_lost(monkeypatch, found)
    live = replace(stack.load(ROOT, "dev"), target="live")
    monkeypatch.setattr(stack, "load", lambda _root, _name: live)  # type: ignore[misc]
    with pytest.raises(UserError, match=r"ovn-nb cannot be restored by this command: write one of etcd, .*ceph-mon"):
        restore("ovn-nb")
