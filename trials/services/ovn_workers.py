"""Trials of several workers of Neutron's API on OVN, which share the events of OVN's databases, each a part.

Every worker enters itself into a list in Neutron's database (the hash ring). An event of a row is for one of them: if
that one is gone or deaf, the port of the row never becomes ACTIVE, and Nova waits for it in vain. Therefore many ports
are plugged, so that each worker has some.

The docstring of a failure is the name of its trial in the report.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from trials.services.containers import TriedContainer
from trials.services.openstack_services import START
from trials.services.openstack_trials import Programs
from trials.services.ovn_cloud import COMPUTE, OvnCloud
from trials.services.testbed import Broken, ServiceTestbed, require, until
from trials.trial_report import Proof, in_turn, without_writes

Failure = Callable[[OvnCloud, int], list[str]]
SERVER = "neutron-server"
PORTS = 15
"""Ports of a trial, each made by a connection of its own: any worker answers it. That one of three workers answers no
request, or gets no port's event, happens in a trial of 150. Project figure."""
_RING = "SELECT node_uuid FROM neutron.ovn_hash_ring WHERE updated_at > UTC_TIMESTAMP() - INTERVAL 60 SECOND"


def no_failure(cloud: OvnCloud, count: int) -> list[str]:
    """Several workers of the API share OVN's events."""
    return _all_work(cloud, count, "none")


def worker_killed(cloud: OvnCloud, count: int) -> list[str]:
    """kill -9 of a worker of the API: uWSGI starts another one in its place."""
    before = workers(cloud)
    os.kill(before[0], signal.SIGKILL)
    until("uWSGI has another worker", lambda: len(workers(cloud)) == count and workers(cloud) != before, START)
    return _all_work(cloud, count, "killed")


def server_replaced(cloud: OvnCloud, count: int) -> list[str]:
    """The server is stopped, which kills its workers in the test bed, and starts again."""
    old = ring(cloud)
    machine = cloud.services.processes[SERVER]
    machine.stop()
    left = ring(cloud)
    cloud.services.begin(SERVER)
    took = until("Neutron answers", lambda: cloud.services.answers(SERVER), START, 1)
    notes = [f"{len(left)} of its {len(old)} workers were still in the list when it had ended"]
    return [*notes, f"it answered again after {took:.0f} s", *_all_work(cloud, count, "replaced")]


FAILURES: tuple[Failure, ...] = (no_failure, worker_killed, server_replaced)


def prove(
    programs: Programs,
    ovn_root: Path,
    containers: Mapping[str, TriedContainer],
    count: int,
    failures: Sequence[Failure] = FAILURES,
) -> Iterator[Proof]:
    """Starts Neutron on OVN with `count` workers, and runs the failures until it does not survive one.

    `containers`: as those of ovn_neutron.prove, with so many workers. Yields the results. Raises Unavailable if this
    machine cannot run the test bed, and Broken if a service does not work.
    """
    with ServiceTestbed(programs.root) as testbed:
        cloud = OvnCloud(testbed, programs, ovn_root, containers)
        try:
            cloud.start()
        except (Broken, TimeoutError, subprocess.SubprocessError) as error:
            raise Broken(f"{error}\n{cloud.logs()}") from None
        yield from in_turn(
            "Neutron's workers on OVN", failures, lambda title, failure: _trial(title, cloud, failure, count), ()
        )


def _trial(name: str, cloud: OvnCloud, failure: Failure, count: int) -> Proof:
    started = time.monotonic()
    notes, problem = [""], ""
    try:
        notes = failure(cloud, count)
    except (Broken, TimeoutError, subprocess.SubprocessError) as error:
        problem = f"{error}\n{cloud.logs()}"
    return without_writes(name, time.monotonic() - started, notes, problem)


def ring(cloud: OvnCloud) -> set[str]:
    """Returns the workers in the list, as far as they have entered or confirmed themselves in the last minute."""
    return set(cloud.services.database.sql("mysqld-0", _RING).split())


def workers(cloud: OvnCloud) -> list[int]:
    """Returns the processes of uWSGI's workers. Their parent, the first process, is none."""
    return cloud.services.processes[SERVER].processes("uwsgi")[1:]


def _all_work(cloud: OvnCloud, count: int, name: str) -> list[str]:
    """Waits until all workers are in the list, answer requests, and make ports ACTIVE. Returns notes."""
    entered = until(f"{count} workers are in the list", lambda: len(ring(cloud)) == count, START, 1)
    made = cloud.ask(f"ports {COMPUTE} {name} {PORTS}")
    slowest = max(each["seconds"] for each in made)
    node = cloud.network.nodes[COMPUTE]
    for number, port in enumerate(made):
        tap = f"{name[:8]}{number}"
        plug = ["ovs-vsctl", "add-port", "br-int", tap, "--", "set", "interface", tap, "type=internal"]
        node.run([*plug, f"external-ids:iface-id={port['id']}"])
    waiting = {port["id"] for port in made}

    def active() -> bool:
        waiting.difference_update(each["id"] for each in cloud.ask(f"statuses {name}") if each["status"] == "ACTIVE")
        return not waiting

    try:
        took = until("all ports are ACTIVE", active, START, 1)
    except TimeoutError:
        raise Broken(f"{len(waiting)} of {len(made)} ports are not ACTIVE after {START} s") from None
    require(len(ring(cloud)) == count, f"the list has {len(ring(cloud))} workers")
    return [
        f"{count} workers were in the list after {entered:.0f} s",
        f"{len(made)} ports were made, the slowest request took {slowest:.1f} s",
        f"all of them were ACTIVE {took:.0f} s after they were plugged",
    ]
