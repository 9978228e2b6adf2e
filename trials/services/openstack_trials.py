"""Trials of OpenStack: a client uses the services, cluster members fail under writes, and tempest's smoke tests run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from trials.services import tempest
from trials.services.containers import TriedContainer
from trials.services.openstack_services import PROCESSES, ServiceCloud
from trials.services.testbed import ServiceTestbed
from trials.trial_report import Proof


@dataclass(frozen=True)
class Programs:
    """Directories of programs: a Debian root with database and message queue, and an environment with OpenStack."""

    root: Path
    release: Path


def prove(programs: Programs, containers: Mapping[str, TriedContainer]) -> Iterator[Proof]:
    """Starts OpenStack in the test bed, uses it, and kills a member of each cluster under writes. Yields the results.

    Raises Unavailable if this machine cannot run the test bed, and Broken if a service does not work.
    """
    with ServiceTestbed(programs.root) as testbed:
        cloud = ServiceCloud(testbed, containers, programs.release)
        started = time.monotonic()
        notes = cloud.start()
        for project in PROCESSES:  # a second run of a job must change nothing
            cloud.run_jobs(project, ["identity"])
        steps = cloud.use("everything").splitlines()
        seconds = time.monotonic() - started
        name = "OpenStack: a server boots, an image, a network, a volume and a stack are made and deleted"
        hits = f"memcached answered {cloud.cached()} lookups"
        yield Proof(name, len(steps), len(steps), 0, seconds, (*notes, *steps, hits))
        yield _one_of_each_killed(cloud)
        yield tempest.smoke(cloud)


def _one_of_each_killed(cloud: ServiceCloud) -> Proof:
    started = time.monotonic()
    cloud.write()
    cloud.more()
    cloud.database.kill("mysqld-1")
    cloud.queue.kill("rabbitmq-0")
    cloud.caches[0].kill()
    silence = cloud.more()
    cloud.database.start("mysqld-1")
    cloud.queue.start("rabbitmq-0")
    cloud.begin_cache(cloud.caches[0])
    back = max(cloud.database.wait_ready("mysqld-1"), cloud.queue.wait_ready("rabbitmq-0"))
    cloud.more()
    tried = cloud.end_write()
    acknowledged = cloud.acknowledged()
    lost = acknowledged - {int(line) for line in cloud.use("list").split()}
    notes = (f"writes went on after {silence:.1f} s", f"the members were ready {back:.0f} s after their start")
    name = "OpenStack: kill -9 of a member of the database, the queue and the cache while networks are made"
    return Proof(name, tried, len(acknowledged), len(lost), time.monotonic() - started, notes)
