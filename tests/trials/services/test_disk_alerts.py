"""A real member has a slow disk, or one that completes nothing: how long until the rendered Prometheus names it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from openstack.config.data_nodes import data_nodes
from tests.stacks import STACKS
from tests.trials.services.monitoring import Monitoring, start_node_exporter
from trials.counted_disk import CountedDisk
from trials.services import ceph, galera, rabbitmq, stalls
from trials.services.containers import TriedContainer
from trials.services.testbed import ServiceMachine, ServiceTestbed, until

LIMIT = 300
"""Seconds until something must be seen on a busy machine. The test prints how long each took."""
QUIET = 240
"""Seconds for which fast disks under load are watched: twice as long as the longer alert looks back."""
NAMED, WARNED, CEPH = "DiskSlow", "DiskStaysSlow", "CephRequestsSlow"
LOG = "log"
WRITER = """\
import os, sys
log = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
while True:
    os.write(log, bytes(500))
    os.fdatasync(log)
"""
_LEAST = (
    "min by (device) (min_over_time((rate(node_disk_writes_completed_total[30s]) / rate(node_disk_io_time_seconds_total"
    f"[30s]))[{QUIET}s:15s]))"
)
"""The least number of writes that a disk completed in a second in which it was busy."""


class DiskUnderWatch:
    """The disk of a machine, with the rendered node-exporter of its node, Prometheus and Alertmanager.

    The kernel's figures are those of the host, so that the disks of all machines are those of the node.
    """

    def __init__(
        self,
        machine: ServiceMachine,
        service: str,
        roots: tuple[Path, Path],
        containers: Mapping[str, TriedContainer],
    ) -> None:
        """`roots`: the Debian roots with Prometheus and with node-exporter."""
        assert isinstance(machine.disk, CountedDisk)
        self.machine, self.disk = machine, machine.disk
        nodes = data_nodes(plan(load_file(STACKS["dev"])))
        self.node = next(node for node in nodes if service in node.services)
        exporter = machine.testbed.add("node", root=roots[1])
        start_node_exporter(exporter, containers["node-exporter/node-exporter"])
        at = {self.node.address: exporter.address}
        self.monitoring = Monitoring(
            machine.testbed, containers, root=roots[0], in_a_hurry=False, node=exporter, addresses=at
        )
        known = f'node_disk_io_time_seconds_total{{job="disks",device="{self.disk.name}"}}'
        until(f"Prometheus knows {self.disk.name}", lambda: self.monitoring.query(known), LIMIT, 1)

    def stays_quiet(self, more: Callable[[], float]) -> None:
        """Watches fast disks under load. `more`: waits until the load goes on."""
        # Disks of other trials on the host are the node's too.
        disks = [each.disk for each in self.machine.testbed.machines.values()]
        said = [f"the disk {each.name} " for each in disks if isinstance(each, CountedDisk)]
        end = time.monotonic() + QUIET
        while time.monotonic() < end:
            named = self.monitoring.summaries(NAMED) | self.monitoring.summaries(WARNED)
            assert not [each for each in named if any(name in each for name in said)]
            time.sleep(1)
        more()
        least = {each["metric"]["device"]: each["value"][1] for each in self.monitoring.query(_LEAST)}
        print(f"{QUIET} s under load: no alert; the least writes in a busy second: {least}", flush=True)

    def slow(self, *alerts: str) -> None:
        """Makes the disk slow until each alert names it, and fast again until none does."""
        self._named(
            "slow", lambda: stalls.SLOW_DISK.begin(self.machine), lambda: stalls.SLOW_DISK.end(self.machine), alerts
        )

    def halt(self, *alerts: str, also: Mapping[str, str] | None = None) -> None:
        """Lets the disk complete nothing until each alert names it. `also`: what further alerts say, by their names."""
        self._named("halted", lambda: self.disk.halt(on=True), lambda: self.disk.halt(on=False), alerts, also)

    def _named(
        self,
        how: str,
        begin: Callable[[], None],
        end: Callable[[], None],
        alerts: tuple[str, ...],
        also: Mapping[str, str] | None = None,
    ) -> None:
        said = dict.fromkeys(alerts, f"{self.node.name}: the disk {self.disk.name} completes ") | dict(also or {})
        began = time.monotonic()
        begin()
        try:
            for alert, summary in said.items():
                self.monitoring.named(alert, summary, LIMIT)
                print(f"{alert} {time.monotonic() - began:.0f} s after the disk was {how}", flush=True)
            told = self.monitoring.living_alerts().firing
            mine = [each for each in told if each.name in said]
            print("quorate status:", *(f"{each.severity} {each.name}: {each.summary}" for each in mine), sep="\n  ")
            # An OSD whose disk is fast waits too, for the copies on the other one.
            assert all(any(each.name == name and text in each.summary for each in mine) for name, text in said.items())
        except TimeoutError:
            print(Path("/proc/diskstats").read_text(), self.monitoring.query('{job="disks"}'), flush=True)
            raise
        finally:
            end()
        over = self.monitoring.over(*said, seconds=LIMIT)
        print(f"no alert {over:.0f} s after the disk was as before", flush=True)


@pytest.mark.heavy
def test_a_slow_disk_is_named_within_a_minute(
    root: Path, node_exporter_root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    """A program writes as the log of a member: small records, each synced."""
    with ServiceTestbed(root, CountedDisk) as testbed:
        writer = testbed.add("writer")
        writer.add_disk("/data")
        writer.background(["python3", "-c", WRITER, f"/data/{LOG}"], "root")
        watched = DiskUnderWatch(writer, "rabbitmq", (root, node_exporter_root), containers)

        def written() -> int:
            return int(writer.run(["stat", "--format=%s", f"/data/{LOG}"]))

        def more() -> float:
            before = written()
            return until("records are written", lambda: written() > before, LIMIT)

        more()
        watched.stays_quiet(more)
        watched.slow(NAMED, WARNED)
        watched.halt(NAMED)
        watched.stays_quiet(more)


@pytest.mark.heavy
def test_a_slow_disk_of_a_member_of_rabbitmq_is_named_within_a_minute(
    root: Path, node_exporter_root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    with ServiceTestbed(root, CountedDisk) as testbed:
        cluster = rabbitmq.RabbitmqCluster(testbed, containers["rabbitmq/rabbitmq"])
        print(*rabbitmq.begin(cluster), flush=True)
        first, *_ = cluster.members.values()
        watched = DiskUnderWatch(first, "rabbitmq", (root, node_exporter_root), containers)
        cluster.load()
        cluster.more()
        watched.stays_quiet(cluster.more)
        watched.slow(NAMED)
        cluster.wait_ready(*cluster.members)
        cluster.more()
        watched.halt(NAMED)


@pytest.mark.heavy
def test_a_slow_disk_of_a_member_of_galera_is_named_within_a_minute(
    root: Path, node_exporter_root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    with ServiceTestbed(root, CountedDisk) as testbed:
        cluster = galera.GaleraCluster(testbed, containers["mysqld/mariadb"])
        print(*galera.begin(cluster), flush=True)
        *_, last = cluster.members.values()
        watched = DiskUnderWatch(last, "mysqld", (root, node_exporter_root), containers)
        load = galera.Load(cluster, one_writer=True)
        load.start()
        load.more()
        watched.stays_quiet(load.more)
        watched.slow(NAMED)


@pytest.mark.heavy
def test_a_slow_disk_of_an_osd_is_named_within_a_minute(
    ceph_root: Path, root: Path, node_exporter_root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    with ServiceTestbed(ceph_root, CountedDisk) as testbed:
        cluster = ceph.CephCluster(testbed, containers)
        print(*ceph.begin(cluster), flush=True)
        first, *_ = cluster.storage.values()
        watched = DiskUnderWatch(first, "ceph-osd", (root, node_exporter_root), containers)
        cluster.load()
        watched.stays_quiet(cluster.more)
        watched.slow(NAMED)
        cluster.wait_ready()
        watched.halt(NAMED, also={CEPH: "Ceph: osd.0 has "})
