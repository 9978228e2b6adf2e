"""A small cloud in memory of which a machine dies: its volumes and claims, members' own lists, OSDs, and records.

As in maintenance, every change may be the last one of a run. The stack file is a real one, of physical servers that
are set up over SSH, each with an entry of its own.
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from cluster.kubeconfig import Access
from cluster.pod_exec import CommandOutput, PodContainer
from commands import deployment, replacement, stack
from commands.live import connection
from commands.stack import ValidStack
from operations import cloud_pods, operation_lease, wholeness_wait
from operations.live_cluster import LiveCluster
from operations.living.agents import LivingAgent, LivingAgents
from operations.living.ceph import Pool, Storage
from operations.living.cloud import LivingCloud
from operations.replacement import etcd_member, signs_of_life
from tests.operations.living.living_cloud import living, ready_node
from tests.operations.maintenance.small_cloud import SmallCloud
from tests.stacks import ROOT

_GROUPS = (
    ("master", "master", "", 10),
    ("messaging", "controller", "rabbitmq", 20),
    ("database", "controller", "mysqld", 30),
    ("storage", "storage", "", 40),
    ("compute", "compute", "", 50),
)


def host_key(number: int) -> str:
    raw = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes([number]) * 32
    return "ssh-ed25519 " + base64.b64encode(raw).decode()


def stack_file(directory: Path) -> Path:
    """Writes the stack file of fifteen servers. Returns its path."""
    lines = [
        "# Our cloud.",
        "config:",
        "  quorate:profile: lab",
        '  quorate:architecture: "100"',
        "  quorate:target: live",
        "  quorate:features: [reduced-footprint]",
        "  quorate:networks: {management: 10.20.0.0/24}",
        "  quorate:servers:",
    ]
    for name, role, pool, first in _GROUPS:
        for number in (1, 2, 3):
            pinned = f", pool: {pool}" if pool else ""
            lines += [
                f"    - name: {name}{number} # in room {number}",
                f"      address: 10.20.0.{first + number}",
                f"      hostKey: {host_key(first + number)}",
                *(f"      {line}" for line in ("cpu: 16", "memory: 64", f"roles: [{role}]")),
            ]
            lines += [f"      pool: {pool}"] if pinned else []
    file = directory / "Pulumi.cloud.yaml"
    file.write_text("\n".join((*lines, "")), encoding="utf-8")
    return file


_PLANS: dict[str, Plan] = {}
"""Plans by the text of their stack file: the same few are needed many times."""


def planned(file: Path) -> Plan:
    text = file.read_text(encoding="utf-8")
    if text not in _PLANS:
        _PLANS[text] = plan(load_file(file))
    return _PLANS[text]


class DyingCloud(SmallCloud):
    """The cloud of a stack file, with what a replacement changes beside nodes and pods."""

    def __init__(self, file: Path) -> None:
        self.file = file
        super().__init__(planned(file))
        self.add("nova-api-1", "nova-api", "database3", "DaemonSet")
        self.claims = {
            f"data-{member}": f"openstack-{self._quorum(member)}-{home}" for member, home in self.homes.items()
        }
        self.volumes = {f"openstack-{self._quorum(member)}-{home}": home for member, home in self.homes.items()}
        self.bound = {volume: claim for claim, volume in self.claims.items()}
        self.listed = set(self.homes) | {node.name for node in self.plan.members}
        """The members of the quorums' own lists."""
        self.osds = {"0": "storage1", "1": "storage1", "2": "storage2", "3": "storage3"}
        self.out: set[str] = set()
        self.is_clean = True
        """Whether Ceph's data is complete, so that OSDs that are out are safe to destroy."""
        self.agents = {node.name for node in self.plan.nodes if node.pool in ("compute", "rabbitmq")}
        self.dead = ""
        self.answering: set[str] = set()
        """Addresses that answer although their machine is said to be dead."""
        names = [node.name for node in self.plan.machines]
        made = [f"cloud-{name}-{each}" for name in names for each in ("files", "apply")]
        self.stored: dict[str, Any] = {"resources": [resource(each) for each in made]}

    def _quorum(self, member: str) -> str:
        return self.pods[member]["metadata"]["labels"]["app.kubernetes.io/name"]

    def die(self, machine: str) -> None:
        self.dead = machine
        if machine in self.nodes:
            self.nodes[machine]["status"]["conditions"][0]["status"] = "Unknown"
        for pod in self.pods.values():
            if pod["spec"].get("nodeName") == machine:
                pod["status"]["conditions"][0]["status"] = "False"
        self.lost |= dict.fromkeys(
            [machine, *(each for each, home in self.homes.items() if home == machine)], "no answer"
        )

    def arrive(self, machine: str) -> None:
        """What `up` does: the machine joins, and members without a place find one there."""
        self.plan = planned(self.file)
        self.dead = ""
        self.lost.clear()
        self.nodes[machine] = ready_node(machine) | {"spec": {}}
        waiting = [each for each, home in self.homes.items() if home == machine or f"data-{each}" not in self.claims]
        for member in waiting:
            self.homes[member] = machine
            self.add(member, "_".join(member.rpartition("-")[:1]), machine, "StatefulSet")
        self.listed |= {*waiting, machine}
        self.agents.add(machine)

    def read(self) -> LivingCloud:
        placed = {name: each["spec"].get("nodeName") for name, each in self.pods.items()}
        gone = {member: "it has no pod" for member in self.homes if not placed.get(member)}
        up = dict.fromkeys(self.osds.values(), 1) | ({self.dead: 0} if self.dead else {})
        storage = Storage(up, (Pool("p", 3, 2),), 0)
        heartbeats = [
            LivingAgent("nova", "nova-compute", host, 600 if host == self.dead else 1, False) for host in self.agents
        ]
        return replace(
            living(self.plan, gone | self.lost, pods=list(self.pods.values()), storage=storage),
            nodes=list(self.nodes.values()),
            agents=LivingAgents(tuple(heartbeats)),
        )

    # The API server.

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content: str = "",
    ) -> dict[str, Any]:
        kind, name = path.split("/")[-2:]
        with self.guard:
            if kind == "persistentvolumeclaims":
                self._require(name in self.claims, 404)
                if method == "DELETE":
                    self.changed(f"delete claim {name}")
                    del self.claims[name]
                    return {}
                return {"spec": {"volumeName": self.claims[name]}}
            if method == "DELETE" and kind in ("nodes", "pods", "persistentvolumes"):
                held = {"nodes": self.nodes, "pods": self.pods, "persistentvolumes": self.volumes}[kind]
                self._require(name in held, 404)
                assert kind != "pods" or body == {"gracePeriodSeconds": 0}
                self.changed(f"delete {kind} {name}")
                if kind == "pods" and name in self.homes:
                    self._unplace(name)
                else:
                    del held[name]
                return {}
        return super().ask(method, path, body, query=query, content=content)

    def items(self, path: str) -> tuple[list[dict[str, Any]], str]:
        return ([self._volume(each) for each in self.volumes], "1") if "volumes" in path else super().items(path)

    def _volume(self, name: str) -> dict[str, Any]:
        rule = {"key": "kubernetes.io/hostname", "operator": "In", "values": [self.volumes[name]]}
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}
        claim = {"namespace": "openstack", "name": self.bound[name]} if name in self.bound else None
        return {"metadata": {"name": name}, "spec": {"nodeAffinity": affinity, "claimRef": claim}}

    # The programs of the cloud.

    def run_in_pod(self, access: Access, place: PodContainer, command: Sequence[str], seconds: float) -> CommandOutput:
        assert self.pods[place.pod]["spec"]["nodeName"] != self.dead, "a dead machine was asked"
        words = " ".join(command)
        with self.guard:
            if command[0] == "python3" and command[3] == "forget":
                return self._forget_records(command[4])
            if command[0] == "rabbitmqctl":
                return self._rabbitmq(command)
            if command[0] == "timeout":
                return self._ceph(words.partition(" --connect-timeout 10 ")[2])
        return super().run_in_pod(access, place, command, seconds)

    def _forget_records(self, host: str) -> CommandOutput:
        if host in self.services or host in self.agents:
            self.changed(f"forget records of {host}")
            self.services.pop(host, None)
            self.agents.discard(host)
        return CommandOutput('{"services": []}', "", 0)

    def _nova(self, what: str, *arguments: str) -> dict[str, Any]:
        assert what == "show"
        return {"services": [], "instances": [each for each in self.instances if each["host"] in arguments]}

    def _rabbitmq(self, command: Sequence[str]) -> CommandOutput:
        known = {each: f"rabbit@{each}.rabbitmq-members.openstack.svc" for each in self.homes if "rabbitmq" in each}
        running = [node for each, node in known.items() if self.homes[each] != self.dead]
        if "cluster_status" in command:
            listed = [node for each, node in known.items() if each in self.listed]
            return CommandOutput(json.dumps({"disk_nodes": listed, "running_nodes": running}), "", 0)
        (member,) = [each for each, node in known.items() if node == command[-1]]
        if command[-1] in running:
            return CommandOutput("", "Error: the node is running", 64)
        self.changed(f"forget {member}")
        self.listed.remove(member)
        return CommandOutput("", "", 0)

    def _ceph(self, words: str) -> CommandOutput:
        """Answers a command of Ceph, and does it."""
        verb, _, rest = words.removesuffix(" --format=json").partition(" ")
        if words.startswith("mon dump"):
            mons = [{"name": each} for each in self.listed if each.startswith("ceph-mon")]
            return CommandOutput(json.dumps({"mons": mons}), "", 0)
        if words.startswith("osd dump"):
            return CommandOutput(json.dumps({"osds": [{"osd": int(each)} for each in self.osds]}), "", 0)
        if words.startswith("osd tree"):
            hosts = [
                {"type": "host", "name": host, "children": [int(osd) for osd, at in self.osds.items() if at == host]}
                for host in self.volumes_hosts()
            ]
            return CommandOutput(json.dumps({"nodes": hosts}), "", 0)
        if words.startswith("osd safe-to-destroy"):
            return CommandOutput("", "Error EBUSY: OSD(s) 0 have 7 pgs currently mapped", 0 if self.is_clean else 16)
        self.changed(f"ceph {words}")
        if verb == "mon":
            self.listed.remove(rest.rpartition(" ")[2])
        elif rest.startswith("out"):
            self.out |= set(rest.split()[1:])
        elif rest.startswith("purge"):
            assert rest.split()[1] in self.out
            del self.osds[rest.split()[1]]
        return CommandOutput("", "", 0)

    def volumes_hosts(self) -> list[str]:
        return sorted(node.name for node in self.plan.nodes if node.pool == "storage")

    # Outside of the cluster.

    def forget_etcd(self, _plan: Plan, _cloud: LivingCloud, dead: Node) -> str:
        if dead.name in self.listed:
            self.changed(f"remove etcd member {dead.name}")
            self.listed.remove(dead.name)
        return "done"

    def answer(self, address: str, _port: int) -> str:
        return "accepts" if address in self.answering else ""

    def deployment(self) -> dict[str, Any]:
        return {"deployment": self.stored}

    def give_deployment(self, state: Mapping[str, Any]) -> None:
        self.changed("write the state")
        self.stored = dict(state["deployment"])

    def whole(self) -> str:
        """Everything that a replacement changes, for comparisons."""
        pods = {name: each["spec"].get("nodeName") for name, each in self.pods.items()}
        kept = (self.claims, self.volumes, self.osds, self.services, self.stored, pods)
        sets = (self.nodes, self.listed, self.out, self.agents, self.leases)
        return json.dumps([*kept, *map(sorted, sets), self.file.read_text()], sort_keys=True)


def resource(name: str) -> dict[str, Any]:
    kind = "command:remote:Command" if name.endswith("-apply") else "command:remote:CopyToRemote"
    return {"urn": f"urn:pulumi:cloud::quorate::{kind}::{name}", "type": kind}


def use(monkeypatch: pytest.MonkeyPatch, cloud: DyingCloud) -> None:
    """Lets `quorate replace` work on a cloud, without pauses."""
    monkeypatch.setattr(cloud_pods, "run_in_pod", cloud.run_in_pod)
    monkeypatch.setattr(etcd_member, "forget", cloud.forget_etcd)
    monkeypatch.setattr(signs_of_life, "_answer", cloud.answer)
    for module, values in (
        (operation_lease, {"RENEWED": 0.02, "STALE": 10, "POLL": 0.01}),
        (wholeness_wait, {"PAUSE": 0.01, "RETURN": 0.1}),
    ):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)

    def load(_root: Path, _name: str) -> ValidStack:
        found = planned(cloud.file)
        live = replace(LOAD(ROOT, "dev"), name="cloud", file=cloud.file, target="live", settings=found.settings)
        live.__dict__["plan"] = found
        return live

    @contextmanager
    def prepared(*_arguments: object) -> Any:
        yield cloud

    monkeypatch.setattr(stack, "load", load)

    def connect(_root: Path, found: ValidStack) -> LiveCluster:
        return replace(cloud.cluster(), plan=found.plan)

    def read_cloud(_plan: Plan, _cluster: LiveCluster) -> LivingCloud:
        return cloud.read()

    monkeypatch.setattr(connection, "connect", connect)
    monkeypatch.setattr(deployment, "prepared", prepared)
    monkeypatch.setattr(replacement, "read_cloud", read_cloud)


LOAD = functools.cache(stack.load)
