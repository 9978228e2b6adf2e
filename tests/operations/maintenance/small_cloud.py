"""A small cloud in memory for maintenance: an API server with nodes, pods, evictions and Leases, Nova, and Ceph.

Every change may be the last one of a run: `kill_after` ends the run as SIGKILL would, without a farewell.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from cluster.api import Api, ApiError, Reply, Unreachable
from cluster.eviction import TOO_MANY
from cluster.kubeconfig import Access
from cluster.pod_exec import CommandOutput, PodContainer
from commands import stack
from commands.live import connection, maintenance_command
from commands.stack import ValidStack
from openstack.scripts.compute_services import MARK
from operations import cloud_pods, operation_lease, wholeness_wait
from operations.live_cluster import LiveCluster
from operations.living.ceph import Pool, Storage
from operations.living.cloud import LivingCloud
from operations.maintenance import instance_moves, out_and_back
from tests.operations.living.living_cloud import living, pod, ready_node
from tests.stacks import STACKS

PLAN = plan(load_file(STACKS["dev"]))
"""Three virt hosts, each a compute with a master, a broker, a database and a storage machine."""


class Killed(BaseException):
    """The run was killed."""


class SmallCloud:
    """The cloud of a plan. Thread-safe, because a Lease is renewed by a thread."""

    def __init__(self, made: Plan = PLAN) -> None:
        self.plan = made
        self.guard = threading.RLock()
        self.nodes: dict[str, dict[str, Any]] = {}
        for node in made.nodes:
            found = ready_node(node.name)
            self.nodes[node.name] = found | {"spec": {}}
        self.pods: dict[str, dict[str, Any]] = {}
        self.homes: dict[str, str] = {}
        """Node of each member with a local volume."""
        for (quorum, member), node in living(made).places.items():
            if quorum != "etcd":
                self.homes[member] = node
                self.add(member, quorum, node, "StatefulSet")
        for node in made.nodes:
            self.add(f"agent-{node.name}", "agent", node.name, "DaemonSet")
            self.add(f"api-{node.name}", "keystone", node.name, "ReplicaSet")
        self.add("nova-api-0", "nova-api", made.nodes[-1].name, "DaemonSet")
        self.leases: dict[str, dict[str, Any]] = {}
        self.version = 0
        self.services = {
            node.name: {"host": node.name, "status": "enabled", "disabled_reason": None}
            for node in made.nodes
            if "compute" in node.roles
        }
        self.instances: list[dict[str, Any]] = []
        self.refused: dict[str, str] = {}
        """Why Nova refuses a request for an instance, by id."""
        self.failing: dict[str, str] = {}
        """Why Nova's migration of an instance fails, by id."""
        self.deletes = False
        """Whether tenants delete the instances that are looked at."""
        self.noout: set[str] = set()
        self.blocked: set[str] = set()
        """Pods whose budget rejects their eviction."""
        self.lost: dict[str, str] = {}
        """Members that are lost beside those without a pod."""
        self.changes: list[str] = []
        self.kill_after: int | None = None
        self.keeps_holder = False
        self.access = cast("Access", None)

    def add(self, name: str, workload: str, node: str, kind: str) -> None:
        made = pod(name, workload, node)
        made["metadata"] |= {"namespace": "openstack", "ownerReferences": [{"kind": kind, "controller": True}]}
        self.pods[name] = made

    def cluster(self) -> LiveCluster:
        return LiveCluster(cast("Api", self), self.plan, "admin", ())

    def read(self) -> LivingCloud:
        """The living state, by the pods and nodes of this cloud."""
        placed = {name: each["spec"].get("nodeName") for name, each in self.pods.items()}
        gone = {member: "it has no pod" for member in self.homes if not placed.get(member)}
        storage = Storage({node.name: 1 for node in self.plan.nodes if "storage" in node.roles}, (Pool("p", 3, 2),), 0)
        found = living(self.plan, gone | self.lost, pods=list(self.pods.values()), storage=storage)
        places = {key: node for key, node in found.places.items() if key[0] == "etcd" or placed.get(key[1])}
        return replace(found, nodes=list(self.nodes.values()), places=places)

    # The API server.

    def changed(self, what: str) -> None:
        """Notes a change. Raises Killed instead of the one after which the run is dead, and from then on."""
        if self.kill_after is not None and len(self.changes) >= self.kill_after:
            raise Killed
        self.changes.append(what)

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content: str = "",
    ) -> dict[str, Any]:
        del content
        with self.guard:
            if "/leases" in path:
                return self._lease(method, path.rpartition("/")[2], dict(body or {}))
            if path.startswith("/api/v1/nodes/"):
                return self._node(method, path.rpartition("/")[2], body or {})
            return {"items": self._selected(query or {})}

    def items(self, path: str) -> tuple[list[dict[str, Any]], str]:
        assert path == "/api/v1/nodes"
        return list(self.nodes.values()), "1"

    def call(self, method: str, path: str, body: Mapping[str, Any]) -> Reply:
        name = body["metadata"]["name"]
        assert (method, path) == ("POST", f"/api/v1/namespaces/openstack/pods/{name}/eviction")
        with self.guard:
            if name in self.blocked:
                cause = {"message": f"The disruption budget {name} needs 2 healthy pods and has 2 currently"}
                return Reply(TOO_MANY, {"message": "Cannot evict pod.", "details": {"causes": [cause]}})
            self.changed(f"evict {name}")
            if name in self.homes:
                self._unplace(name)
            else:
                del self.pods[name]
            return Reply(201, {})

    def _unplace(self, name: str) -> None:
        self.pods[name] = self.pods[name] | {"spec": {}, "status": {"phase": "Pending"}}

    def _node(self, method: str, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        node = self.nodes[name]
        if method == "GET":
            return copy.deepcopy(node)
        annotations = body.get("metadata", {}).get("annotations", {})
        self.changed(f"node {name}: {json.dumps(body.get('spec', {}) | annotations)}")
        kept = node["metadata"].get("annotations", {}) | annotations
        node["metadata"]["annotations"] = {key: value for key, value in kept.items() if value is not None}
        node["spec"] |= body.get("spec", {})
        if not node["spec"].get("unschedulable"):
            for member, home in self.homes.items():
                if home == name and not self.pods[member]["spec"]:
                    self.add(
                        member, self.pods[member]["metadata"]["labels"]["app.kubernetes.io/name"], name, "StatefulSet"
                    )
        return node

    def _lease(self, method: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
        if method == "POST":
            self._require(not self.leases, 409)
            name = body["metadata"]["name"]
        else:
            self._require(name in self.leases, 404)
        if method == "GET":
            return copy.deepcopy(self.leases[name])
        if self.kill_after is not None and len(self.changes) >= self.kill_after:
            if threading.current_thread() is not threading.main_thread():
                raise Unreachable("the process of this thread was killed")
            raise Killed
        if method == "DELETE":
            self.changed("delete the Lease")
            return self.leases.pop(name)
        known = self.leases.get(name)
        assert not known or body["metadata"]["resourceVersion"], "an update without a version overwrites another's"
        self._require(not known or known["metadata"]["resourceVersion"] == body["metadata"]["resourceVersion"], 409)
        if not known or known["metadata"]["annotations"] != body["metadata"]["annotations"]:
            self.changed("write the Lease")  # a renewal is none
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.leases[name] = copy.deepcopy(body)
        return copy.deepcopy(body)

    @staticmethod
    def _require(holds: bool, status: int) -> None:
        if not holds:
            raise ApiError(status, "", "")

    def _selected(self, query: Mapping[str, str]) -> list[dict[str, Any]]:
        selector = next(iter(query.values()))
        if " in (" in selector:
            key, _, values = selector.partition(" in ")
            wanted = values.strip("()").split(",")
            return [copy.deepcopy(each) for each in self.pods.values() if each["metadata"]["labels"][key] in wanted]
        key, _, value = selector.partition("=")
        if key == "spec.nodeName":
            return [copy.deepcopy(each) for each in self.pods.values() if each["spec"].get("nodeName") == value]
        return [each for each in self.pods.values() if each["metadata"]["labels"][key] == value]

    # Nova and Ceph, in their pods.

    def run_in_pod(
        self, _access: Access, place: PodContainer, command: Sequence[str], _seconds: float
    ) -> CommandOutput:
        assert place.pod in self.pods
        with self.guard:
            if command[0] == "python3":
                return CommandOutput(json.dumps(self._nova(*command[3:])), "", 0)
            words = list(command[command.index("10") + 1 :])
            if words[1] == "dump":
                return CommandOutput(json.dumps({"crush_node_flags": {each: ["noout"] for each in self.noout}}), "", 0)
            assert words[2] == "noout"
            self.changed(" ".join(words))
            (self.noout.add if words[1] == "set-group" else self.noout.discard)(words[3])
            return CommandOutput("", "", 0)

    def _nova(self, what: str, *arguments: str) -> dict[str, Any]:
        if what in ("live", "cold", "confirm"):
            return {"refused": self._asked(what, self._instance(arguments[0]))}
        if what == "failure":
            record = {"id": 7, "status": "error", "source_compute": "virt1", "dest_compute": None}
            return {"migration": record, "reasons": [self.failing[arguments[0]]]}
        if what == "look":
            found = [copy.deepcopy(each) for each in self.instances if each["id"] in arguments]
            for each in found:
                self._go_on(self._instance(each["id"]))
            if self.deletes:
                self.instances.clear()
            return {"instances": found}
        hosts = arguments[1:] if what == "disable" else arguments
        for host in hosts:
            service = self.services[host]
            if what == "disable" and service["status"] == "enabled":
                self.changed(f"disable {host}")
                service |= {"status": "disabled", "disabled_reason": f"{MARK} {arguments[0]}"}
            if what == "enable" and (service["disabled_reason"] or "").startswith(MARK):
                self.changed(f"enable {host}")
                service |= {"status": "enabled", "disabled_reason": None}
        return {"services": [], "instances": [each for each in self.instances if each["host"] in hosts]}

    def _instance(self, id_: str) -> dict[str, Any]:
        return next(each for each in self.instances if each["id"] == id_)

    def _asked(self, what: str, instance: dict[str, Any]) -> str:
        wanted = {"live": ("ACTIVE", "PAUSED"), "cold": ("ACTIVE", "SHUTOFF"), "confirm": ("VERIFY_RESIZE",)}[what]
        if instance["status"] not in wanted or instance.get("task"):
            return f"Cannot do it in {instance['status']}, {instance.get('task')}"
        if reason := self.refused.get(instance["id"]):
            return reason
        self.changed(f"{what} {instance['id']}")
        if what == "confirm":
            instance["status"] = "ACTIVE" if instance["runs"] else "SHUTOFF"
        else:
            instance["task"] = {"live": "migrating", "cold": "resize_prep"}[what]
        return ""

    def _go_on(self, instance: dict[str, Any]) -> None:
        """Ends the migration of an instance: one look sees it under way, the next one its end."""
        if not (task := instance.get("task")) or task not in ("migrating", "resize_prep"):
            return
        instance["task"] = None
        if instance["id"] in self.failing:
            return
        going = [name for name, each in self.services.items() if each["status"] == "enabled"]
        instance["host"] = next(name for name in going if name != instance["host"])
        if task == "resize_prep":
            instance["status"] = "VERIFY_RESIZE"

    def is_killed(self, after: int, run: Callable[[], object]) -> bool:
        """Runs something and kills it after so many changes. Whether it was killed, and not done before."""
        self.kill_after = len(self.changes) + after
        try:
            run()
        except Killed:
            return True
        finally:
            self.kill_after = None
            self.forget_holder()
        return False

    def forget_holder(self) -> None:
        """Makes the Lease what it is for a run that has seen that its holder was killed."""
        for lease in () if self.keeps_holder else self.leases.values():
            lease["spec"].pop("holderIdentity", None)

    def state(self) -> str:
        """Everything that a maintenance changes, for comparisons."""
        nodes = {name: (node["spec"], node["metadata"].get("annotations")) for name, node in self.nodes.items()}
        pods = {name: each["spec"].get("nodeName") for name, each in self.pods.items()}
        changed = [nodes, pods, self.services, sorted(self.noout), sorted(self.leases), self.instances]
        return json.dumps(changed, sort_keys=True)


def instance(host: str, **changes: Any) -> dict[str, Any]:
    return {"host": host, "id": "i-1", "name": "web", "project": "p-1", "status": "ACTIVE", "runs": True} | changes


def make_live(monkeypatch: pytest.MonkeyPatch, cloud: SmallCloud, found: ValidStack) -> None:
    """Makes commands load this stack, with the target live and this cloud as its cluster, and work without pauses."""
    load_as(monkeypatch, found)

    def connect(_root: Path, _stack: ValidStack) -> LiveCluster:
        return cloud.cluster()

    monkeypatch.setattr(connection, "connect", connect)
    use(monkeypatch, cloud)


def load_as(monkeypatch: pytest.MonkeyPatch, found: ValidStack) -> None:
    """Makes commands load this stack, with the target live, whatever name they are given."""
    live = replace(found, target="live")

    def load(_root: Path, _name: str) -> ValidStack:
        return live

    monkeypatch.setattr(stack, "load", load)


def use(monkeypatch: pytest.MonkeyPatch, cloud: SmallCloud) -> None:
    """Lets maintenance work on a cloud, without pauses."""
    monkeypatch.setattr(cloud_pods, "run_in_pod", cloud.run_in_pod)
    for module, values in (
        (operation_lease, {"RENEWED": 0.02, "STALE": 10, "POLL": 0.01}),
        (out_and_back, {"PAUSE": 0.01, "DRAIN": 1.0}),
        (wholeness_wait, {"PAUSE": 0.01, "RETURN": 0.1}),
        (instance_moves, {"PAUSE": 0.01}),
        (maintenance_command, {"SETTLE": 0.1}),
    ):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)

    def read(_plan: Plan, _cluster: LiveCluster) -> LivingCloud:
        return cloud.read()

    monkeypatch.setattr(maintenance_command, "read_cloud", read)
