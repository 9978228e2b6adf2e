"""A member of a quorum whose local volume failed: its pod and its claim are deleted, and the volume is made empty.

The volume's object stays: without a claim it is `Released`, and no pod can use it until --end has made its directory
empty and has taken the former claim out of it. Until then the new pod waits, or starts on a free node of its pool.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blueprint.plan.nodes import Node
from cluster.api import MERGE, Api, ApiError
from cluster.objects import Object, text
from console.errors import UserError
from openstack import data
from openstack.config.wiring import ENVIRONMENT
from openstack.data import DataDirectory
from operations.live_cluster import LiveCluster
from operations.living.cloud import LivingCloud, members_of, quorums_of
from operations.operation_lease import CloudOperation, on_machine
from operations.replacement import in_pods
from operations.replacement.completeness import incomplete
from operations.replacement.dead_machine import (
    CLAIMS,
    PODS,
    VOLUMES,
    claim_name,
    claim_of,
    found,
    members_on,
    volumes_of,
)
from operations.replacement.disk_steps import DiskStep, DiskWork
from operations.replacement.refusals import majority_without
from text.quoting import as_lines

LIMIT = 600.0
"""Seconds within which a directory must be empty. Project figure: a Galera has few files, and OpenSearch thousands."""
_SCRIPT = Path(__file__).with_name("empty_directory.sh")


@dataclass(frozen=True)
class FailedMember:
    """A member of a quorum whose local volume failed."""

    name: str
    quorum: str
    process: str
    """Process of the quorum, such as rabbitmq."""
    node: Node
    directory: DataDirectory
    identity: str
    """The uid of the claim that had its data."""

    @property
    def subject(self) -> str:
        return on_machine(self.name, self.node.name)

    @property
    def volume(self) -> str:
        """Name of its volume."""
        return f"{ENVIRONMENT}-{self.quorum}-{self.node.name}"

    @property
    def lost(self) -> str:
        return f"What {self.name} of {self.quorum} has in {self.directory.path} of {self.node.name} is given up."

    @property
    def record(self) -> Mapping[str, Any]:
        return {"identity": self.identity}

    def reasons(self, cloud: LivingCloud, cluster: LiveCluster) -> list[str]:
        return [
            *cloud.problems,
            *majority_without(cloud, self.quorum, self.name),
            *self._critical(cloud),
            *self._not_emptied(cluster),
        ]

    def _critical(self, cloud: LivingCloud) -> Iterator[str]:
        """Yields what would stop without it, although the others are a majority."""
        for each in cloud.quorums:
            if each.name == self.quorum and self.name in each.critical:
                yield f"{each.name}: {each.critical[self.name]}"

    def _not_emptied(self, cluster: LiveCluster) -> Iterator[str]:
        """Yields why the directory could not be made empty afterwards."""
        if self.node.machine.host_key is None:
            yield f"{self.node.name} has no hostKey in the stack file: write it, to make the directory empty by SSH"
        own = Path(self.directory.path)
        for each in volumes_of(cluster.api, self.node.name):
            other = Path(each.path)
            if each.name == self.volume and other != own:
                yield f"volume {self.volume} is in {other}, and Quorate makes {own} empty only"
            if each.name != self.volume and (own.is_relative_to(other) or other.is_relative_to(own)):
                yield f"volume {each.name} is in {other}, which is not to be made empty; move it first"

    def removal(self) -> tuple[DiskStep, ...]:
        lists = f"the list of members of {self.quorum}"
        forget = f"remove {self.name} from the members of {self.quorum}"
        found: list[DiskStep] = []
        if self.process == "ceph-mon":
            found.append(DiskStep(forget, lists, self._forget_monitor))
        does = f"delete the claim and the pod of {self.name}, and wait until both are gone"
        found.append(DiskStep(does, "this claim and this pod; no other member", self._delete))
        if self.process == "rabbitmq":
            found.append(DiskStep(forget, lists, self._forget_broker))
        by_hand = (
            f"no process uses {self.directory.path} of {self.node.name} any more: mount a file system of a disk that "
            "works there if this one does not"
        )
        return (*found, DiskStep(f"hold: {by_hand}"))

    def end(self) -> tuple[DiskStep, ...]:
        empty = f"make {self.directory.path} of {self.node.name} empty, and its volume free for a new claim"
        whole = f"wait until {self.name} is back, and every member of every quorum takes part"
        touches = f"this directory, and volume {self.volume}"
        return (DiskStep(empty, touches, self._free_volume), DiskStep(whole, do=self._await_whole))

    def _forget_monitor(self, work: DiskWork) -> str:
        """Removes the monitor, unless its claim is gone: the one that is listed then may be the next one."""
        if not self._has_claim(work.cluster.api):
            return ""
        self._require_majority(work)
        return in_pods.forget_monitor(work.cluster, self.quorum, self.name)

    def _forget_broker(self, work: DiskWork) -> str:
        """Removes the member, unless the next one has a volume: that one joins by itself (rabbitmq_start.sh)."""
        if text(claim_of(work.cluster.api, claim_name(self.name)), "spec", "volumeName"):
            return f"the next {self.name} has another volume already"
        self._require_majority(work)
        running = f"{self.quorum} still lists {self.name} as running"
        work.wait(lambda: [running] if in_pods.broker_runs(work.cluster, self.quorum, self.name) else [])
        return in_pods.forget_broker(work.cluster, self.quorum, self.name)

    def _require_majority(self, work: DiskWork) -> None:
        cloud = work.read()
        if reasons := [*cloud.problems, *majority_without(cloud, self.quorum, self.name)]:
            raise UserError(f"{self.name} stays in {self.quorum}:{as_lines(reasons)}")

    def _has_claim(self, api: Api) -> bool:
        """Whether the claim with the failed volume is there, also if it is being deleted."""
        return text(claim_of(api, claim_name(self.name)), "metadata", "uid") == self.identity

    def _delete(self, work: DiskWork) -> str:
        """Deletes the claim and the pod that uses it. While this claim is there, a pod of the name has no other one."""
        api = work.cluster.api
        if self._has_claim(api):
            _delete(api, f"{CLAIMS}/{claim_name(self.name)}", self.identity)
            pod = found(api, f"{PODS}/{self.name}")
            if pod and not text(pod, "metadata", "deletionTimestamp"):
                _delete(api, f"{PODS}/{self.name}", text(pod, "metadata", "uid"))
        work.wait(lambda: self._still_there(api))
        return ""

    def _still_there(self, api: Api) -> list[str]:
        hangs = f"a process that hangs on its disk ends only when {self.node.name} reboots"
        return [f"the pod of {self.name} has not ended: {hangs}"] if self._has_claim(api) else []

    def _free_volume(self, work: DiskWork) -> str:
        """Makes the directory empty and takes the former claim out of the volume, unless that is done."""
        api = work.cluster.api
        volume = found(api, f"{VOLUMES}/{self.volume}")
        if not volume:
            raise UserError(f"There is no volume {self.volume}: `quorate refresh` and `quorate up` make it.")
        if text(volume, "spec", "claimRef", "uid") != self.identity:
            return "that is done"
        done = work.shell(self.node, script(self.directory, self.volume), LIMIT)
        if done.code != 0:
            said = (done.text.strip() or done.errors.strip() or done.ending)[-400:]
            raise UserError(
                f"{self.directory.path} of {self.node.name} was not made empty: {said}\n"
                "Mount a file system there that works, then run the same command again."
            )
        version = text(volume, "metadata", "resourceVersion")
        body: Object = {"metadata": {"resourceVersion": version}, "spec": {"claimRef": None}}
        api.ask("PATCH", f"{VOLUMES}/{self.volume}", body, content=MERGE)
        return done.text.strip()

    def _await_whole(self, work: DiskWork) -> str:
        work.wait(lambda: incomplete(work.read(), self.node.name))
        return ""


def find(cluster: LiveCluster, node: Node, member: str) -> FailedMember:
    """Returns a member with a volume on a machine. Raises UserError if the machine has no such member."""
    here = {name: quorum for quorum, name in members_on(cluster.plan, volumes_of(cluster.api, node.name))}
    if member not in here:
        has = f"it has {', '.join(here)}" if here else "it has none"
        raise UserError(f"{node.name} has no volume of {member} in use: {has}.")
    claim = claim_of(cluster.api, claim_name(member))
    return _member(cluster, node, member, text(claim, "metadata", "uid"))


def begun(cluster: LiveCluster, node: Node, member: str, operation: CloudOperation) -> FailedMember:
    """Returns the member whose replacement is under way: its claim may be deleted."""
    return _member(cluster, node, member, operation.identity)


def _member(cluster: LiveCluster, node: Node, member: str, identity: str) -> FailedMember:
    (service,) = (each for each in quorums_of(cluster.plan) if member in members_of(each))
    path = f"{data.root(ENVIRONMENT)}/{service.name}"
    directory = next(each for each in data.directories(cluster.plan, node) if each.path == path)
    return FailedMember(member, service.name, service.process, node, directory, identity)


def script(directory: DataDirectory, volume: str) -> str:
    """Returns the shell script that makes the directory of a volume empty on its machine."""
    owner = f"{directory.uid}:{directory.uid}"
    values = {"DIRECTORY": directory.path, "OWNER": owner, "MODE": data.MODE, "VOLUME": volume}
    lines = [f"{name}={shlex.quote(value)}" for name, value in values.items()]
    return "\n".join((*lines, _SCRIPT.read_text(encoding="utf-8")))


def _delete(api: Api, path: str, uid: str) -> None:
    """Deletes the object with a uid; it is not an error if it is gone, or another one has its name."""
    try:
        api.ask("DELETE", path, {"preconditions": {"uid": uid}})
    except ApiError as error:
        if error.status not in (404, 409):
            raise
