"""An OSD whose disk failed: Ceph copies its data from the other copies, and forgets it once nothing depends on it.

The OSD stays what it is until Ceph calls it safe to destroy: one that still runs is a source of copies. Then it is
stopped and purged, and openstack/scripts/ceph_osd.sh starts no OSD of that identity any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from console.errors import UserError
from operations.live_cluster import LiveCluster
from operations.living.ceph import Storage
from operations.living.cloud import OSD, LivingCloud
from operations.operation_lease import CloudOperation, on_machine
from operations.replacement import in_pods
from operations.replacement.completeness import incomplete
from operations.replacement.disk_steps import COPIED, DiskStep, DiskWork


@dataclass(frozen=True)
class FailedOsd:
    """An OSD whose disk failed."""

    number: str
    machine: str
    identity: str
    """Its uuid."""
    beside: tuple[str, ...]
    """The uuids of the other OSDs of its machine."""
    is_up: bool
    has_place: bool
    """Whether other OSDs can take its data."""
    devices: str = ""
    """Its disks, such as sdb; "" if they are not known."""
    is_begun: bool = False
    """Whether a run has begun: Ceph's own answer decides from then on when it may be purged."""

    @property
    def subject(self) -> str:
        return subject(self.number, self.machine)

    @property
    def process(self) -> str:
        return OSD

    @property
    def lost(self) -> str:
        disks = f" (its disks: {self.devices})" if self.devices else ""
        state = "It is up: with --dead, its disk is given up all the same" if self.is_up else "It is down"
        return f"OSD {self.number} of {self.machine}{disks}. {state}."

    @property
    def record(self) -> Mapping[str, Any]:
        return {"osds": (self.number,), "identity": self.identity, "beside": self.beside}

    def reasons(self, cloud: LivingCloud, cluster: LiveCluster) -> list[str]:
        return [*cloud.problems, *([] if self.is_begun else (*self._data(cloud), *self._stops(cluster)))]

    def _data(self, cloud: LivingCloud) -> Iterator[str]:
        """Yields why data could be on this disk only."""
        if not (found := cloud.storage):
            yield "no monitor of Ceph tells what its OSDs have; make the monitors answer first"
            return
        first = (
            f"wait while they look for copies, or start OSDs that have them: OSD {self.number} may have the only ones"
        )
        if found.stopped:
            yield f"{found.stopped} placement groups do not serve: {first}"
        # Ceph's figures of placement groups, by which `ok-to-stop` answers, are seconds old; its tree is not.
        hosts = _hosts_without(found, self.machine, is_up=self.is_up)
        for pool in found.pools if self.is_up else ():
            if hosts < pool.least:
                yield f"pool {pool.name} serves with {pool.least} copies, and {hosts} hosts have another OSD that is up"
        if found.unfound:
            yield f"{found.unfound} objects are not found on any OSD that is up: {first}"

    def _stops(self, cluster: LiveCluster) -> Iterator[str]:
        if self.is_up and (said := in_pods.blocks_stop(cluster, self.number)):
            yield (
                f"Ceph would stop to serve data without OSD {self.number}: {said}. Start other OSDs first, or wait "
                "until Ceph has copied what it lacks (`ceph -s`)"
            )

    def removal(self) -> tuple[DiskStep, ...]:
        does = f"mark OSD {self.number} out: Ceph copies its data to other OSDs"
        out = DiskStep(does, "this OSD; clients may be slower while data is copied", self._put_out)
        purge = (self._purge_step(),) if self.has_place else ()
        by_hand = (
            f"take the disk of OSD {self.number} out, put another one in, prepare it with `ceph-volume` in the pod of "
            f"ceph-osd on {self.machine}, and restart that pod (docs/openstack.md, Ceph)"
        )
        return (out, *purge, DiskStep(f"hold: {by_hand}"))

    def end(self) -> tuple[DiskStep, ...]:
        does = f"wait until a new OSD of {self.machine} is up, Ceph has all copies, and every member takes part"
        return (self._purge_step(), DiskStep(does, do=self._await_whole))

    def _purge_step(self) -> DiskStep:
        does = f"wait until Ceph says that OSD {self.number} is safe to destroy, stop it, and purge it"
        return DiskStep(does, "this OSD; the other OSDs of the machine run on", self._purge)

    def _there(self, cluster: LiveCluster) -> in_pods.Osd | None:
        return next((each for each in in_pods.all_osds(cluster) if each.identity == self.identity), None)

    def _put_out(self, work: DiskWork) -> str:
        if (found := self._there(work.cluster)) and found.is_in:
            in_pods.put_out(work.cluster, [self.number])
        return ""

    def _purge(self, work: DiskWork) -> str:
        """Purges the OSD, unless that is done: by then, another one may have its number."""
        work.wait(lambda: self._blocks_purge(work.cluster), COPIED)
        return "Ceph does not have it any more"

    def _blocks_purge(self, cluster: LiveCluster) -> list[str]:
        """Purges the OSD if nothing is in the way. Returns what is. One that was stopped starts again after 30 s."""
        if not (found := self._there(cluster)):
            return []
        if said := in_pods.blocks_purge(cluster, [self.number]):
            return [said]
        if found.is_up:
            in_pods.stop(cluster, self.number)
            return [f"OSD {self.number} is up"]
        in_pods.purge(cluster, [self.number])
        return []

    def _await_whole(self, work: DiskWork) -> str:
        work.wait(lambda: list(self._missing(work.cluster, work.read())), COPIED)
        return ""

    def _missing(self, cluster: LiveCluster, cloud: LivingCloud) -> Iterator[str]:
        here = in_pods.osds_of(cluster, self.machine)
        known = {self.identity, *self.beside}
        new = [osd for osd in in_pods.all_osds(cluster) if osd.number in here and osd.identity not in known]
        if not any(osd.is_up and osd.is_in for osd in new):
            yield f"{self.machine} has no new OSD that is up and in"
        if cloud.storage is None:
            yield "no monitor of Ceph tells whether it has all copies"
        elif cloud.storage.unclean:
            yield f"{cloud.storage.unclean} placement groups have not all their copies yet"
        yield from incomplete(cloud, self.machine)


def subject(number: str, machine: str) -> str:
    """Returns the subject of the replacement of an OSD's disk."""
    return on_machine(f"osd.{number}", machine)


def find(cluster: LiveCluster, cloud: LivingCloud, machine: str, number: str) -> FailedOsd:
    """Returns an OSD of a machine. Raises UserError if the machine has no such OSD, or if Ceph cannot be asked."""
    here = in_pods.osds_of(cluster, machine)
    if number not in here:
        has = f"it has {', '.join(here)}" if here else "it has none"
        raise UserError(f"{machine} has no OSD {number} in Ceph's tree: {has}.")
    osds = {each.number: each for each in in_pods.all_osds(cluster)}
    beside = tuple(osds[each].identity for each in here if each != number)
    is_up, devices = osds[number].is_up, in_pods.devices_of(cluster, number)
    place = _has_place(cloud, machine, is_up=is_up)
    return FailedOsd(number, machine, osds[number].identity, beside, is_up, place, devices)


def begun(cluster: LiveCluster, cloud: LivingCloud, machine: str, operation: CloudOperation) -> FailedOsd:
    """Returns the OSD whose replacement is under way. It may be purged, and another one may have its number."""
    (number,) = operation.osds
    is_up = any(each.is_up for each in in_pods.all_osds(cluster) if each.identity == operation.identity)
    place = _has_place(cloud, machine, is_up=is_up)
    return FailedOsd(number, machine, operation.identity, operation.beside, is_up, place, is_begun=True)


def _has_place(cloud: LivingCloud, machine: str, *, is_up: bool) -> bool:
    """Whether as many hosts have an OSD that is up, without that of the machine, as a pool has copies."""
    if not (found := cloud.storage):
        return False
    hosts = _hosts_without(found, machine, is_up=is_up)
    return hosts >= max((pool.copies for pool in found.pools), default=1)


def _hosts_without(storage: Storage, machine: str, *, is_up: bool) -> int:
    """Returns the number of hosts with an OSD that is up, if one of the machine is lost."""
    left = {**storage.up, machine: storage.up.get(machine, 0) - is_up}
    return sum(count > 0 for count in left.values())
