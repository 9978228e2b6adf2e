"""Trials of Designate: a client makes zones while a pod with worker and BIND is killed, and asks all BINDs for them.

Keystone, Neutron's server and Designate run with their rendered jobs and configuration, on Galera, RabbitMQ and
memcached. BIND is Debian's. Each pod of designate-mdns has a worker and a BIND.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from trials.services import tempest_plugins
from trials.services.borrowed_programs import borrow
from trials.services.containers import TriedContainer
from trials.services.openstack_services import DOMAIN, START, ServiceCloud
from trials.services.openstack_trials import Programs
from trials.services.testbed import ServiceTestbed, until
from trials.trial_report import Proof, without_writes

_SERVERS = ("designate-mdns-0", "designate-mdns-1", "designate-mdns-2")
_PROJECTS = {
    "keystone": ("keystone",),
    "designate": ("designate-central", "designate-api", "designate-producer", *_SERVERS),
    "neutron": ("neutron-server",),
}
_ANSWER = "192.0.2.1"
"""The address of every name that openstack_client.py makes."""
_LIMIT = 300
"""Seconds until each BIND must have a change: a lost worker's zone waits for the producer, which looks every 120 s."""


def prove(programs: Programs, bind: Path, containers: Mapping[str, TriedContainer]) -> Iterator[Proof]:
    """Starts Keystone and Designate in the test bed, and yields the results of the trials.

    `bind`: Debian root with BIND. Raises Unavailable if this machine cannot run the test bed, and Broken if a service
    does not work.
    """
    with ServiceTestbed(programs.root) as testbed:
        cloud = ServiceCloud(testbed, containers, programs.release, _PROJECTS)
        testbed.name_members("designate-mdns-members", DOMAIN, _SERVERS)
        for machine in (*(cloud.processes[name] for name in _SERVERS), cloud.client):
            borrow(machine, bind, {Path(path).name: path for path in ("usr/sbin/named", "usr/bin/dig")})
        notes = cloud.start()
        yield _killed(cloud, notes)
        yield _port(cloud)
        yield _deleted(cloud)
        yield tempest_plugins.designate(cloud, [cloud.processes[name].address for name in _SERVERS])


def _killed(cloud: ServiceCloud, notes: Collection[str]) -> Proof:
    started = time.monotonic()
    gone, *others = _SERVERS
    cloud.write("zone")
    cloud.more(1)
    first = until("each BIND has the first zone", lambda: not _missing(cloud, {0}), _LIMIT, 1)
    cloud.more()
    cloud.processes[gone].kill()
    cloud.more(20)
    tried = cloud.end_write()
    made = cloud.acknowledged()
    there = _wait(cloud, made, others)
    cloud.begin(gone)
    back = _wait(cloud, made, _SERVERS)
    lost = _missing(cloud, made)
    found = (
        *notes,
        f"each BIND had the first zone after {first:.0f} s",
        f"the other BINDs had all zones {there:.0f} s after the last was made",
        f"the BIND of the killed pod had all zones {back:.0f} s after its start",
    )
    name = "Designate: kill -9 of one of three pods with a worker and BIND while zones are made"
    return Proof(name, tried, len(made), len(lost), time.monotonic() - started, found)


def _port(cloud: ServiceCloud) -> Proof:
    started = time.monotonic()
    name, address = cloud.use("port").split()
    resolves = until(
        "a port's name resolves", lambda: all(_address(cloud, each, name) == address for each in _SERVERS), _LIMIT, 1
    )
    title = "Designate: the name of a port of Neutron resolves"
    note = f"{name} after {resolves:.0f} s"
    return Proof(title, 1, 1, 0, time.monotonic() - started, (note,))


def _address(cloud: ServiceCloud, server: str, name: str) -> str:
    ask = ["dig", f"@{cloud.processes[server].address}", "+short", "+time=2", "+tries=1", name]
    return cloud.client.run(ask, check=False).strip()


def _deleted(cloud: ServiceCloud) -> Proof:
    started = time.monotonic()
    made = set(map(int, cloud.use("list zone").split()))
    cloud.use("clean zone")
    until(
        "no BIND has a zone",
        lambda: all(len(_missing(cloud, made, [name])) == len(made) for name in _SERVERS),
        _LIMIT,
        1,
    )
    name = "Designate: no BIND answers for deleted zones"
    return without_writes(name, time.monotonic() - started, (f"{len(made)} zones",))


def _wait(cloud: ServiceCloud, numbers: Collection[int], servers: Collection[str]) -> float:
    """Waits until the servers answer for all zones, at most `_LIMIT` seconds. Returns the seconds that this took."""
    started = time.monotonic()
    while _missing(cloud, numbers, servers) and time.monotonic() < started + _LIMIT:
        time.sleep(1)
    return time.monotonic() - started


def _missing(cloud: ServiceCloud, numbers: Collection[int], servers: Collection[str] = _SERVERS) -> set[int]:
    """Returns the numbers of the zones for which one of the servers does not give the address of `www`."""
    cloud.client.write("/names", "".join(f"www.written-{each}.example.org\n" for each in numbers))
    found = set(numbers)
    for server in servers:
        address = cloud.processes[server].address
        ask = ["dig", f"@{address}", "+noall", "+answer", "+time=2", "+tries=1", "-f", "/names"]
        lines = (line.split() for line in cloud.client.run(ask, check=False, seconds=START).splitlines())
        answers = {words[0] for words in lines if words[-2:] == ["A", _ANSWER]}
        found &= {each for each in found if f"www.written-{each}.example.org." in answers}
    return set(numbers) - found
