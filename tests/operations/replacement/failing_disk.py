"""A small cloud in memory of which a disk fails while its machine runs: identities of OSDs, claims and volumes.

As in the cloud of which a machine dies, every change may be the last one of a run.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from cluster.pod_exec import CommandOutput
from commands import failed_disk
from operations.living.ceph import Pool, Storage
from operations.living.cloud import LivingCloud
from operations.root_shell import Shell
from tests.operations.replacement.dying_cloud import DyingCloud
from tests.operations.replacement.dying_cloud import use as use_machine


class DiskCloud(DyingCloud):
    """The cloud of a stack file, with what the replacement of a disk changes."""

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self.identities = {number: f"uuid-{number}" for number in self.osds}
        self.down: set[str] = set()
        self.needed = ""
        """Why Ceph would stop to serve without an OSD."""
        self.silent_groups = 0
        self.uids = {claim: f"{claim}-1" for claim in self.claims}
        self.bound_uids = {volume: self.uids[claim] for volume, claim in self.bound.items()}
        self.paths = {volume: f"/var/lib/quorate/openstack/{self._of(volume)}" for volume in self.volumes}
        self.ending: set[str] = set()
        """Claims that are being deleted."""
        self.hangs = False
        """Whether pods do not end."""
        self.disk = ""
        """Why a directory cannot be made empty."""
        self.critical: dict[str, str] = {}

    def _of(self, volume: str) -> str:
        return volume.removeprefix("openstack-").removesuffix(f"-{self.volumes[volume]}")

    def new_osd(self, number: str, host: str) -> None:
        """What `ceph-volume` and a restarted pod do on a new disk."""
        assert number not in self.osds
        self.osds[number] = host
        self.identities[number] = f"uuid-{number}-new"
        self.out.discard(number)

    def read(self) -> LivingCloud:
        hosts = dict.fromkeys(self.osds.values(), 0)
        for number, host in self.osds.items():
            hosts[host] += number not in self.down
        found = super().read()
        quorums = tuple(
            replace(each, critical={name: self.critical[name] for name in self.critical if name.startswith(each.name)})
            for each in found.quorums
        )
        unclean = 0 if self.is_clean else 7
        return replace(found, quorums=quorums, storage=Storage(hosts, (Pool("p", 3, 2),), unclean, self.silent_groups))

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
                return self._delete_claim(name, body) if method == "DELETE" else self._claim_object(name)
            if kind == "persistentvolumes":
                self._require(name in self.volumes, 404)
                return self._volume(name) if method == "GET" else self._free(name, body or {})
            if kind == "pods" and method == "GET":
                self._require(name in self.pods, 404)
                return self._pod_object(name)
            if kind == "pods" and method == "DELETE":
                return self._delete_pod(name, body or {})
        return super().ask(method, path, body, query=query, content=content)

    def _claim_object(self, name: str) -> dict[str, Any]:
        return {"metadata": {"uid": self.uids[name]}, "spec": {"volumeName": self.claims[name]}}

    def _delete_claim(self, name: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        assert body == {"preconditions": {"uid": self.uids[name]}}
        if name not in self.ending:
            self.changed(f"delete claim {name}")
            self.ending.add(name)
            if not self.pods[name.removeprefix("data-")]["spec"]:
                self.end_claim(name)
        return {}

    def end_claim(self, name: str) -> None:
        """The StatefulSet makes pod and claim anew, and no volume is free."""
        self.ending.discard(name)
        self.claims[name], self.uids[name] = "", f"{name}-2"

    def _pod_object(self, name: str) -> dict[str, Any]:
        found = copy.deepcopy(self.pods[name])
        found["metadata"]["uid"] = f"{name}-{found['spec'].get('nodeName')}"
        return found

    def _delete_pod(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        assert body == {"preconditions": {"uid": self._pod_object(name)["metadata"]["uid"]}}, "kubelet lets it end"
        self.changed(f"delete pod {name}")
        if not self.hangs:
            self._unplace(name)
            if f"data-{name}" in self.ending:
                self.end_claim(f"data-{name}")
            else:
                self.add(name, self._quorum(name), self.homes[name], "StatefulSet")
        return {}

    def _free(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        assert body == {"metadata": {"resourceVersion": "7"}, "spec": {"claimRef": None}}
        self.changed(f"free volume {name}")
        claim, node = self.bound[name], self.volumes[name]
        assert not self.claims[claim]
        self.claims[claim], self.bound_uids[name] = name, self.uids[claim]
        member = claim.removeprefix("data-")
        self.add(member, self._quorum(member), node, "StatefulSet")
        self.lost.pop(member, None)
        self.listed.add(member)
        return {}

    def _volume(self, name: str) -> dict[str, Any]:
        found = super()._volume(name)
        found["metadata"]["resourceVersion"] = "7"
        found["spec"] |= {"local": {"path": self.paths[name]}}
        found["spec"]["claimRef"] |= {"uid": self.bound_uids[name]}
        return found

    # The programs of the cloud.

    def _rabbitmq(self, command: Sequence[str]) -> CommandOutput:
        known = {each: f"rabbit@{each}.rabbitmq-members.openstack.svc" for each in self.homes if "rabbitmq" in each}
        running = [node for each, node in known.items() if self.pods[each]["spec"]]
        if "cluster_status" in command:
            disks = [node for each, node in known.items() if each in self.listed]
            return CommandOutput(json.dumps({"disk_nodes": disks, "running_nodes": running}), "", 0)
        assert command[-1] not in running
        (member,) = [each for each, node in known.items() if node == command[-1]]
        self.changed(f"forget {member}")
        self.listed.remove(member)
        return CommandOutput("", "", 0)

    def _ceph(self, words: str) -> CommandOutput:
        number = words.split()[2] if words.startswith("osd") else ""
        if words.startswith("osd dump"):
            osds = [
                {
                    "osd": int(each),
                    "uuid": self.identities[each],
                    "up": each not in self.down,
                    "in": each not in self.out,
                }
                for each in self.osds
            ]
            return CommandOutput(json.dumps({"osds": osds}), "", 0)
        if words.startswith("osd metadata"):
            return CommandOutput('{"devices": "sdb"}', "", 0)
        if words.startswith("osd ok-to-stop"):
            return CommandOutput("", self.needed, 16 if self.needed else 0)
        if words.startswith("osd stop"):
            self.changed(f"ceph {words}")
            self.down.add(number)
            return CommandOutput("", "", 0)
        if words.startswith("osd purge"):
            assert number in self.down
            assert number in self.out
            assert self.is_clean
            self.down.discard(number)
        return super()._ceph(words)

    def shell(self, node: Node, script: str, _seconds: float) -> CommandOutput:
        values = dict(line.split("=", 1) for line in script.splitlines()[:4])
        member = self.bound[values["VOLUME"]].removeprefix("data-")
        assert self.pods[member]["spec"].get("nodeName") != node.name, "its pod uses it"
        if self.disk:
            return CommandOutput(self.disk, "", 1)
        with self.guard:
            self.changed(f"empty {values['DIRECTORY']} of {node.name} for {values['OWNER']}")
        return CommandOutput("it is empty\n", "", 0)

    def whole(self) -> str:
        """Everything that a replacement of a disk changes, for comparisons."""
        sets = (self.down, self.ending)
        return json.dumps(
            [super().whole(), self.identities, self.uids, self.bound_uids, *map(sorted, sets)], sort_keys=True
        )


def use(monkeypatch: pytest.MonkeyPatch, cloud: DiskCloud) -> None:
    """Lets `quorate replace` work on a cloud, without pauses."""
    use_machine(monkeypatch, cloud)

    @contextmanager
    def shell(_plan: Plan) -> Generator[Shell]:
        yield cloud.shell

    monkeypatch.setattr(failed_disk, "machine_shell", shell)
