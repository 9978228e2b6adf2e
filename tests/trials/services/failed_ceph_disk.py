"""`quorate replace` of disks with real monitors and OSDs: the commands of the operation run on a real monitor.

The API server is that of the small cloud in memory, and a monitor's program stops and starts as its pod does there. The
members of other quorums count.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster.pod_exec import CommandOutput
from commands import replacement
from commands.replacement import ReplaceRequest
from console.errors import UserError
from operations import cloud_pods, operation_lease, wholeness_wait
from operations.cloud_pods import PodAnswer
from operations.live_cluster import LiveCluster
from operations.living import answers, ceph
from operations.living.answers import Answer
from operations.living.cloud import LivingCloud
from operations.replacement import in_pods
from tests.operations.maintenance.small_cloud import Killed
from tests.operations.replacement.dying_cloud import stack_file
from tests.operations.replacement.failing_disk import DiskCloud, use
from tests.stacks import ROOT
from trials.services.ceph import MONITORS, START, STORAGE, CephCluster
from trials.services.testbed import Broken, ServiceMachine, require, until


class RealCeph(DiskCloud):
    """The small cloud, whose Ceph is a real one."""

    def __init__(self, directory: Path, cluster: CephCluster) -> None:
        file = stack_file(directory)
        text = file.read_text()
        for number, name in enumerate(STORAGE, start=1):
            text = text.replace(f"name: storage{number} ", f"name: {name} ")
        file.write_text(text)
        super().__init__(file)
        self.ceph = cluster
        self.killed_at = ""
        """Text of a command before which the run is killed; "" for none."""

    def run(self, _cluster: LiveCluster, _process: str, _container: str, command: Sequence[str]) -> PodAnswer:
        if self.killed_at and self.killed_at in " ".join(command):
            self.killed_at = ""
            raise Killed
        monitor = self._monitor()
        script = '"$@" 2>/run/errors; echo "@@$?"; cat /run/errors'
        said = monitor.run(["sh", "-c", script, "sh", *command], seconds=120)
        output, _, rest = said.partition("@@")
        code, _, errors = rest.partition("\n")
        return PodAnswer(monitor.name, CommandOutput(output, errors, int(code)))

    def read(self) -> LivingCloud:
        found = super().read()
        first = self._monitor().name
        asked = {
            name: self._answer(name, list(ceph.QUESTIONS) if name == first else [ceph.MONITOR]) for name in MONITORS
        }
        monitors = ceph.read("ceph-mon", MONITORS, asked)
        quorums = tuple(monitors if each.name == monitors.name else each for each in found.quorums)
        return replace(found, quorums=quorums, storage=ceph.storage(asked))

    def _answer(self, name: str, questions: Sequence[str]) -> Answer:
        monitor = self.ceph.monitors[name]
        if not monitor.runs:
            return Answer(problem="its container is terminated", is_down=True)
        script = answers.script({each: ceph.QUESTIONS[each] for each in questions})
        command = ["env", f"POD_NAME={name}", "sh", "-c", script]
        return answers.parsed(monitor.run(command, seconds=120))

    def _delete_pod(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.ceph.kill(name)
        return super()._delete_pod(name, body)

    def _free(self, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        member = self.bound[name].removeprefix("data-")
        self.ceph.monitors[member].run(["sh", "-c", "rm -rf /var/lib/ceph/mon/*"])
        self.ceph.start(member)
        return super()._free(name, body)

    def _monitor(self) -> ServiceMachine:
        return next(machine for machine in self.ceph.monitors.values() if machine.runs)

    def replace(self, host: str, osd: int, **values: Any) -> int:
        """Runs `quorate replace` for an OSD."""
        return self.command(host, osd=str(osd), **values)

    def command(self, machine: str, **values: Any) -> int:
        """Runs `quorate replace`, which may be killed."""
        try:
            return replacement.run(ROOT, "cloud", ReplaceRequest(machine, **values))
        finally:
            self.forget_holder()

    def real(self, osd: int) -> in_pods.Osd | None:
        """Returns an OSD of the real Ceph by its number. A monitor of a busy host may answer late."""
        for _ in range(4):
            with suppress(UserError):
                return next((each for each in in_pods.all_osds(self.cluster()) if each.number == str(osd)), None)
        raise Broken("no monitor answers")

    def is_up(self, osd: int) -> bool:
        return (found := self.real(osd)) is not None and found.is_up

    def process(self, host: str, osd: int) -> int:
        """Returns the process of an OSD on its host."""
        (pid,) = (
            each
            for each in self.ceph.storage[host].processes("ceph-osd")
            if f"\0--id\0{osd}\0" in Path(f"/proc/{each}/cmdline").read_text(encoding="utf-8")
        )
        return pid

    def restart(self, host: str) -> None:
        """Restarts the pod of a host."""
        self.ceph.storage[host].stop()
        self.ceph.start(host)

    def said(self, host: str, text: str) -> bool:
        """Whether the program of a host has written a text."""
        return text in self.ceph.storage[host].log.read_text(errors="replace")


def use_real(monkeypatch: pytest.MonkeyPatch, cloud: RealCeph) -> None:
    """Lets `quorate replace` work on the real Ceph, with the pauses and limits of a run."""
    limits = {module: vars(module).copy() for module in (operation_lease, wholeness_wait)}
    use(monkeypatch, cloud)
    monkeypatch.setattr(cloud_pods, "run", cloud.run)
    for module, names in ((operation_lease, ("RENEWED", "STALE", "POLL")), (wholeness_wait, ("PAUSE", "RETURN"))):
        for name in names:
            monkeypatch.setattr(module, name, limits[module][name])


def disk_fails(cloud: RealCeph) -> list[str]:
    """The disk of one of a host's two OSDs loses its label, and the OSD ends. Its data goes to the other OSD."""
    host, lost, other = STORAGE[0], 0, 3
    cloud.ceph.prepare(host)
    cloud.restart(host)
    until("both OSDs are up", lambda: cloud.is_up(lost) and cloud.is_up(other), START, 1)
    cloud.ceph.wait_ready()
    pid, before = cloud.process(host, other), cloud.real(lost)
    block = f"/var/lib/ceph/osd/ceph-{lost}/block"
    cloud.ceph.storage[host].run(["dd", "if=/dev/zero", f"of={block}", "bs=64k", "count=1", "conv=notrunc"])
    os.kill(cloud.process(host, lost), signal.SIGKILL)
    down = until("Ceph calls the OSD down", lambda: not cloud.is_up(lost), START, 1)
    until("its disk is not activated", lambda: cloud.said(host, f"OSD {lost} has ended"), START, 1)
    require(not cloud.ceph.active(host), "the pod is ready without one of its OSDs")
    admitted = until("the plan admits it", lambda: cloud.replace(host, lost, plan=True) == 0, START, 1)
    removed = timed(cloud, "osd purge", host, lost, is_dead=True)
    require(cloud.real(lost) is None, "the OSD was not purged")
    until("its disk is left alone", lambda: cloud.said(host, f"Ceph has purged OSD {lost}"), START, 1)
    require(cloud.ceph.active(host), "the pod is not ready without the purged OSD")
    require(cloud.process(host, other) == pid, "the other OSD of the host was restarted")
    cloud.ceph.storage[host].run(["rm", "-r", str(Path(block).parent)])
    cloud.ceph.prepare(host)
    cloud.restart(host)
    ended = timed(cloud, "", host, lost, end=True)
    after = cloud.real(lost)
    require(bool(after and after.is_up and before and after.identity != before.identity), f"OSD {lost} is {after}")
    return [
        f"Ceph called the OSD down after {down:.0f} s, and the plan admitted its removal {admitted:.0f} s later",
        "the other OSD of the host ran on in the same process",
        f"removed in {removed:.0f} s, with a run that was killed before `osd purge`; the next OSD got its number",
        f"`--end` took {ended:.0f} s after the new disk",
    ]


def disk_is_given_up(cloud: RealCeph) -> list[str]:
    """The only OSD of a host runs, and is given up: it is purged after a new one has its data, and stays off."""
    host, lost, new = STORAGE[1], 1, 4
    whole(cloud)
    removed = timed(cloud, "", host, lost, is_dead=True)
    found = cloud.real(lost)
    require(bool(found and found.is_up and not found.is_in), f"OSD {lost} is {found}")
    cloud.ceph.prepare(host)
    cloud.restart(host)
    until("both OSDs are up", lambda: cloud.is_up(lost) and cloud.is_up(new), START, 1)
    pid = cloud.process(host, new)
    ended = timed(cloud, "osd purge", host, lost, end=True)
    require(cloud.real(lost) is None, "the OSD was not purged")
    until("its disk is left alone", lambda: cloud.said(host, f"Ceph has purged OSD {lost}"), START, 1)
    require(cloud.process(host, new) == pid, "the other OSD of the host was restarted")
    cloud.restart(host)
    until("only the new OSD starts", lambda: len(cloud.ceph.storage[host].processes("ceph-osd")) == 1, START, 1)
    cloud.ceph.wait_ready()
    return [
        f"removed in {removed:.0f} s: it was out, and ran on",
        f"`--end` took {ended:.0f} s, with a run that was killed before `osd purge`; its disk stayed in the machine",
    ]


def another_is_down(cloud: RealCeph) -> list[str]:
    """An OSD of another host is down: Ceph would have too few copies, and the command refuses."""
    whole(cloud)
    cloud.ceph.kill(STORAGE[2])
    until("Ceph calls it down", lambda: not cloud.is_up(2), START, 1)
    reasons = until_refused(cloud)
    require(cloud.leases == {}, "a refusal has left its Lease")
    cloud.ceph.start(STORAGE[2])
    return [f"refused: {reasons}", f"all were ready after {cloud.ceph.wait_ready():.0f} s"]


def monitors_disk_fails(cloud: RealCeph) -> list[str]:
    """The local volume of a monitor that runs is given up: it leaves Ceph's map, and comes back empty."""
    member = MONITORS[1]
    machine = cloud.homes[member]
    began = time.monotonic()
    require(cloud.command(machine, member=member, is_dead=True) == 0, "the command did not end with 0")
    removed = time.monotonic() - began
    require(member not in cloud.ceph.ceph("mon", "dump"), "Ceph still lists the monitor")
    cloud.ceph.more()
    began = time.monotonic()
    require(cloud.command(machine, member=member, end=True) == 0, "the command did not end with 0")
    ended = time.monotonic() - began
    require(sorted(cloud.ceph.quorum(member)) == list(MONITORS), "the monitor is not in the quorum")
    return [f"removed in {removed:.0f} s while it ran; `--end`, with its empty disk, took {ended:.0f} s"]


def osd_is_killed(cloud: RealCeph) -> list[str]:
    """kill -9 of one OSD of a host with two: it starts again alone."""
    host, killed, other = STORAGE[0], 0, 3
    pid = cloud.process(host, other)
    os.kill(cloud.process(host, killed), signal.SIGKILL)
    down = until("Ceph calls the OSD down", lambda: not cloud.is_up(killed), START, 0.5)
    back = until("it is up again", lambda: cloud.is_up(killed), START, 0.5)
    require(cloud.process(host, other) == pid, "the other OSD of the host was restarted")
    cloud.ceph.wait_ready()
    return [f"Ceph called it down after {down:.0f} s, and it was up again {back:.0f} s later"]


def until_refused(cloud: RealCeph) -> str:
    """Runs the command for the OSD of the second host. Returns why it was refused."""
    try:
        cloud.replace(STORAGE[1], 4, is_dead=True)
    except UserError as refusal:
        return " ".join(str(refusal).split())
    raise Broken("the command did not refuse")


def whole(cloud: RealCeph) -> None:
    """Waits until Ceph has all copies, and has had them for some seconds: its figures are seconds old."""
    for _ in range(3):
        until(
            "Ceph has all copies", lambda: (found := cloud.read().storage) is not None and not found.unclean, START, 1
        )
        time.sleep(5)


def timed(cloud: RealCeph, killed_at: str, host: str, osd: int, **values: Any) -> float:
    """Runs the command, kills it before a command of Ceph, and runs it again. Returns the seconds of both runs.

    A new Ceph divides its placement groups now and then, which do not serve for a moment: a refusal for that is asked
    again, as its text says.
    """
    began = time.monotonic()
    cloud.killed_at = killed_at

    def is_done() -> bool:
        try:
            return cloud.replace(host, osd, **values) == 0
        except UserError as refusal:
            if "Nothing was changed" not in str(refusal):
                raise
            return False
        except Killed:
            return False

    until("the command ends with 0", is_done, START, 1)
    require(not cloud.killed_at, f"the command has not run `{killed_at}`")
    return time.monotonic() - began
