"""A small cloud of whose Galera members are lost for good: their machines are off, and no other has a majority."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.plan import Plan
from cluster.api import Unreachable
from cluster.kubeconfig import Access
from cluster.objects import Object, name
from cluster.pod_exec import CommandOutput, PodContainer
from commands.live import connection, survivor_restore
from commands.stack import ValidStack
from operations.live_cluster import LiveCluster
from operations.living.cloud import LivingCloud
from operations.living.quorum import LivingMember, LivingQuorum
from operations.replacement import signs_of_life
from operations.restoration import going_on, survivors
from tests.operations.maintenance.small_cloud import PLAN, use
from tests.operations.restoration.galera_cloud import MEMBERS, GaleraCloud

UUID = "0b0b0b0b-0000-4000-8000-000000000001"


class LostGalera(GaleraCloud):
    """The cloud of the stack `dev`. `die` switches a member's machine off."""

    def __init__(self, made: Plan = PLAN) -> None:
        super().__init__(made)
        served = (datetime.now(UTC) - timedelta(minutes=12)).timestamp()
        self.says: dict[str, dict[str, Any]] = {
            member: {"name": member, "phase": "running", "has_data": True, "uuid": UUID, "seqno": 100 + number}
            | {"view": list(MEMBERS), "primary": False, "does": "Initialized, non-primary", "served": served}
            for number, member in enumerate(MEMBERS)
        }
        self.off: set[str] = set()
        self.answering: set[str] = set()
        """Addresses that answer although their machine is called dead."""
        self.brokers = [f"rabbitmq-{each}" for each in range(3)]
        """The members that RabbitMQ lists."""
        for member in self.brokers:
            self.pods[member]["status"]["containerStatuses"] = [{"name": "rabbitmq", "state": {"running": {}}}]
        self.monitors = [f"ceph-mon-{each}" for each in range(3)]
        """The monitors in Ceph's map."""
        for member in self.monitors:
            self.pods[member]["status"]["containerStatuses"] = [{"name": "ceph-mon", "state": {"running": {}}}]
        self.marked = ""
        self.restarted: set[str] = set()
        self.refuses = ""
        self.comes_back = True

    def die(self, member: str) -> str:
        """Switches the machine of a member off. Returns the machine's name."""
        node = self.homes[member]
        self.off.add(member)
        self.nodes[node]["status"]["conditions"][0]["status"] = "False"
        self.lost |= {each: "no answer" for each, home in self.homes.items() if home == node} | {node: "no answer"}
        return node

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content: str = "",
    ) -> dict[str, Any]:
        member = path.rpartition("/")[2]  # or the name of another object
        if method == "DELETE" and "/pods/" in path:
            self.changed(f"delete pod {member}")
            assert (body == {"gracePeriodSeconds": 0}) == (member in self.off), (
                "the API server waits for a dead kubelet"
            )
            if member in self.off:
                return {}
            self.restarted.add(member)
            if self.comes_back and self.marked in self.restarted:
                if self.marked in self.monitors:
                    self.monitors = [self.marked]
                for each in self.restarted & self.says.keys():
                    self.says[each] |= {"primary": True}
            return {}
        if path.startswith("/api/v1/nodes/"):
            self._require(member in self.nodes, 404)
        if "/persistentvolumeclaims/" in path:
            return {"spec": {"volumeName": f"openstack-{member}"}}
        return super().ask(method, path, body, query=query, content=content)

    def items(self, path: str) -> tuple[list[dict[str, Any]], str]:
        if path.startswith("/api/v1/persistentvolumes"):
            return [self._volume(member) for member in MEMBERS], "1"
        return super().items(path)

    def _volume(self, member: str) -> dict[str, Any]:
        rule = {"key": "kubernetes.io/hostname", "operator": "In", "values": [self.homes[member]]}
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}
        claim = {"namespace": "openstack", "name": f"data-{member}"}
        spec = {"nodeAffinity": affinity, "claimRef": claim}
        return {"metadata": {"name": f"openstack-data-{member}"}, "spec": spec}

    def run_program(self, _access: Access, place: PodContainer, command: Sequence[str], _s: float) -> CommandOutput:
        """Stands in for the program in a member's container."""
        if place.pod in self.off:
            raise Unreachable("dial tcp: i/o timeout")
        if command[-1] == "look":
            said = self.monitor() if place.container == "ceph-mon" else self.says.get(place.pod) or self.broker()
            return CommandOutput(json.dumps(said), "", 0)
        if self.refuses:
            return CommandOutput("", self.refuses, 1)
        self.changed(f"mark {place.pod}")
        self.marked = place.pod
        return CommandOutput("", "", 0)

    def broker(self) -> dict[str, Any]:
        """What a member of RabbitMQ tells of itself."""
        names = {each: f"rabbit@{each}.rabbitmq-members.openstack.svc" for each in self.brokers}
        running = [names[each] for each in self.brokers if each not in self.off]
        listed = list(names.values())
        return {"value": {"khepri": True, "listed": listed, "running": running, "quorum": 35, "streams": 4}}

    def monitor(self) -> dict[str, Any]:
        """What the third monitor of Ceph tells of itself."""
        state = "leader" if len(self.monitors) == 1 else "probing"
        mons = [{"name": each} for each in self.monitors]
        return {"name": "ceph-mon-2", "state": state, "election_epoch": 12, "monmap": {"epoch": 4, "mons": mons}}

    def read_quorum(self, _cluster: LiveCluster, quorum: str, pods: Sequence[Object]) -> LivingQuorum:
        del pods
        if quorum == "rabbitmq":
            brokers = (f"rabbitmq-{each}" for each in range(3))
            return LivingQuorum(
                quorum, quorum, tuple(LivingMember(each, each not in self.off, "runs") for each in brokers), True
            )
        if quorum == "ceph-mon":
            goes_on = self.monitors == ["ceph-mon-2"]
            return LivingQuorum(quorum, "ceph", (LivingMember("ceph-mon-2", goes_on, "probing"),), goes_on)
        members = tuple(
            LivingMember(each, counts=self.says[each]["primary"] and each not in self.off, says=self.says[each]["does"])
            for each in MEMBERS
        )
        return LivingQuorum(quorum, "galera", members, serves=any(each.counts for each in members))


def use_lost(monkeypatch: pytest.MonkeyPatch, cloud: LostGalera) -> None:
    """Lets `quorate restore mysqld` work on a cloud, without pauses."""
    use(monkeypatch, cloud)

    def connect(_root: Path, _stack: ValidStack) -> LiveCluster:
        return cloud.cluster()

    def read_cloud(_plan: Plan, _cluster: LiveCluster) -> LivingCloud:
        return cloud.read()

    def answer(address: str, _port: int) -> str:
        return "accepts" if address in cloud.answering else ""

    monkeypatch.setattr(connection, "connect", connect)
    monkeypatch.setattr(survivor_restore, "read_cloud", read_cloud)
    monkeypatch.setattr(signs_of_life, "_answer", answer)
    monkeypatch.setattr(survivors, "run_in_pod", cloud.run_program)
    monkeypatch.setattr(going_on, "read_quorum", cloud.read_quorum)
    assert {name(each) for each in cloud.pods.values()} >= set(MEMBERS)
