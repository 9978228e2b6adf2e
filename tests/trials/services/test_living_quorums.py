"""The readers of `quorate status` ask real members that run, pause and die, and say the same of each as was done to it.

tests/operations/living has the answers that were recorded so; here the questions themselves are tried again.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from blueprint.stackfile.settings import Networks
from components import templates
from components.k8s_master import etcd as component
from console.progress import Reporter
from openstack.ovn_clients import DATABASE_NAMES
from operations.living import etcd as etcd_reader
from operations.living import galera as galera_reader
from operations.living import ovn as ovn_reader
from operations.living import rabbitmq as rabbitmq_reader
from operations.living.answers import PATIENCE, Answer, late, parsed, script
from operations.living.quorum import LivingQuorum
from operations.living.readers import Read
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.stacks import STACKS
from tests.trials.services.stack import documents
from toolchain import cluster_programs
from trials.services import ovn
from trials.services.containers import TriedContainer, read
from trials.services.etcd import EtcdCluster, RenderedEtcd
from trials.services.galera import GaleraCluster
from trials.services.ovn_cluster import OvnCluster
from trials.services.rabbitmq import RabbitmqCluster
from trials.services.testbed import ServiceMachine, ServiceTestbed, until

pytestmark = pytest.mark.heavy

LIMIT = 120
"""Seconds within which a quorum must be named as it is: RabbitMQ notices a silent member after up to 75 s."""
Members = Mapping[str, ServiceMachine]


def test_etcd(root: Path) -> None:
    members = plan(load_file(STACKS["dev"])).members
    files = templates.fill(component.parts(members[0], members, CERTIFICATES).plain_files, {})
    program = cluster_programs.ensure(Reporter()) / "etcd"
    with ServiceTestbed(root) as testbed:
        cluster = EtcdCluster(testbed, RenderedEtcd(program, files["/etc/etcd/etcd.env"]))
        for machine in cluster.members.values():
            machine.install(cluster_programs.ensure(Reporter(), cluster_programs.NODE) / "etcdctl")
        cluster.start(*cluster.members)
        cluster.wait_ready()

        def ask(machine: ServiceMachine) -> Answer:
            return asked(machine, etcd_reader.questions(f"http://{machine.address}:2379"), "root")

        named_as_it_is(cluster.members, etcd_reader.read, ask, cluster.start)


def test_galera(root: Path, containers: Mapping[str, TriedContainer]) -> None:
    with ServiceTestbed(root) as testbed:
        cluster = GaleraCluster(testbed, containers["mysqld/mariadb"])
        cluster.start(*cluster.members)
        cluster.wait_ready(*cluster.members)

        def ask(machine: ServiceMachine) -> Answer:
            return asked(machine, galera_reader.QUESTIONS, "mysql")

        named_as_it_is(cluster.members, galera_reader.read, ask, cluster.start)


def test_rabbitmq(root: Path, containers: Mapping[str, TriedContainer]) -> None:
    with ServiceTestbed(root) as testbed:
        cluster = RabbitmqCluster(testbed, containers["rabbitmq/rabbitmq"])
        cluster.start(*cluster.members)
        cluster.wait_ready(*cluster.members)

        def ask(machine: ServiceMachine) -> Answer:
            return asked(machine, rabbitmq_reader.QUESTIONS, "rabbitmq")

        named_as_it_is(cluster.members, rabbitmq_reader.read, ask, cluster.start)


def test_ovn(ovn_root: Path) -> None:
    containers = read(documents("dev", networks=Networks(backend="ovn")))
    with ServiceTestbed(ovn_root) as testbed:
        client = testbed.add("client")
        for process in DATABASE_NAMES:
            cluster = OvnCluster(testbed, containers[f"{process}/{process}-db-server"], client)
            ovn.begin(cluster)

            def ask(machine: ServiceMachine, process: str = process) -> Answer:
                return asked(machine, ovn_reader.questions(process), "root")

            named_as_it_is(cluster.members, ovn_reader.read, ask, cluster.start)


def asked(machine: ServiceMachine, questions: Mapping[str, str], user: str) -> Answer:
    """Asks a member as `quorate status` does in its pod."""
    command = ["sh", "-c", script(questions)]
    try:
        return parsed(machine.run(command, user=user, check=False, seconds=PATIENCE))
    except subprocess.TimeoutExpired as error:
        return late((error.stdout or b"").decode())


def named_as_it_is(
    members: Members, read: Read, ask: Callable[[ServiceMachine], Answer], start: Callable[[str], object]
) -> None:
    """Requires the right words for: all run, one pauses, all run, one is killed, two are killed."""
    _, second, third = members

    def named(standing: str, lost: Iterable[str]) -> None:
        found: list[LivingQuorum] = []

        def agrees() -> bool:
            found.append(read("quorum", tuple(members), {name: ask(machine) for name, machine in members.items()}))
            counting = {member.name for member in found[-1].members if member.counts}
            return found[-1].standing == standing and (standing == "lost" or counting == members.keys() - set(lost))

        until(f"{standing} without {lost}", agrees, LIMIT, 1)

    named("whole", ())
    members[third].freeze()
    named("reduced", [third])
    members[third].thaw()
    members[third].kill()  # RabbitMQ's does not always join again by itself after a pause
    named("reduced", [third])
    start(third)
    named("whole", ())
    members[third].kill()
    named("reduced", [third])
    members[second].kill()
    named("lost", [second, third])
