"""OpenStack in the test bed with its rendered configuration and jobs, and three members each of Galera, RabbitMQ,
memcached.

The rendered jobs run, then the services start, and a client uses them. It has no Ceph, KVM and ProxySQL. Therefore
images and backups are files, Cinder and Nova use fake drivers for volumes and virtual machines, and services connect to
the first member of Galera directly. Neutron's agents do not run, so virtual machines have no network.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from blueprint.openstack.projects.records import all_own_records
from openstack.config.ports import MEMCACHED
from trials.services import galera, rabbitmq
from trials.services.containers import TriedContainer
from trials.services.testbed import Broken, ServiceMachine, ServiceTestbed, place, require, until

DOMAIN = "openstack.svc"
CACHES = 3
START = 300
"""Seconds that the start of a service or a job may take on a busy machine."""
PROCESSES: Mapping[str, tuple[str, ...]] = {
    "keystone": ("keystone",),
    "placement": ("placement-api",),
    "glance": ("glance-api",),
    "neutron": ("neutron-server",),
    "nova": ("nova-conductor", "nova-scheduler", "nova-api", "nova-novncproxy", "nova-compute"),
    "cinder": ("cinder-api", "cinder-scheduler", "cinder-volume", "cinder-backup"),
    "heat": ("heat-api", "heat-api-cfn", "heat-engine"),
}
"""The OpenStack projects in the order of their start, each with the processes that run in the test bed."""
JOBS = ("databases", "messaging", "notifications", "db-sync", "cells", "bootstrap", "pools", "identity")
"""Ends of the names of a project's jobs, in the order in which the jobs run. A project has some of them."""
_RECORDS = all_own_records()
PORTS = {
    name: _RECORDS.port(name, next(iter(process.exposed)))
    for name, process in _RECORDS.processes.items()
    if process.exposed
}
"""The port on which a process answers its clients, if it has such a port."""
IDENTITY = f"http://keystone.{DOMAIN}:{PORTS['keystone']}/v3"
OVERRIDES: Mapping[str, Mapping[str, str]] = {
    "glance-api": {
        "OS_DEFAULT__ENABLED_BACKENDS": "files:file",
        "OS_GLANCE_STORE__DEFAULT_BACKEND": "files",
        "OS_FILES__FILESYSTEM_STORE_DATADIR": "/var/lib/glance/images",
    },
    "nova-compute": {"OS_DEFAULT__COMPUTE_DRIVER": "fake.FakeDriver"},
    # With the rendered interval, Nova would find the new compute only after 5 minutes.
    "nova-scheduler": {"OS_SCHEDULER__DISCOVER_HOSTS_IN_CELLS_INTERVAL": "10"},
    # The test bed has no API server, and one instance: without its file, it takes no turns.
    "cinder-volume": {
        "OS_CEPH__VOLUME_DRIVER": "cinder.tests.fake_driver.FakeLoggingVolumeDriver",
        "CINDER_CONFIGURATION": "/dev/null",
    },
    "cinder-backup": {"OS_DEFAULT__BACKUP_DRIVER": "cinder.backup.drivers.posix.PosixBackupDriver"},
}
"""Environment variables that override options the test bed cannot use, by container. oslo.config reads
OS_<SECTION>__<OPTION>."""
CLIENT = "/client.py"
"""Where the client's machine has openstack_client.py."""
_CLIENT = Path(__file__).with_name("openstack_client.py")


class ServiceCloud:
    """An OpenStack cloud in the test bed: Galera, RabbitMQ, memcached, a machine for each process, and a client."""

    def __init__(
        self,
        testbed: ServiceTestbed,
        containers: Mapping[str, TriedContainer],
        release: Path,
        projects: Mapping[str, tuple[str, ...]] = PROCESSES,
        program: Path = _CLIENT,
    ) -> None:
        """`projects`: as PROCESSES. A name with a number at its end, such as designate-worker-1, is one of several
        instances of a process. `program`: what `use` and `write` run.
        """
        self.testbed, self.release, self._projects = testbed, release, projects
        self._containers = containers
        self.database = galera.GaleraCluster(testbed, containers["mysqld/mariadb"])
        self.queue = rabbitmq.RabbitmqCluster(testbed, containers["rabbitmq/rabbitmq"])
        self.caches = [testbed.add(f"memcached-{number}") for number in range(CACHES)]
        self.processes = {name: testbed.add(name, release) for names in projects.values() for name in names}
        self.client = testbed.add("openstack-client", release)
        testbed.name_members("memcached-members", DOMAIN, [machine.name for machine in self.caches])
        testbed.name_services(DOMAIN, {**self.processes, "proxysql": self.database.members["mysqld-0"]})
        self.password = containers["keystone-bootstrap/keystone-bootstrap"].variables["OS_BOOTSTRAP_PASSWORD"]
        # The page of noVNC, which Kolla's image contains.
        if console := self.processes.get("nova-novncproxy"):
            console.write("/usr/share/novnc/vnc_lite.html", "")
        self.client.write(CLIENT, program.read_text(encoding="utf-8"))
        self.client.write("/account.sh", _assigned(_account(self.password)), mode="0600")

    def start(self) -> list[str]:
        """Starts all clusters and services in the order of the projects' needs. Returns notes for the report."""
        notes = [*galera.begin(self.database), *rabbitmq.begin(self.queue)]
        for machine in self.caches:
            self.begin_cache(machine)
        for project, names in self._projects.items():
            started = time.monotonic()
            self.run_jobs(project, JOBS)
            for name in names:
                self.begin(name)
            until(f"{project} answers", lambda names=names: all(map(self.answers, names)), START, 1)
            notes.append(f"{project} was ready after {time.monotonic() - started:.0f} s")
        return notes

    def run_jobs(self, project: str, jobs: Sequence[str]) -> None:
        """Runs the jobs of a project whose names end with `jobs`, one after the other. Raises Broken if a job fails."""
        for job in jobs:
            if container := self._containers.get(f"{project}-{job}/{project}-{job}"):
                self._run(container)

    def _run(self, job: TriedContainer) -> None:
        """Runs a job to its end, on a machine that only this job uses. Raises Broken if the job fails."""
        release = None if job.workload.endswith("-databases") else self.release
        machine = self.testbed.machines.get(job.workload) or self.testbed.add(job.workload, release)
        machine.write("/start.sh", self.script(machine, [job]), mode="0700")
        try:
            machine.run(["bash", "/start.sh"], seconds=START)
        except subprocess.CalledProcessError as error:
            raise Broken(f"job {job.workload} exited with {error.returncode}: {error.stdout}{error.stderr}") from None

    def begin(self, name: str, before: str = "") -> None:
        """Starts all containers of an OpenStack process on its machine. `before`: shell commands that run first."""
        workloads = {each.workload for each in self._containers.values()}
        workload = name if name in workloads else name.rpartition("-")[0]
        mine = [container for container in self._containers.values() if container.workload == workload]
        machine = self.processes[name]
        machine.write("/start.sh", before + self.script(machine, mine), mode="0700")
        machine.start(["bash", "/start.sh"], "root")

    def begin_cache(self, machine: ServiceMachine) -> None:
        """Starts an instance of memcached on a machine, as the user of Debian's package."""
        machine.start(place(machine, self._containers["memcached/memcached"], owner="root"), "memcache")

    def cached(self) -> int:
        """Returns how many lookups the instances of memcached have answered from their caches."""
        ask = "exec 3<>/dev/tcp/$0/$1; printf 'stats\\r\\nquit\\r\\n' >&3; cat <&3"
        said = [
            machine.run(["bash", "-c", ask, machine.address, str(MEMCACHED)]) for machine in self.caches if machine.runs
        ]
        return sum(int(line.split()[2]) for text in said for line in text.splitlines() if " get_hits " in line)

    def answers(self, name: str) -> bool:
        """Whether the API of a process answers; True for a running process without an API.

        Raises Broken if the process has ended.
        """
        machine = self.processes[name]
        require(machine.runs, f"{name} has ended:\n{machine.tail()}")
        return machine.get(PORTS[name], "/")[0] > 0 if name in PORTS else True

    def use(self, what: str, program: str = CLIENT) -> str:
        """Runs a program of the client with the arguments `what`. Returns its output. Raises Broken if it fails."""
        try:
            return self.client.run(self._client(what, program), seconds=3 * START)
        except subprocess.CalledProcessError as error:
            raise Broken(f"the client failed: {error.stdout}{error.stderr[-2000:]}\n{self._errors()}") from None

    def write(self, kind: str = "network") -> None:
        """Starts the client that creates networks, or objects of another kind, until `end_write`."""
        self.client.log.write_text("")
        self.client.start(self._client(f"write {kind}"), "root")

    def acknowledged(self) -> set[int]:
        """Returns the numbers of the objects whose creation is acknowledged."""
        return {int(words[0]) for words in self._said() if words[1] == "ok"}

    def more(self, writes: int = 10) -> float:
        """Waits until further objects are acknowledged. Returns the seconds until the first of them."""
        before = len(self.acknowledged())
        first = until("a write is acknowledged", lambda: len(self.acknowledged()) > before, START, 0.2)
        until("writes are acknowledged", lambda: len(self.acknowledged()) >= before + writes, START)
        return first

    def end_write(self) -> int:
        """Ends the client that creates objects. Returns how many it tried to create."""
        self.client.stop(60)
        return len(self._said())

    def _said(self) -> list[list[str]]:
        lines = [line.split() for line in self.client.log.read_text(errors="replace").splitlines()]
        return [words for words in lines if len(words) > 1 and words[0].isdecimal()]

    def _client(self, what: str, program: str = CLIENT) -> list[str]:
        return ["sh", "-c", f". /account.sh && exec {self.release}/bin/python {program} {what}"]

    def _errors(self) -> str:
        """Returns the last errors in the logs of the services, up to five of each service."""
        found: list[str] = []
        for name, machine in self.processes.items():
            lines = machine.log.read_text(errors="replace").splitlines() if machine.log.exists() else []
            found += [f"{name}: {line}" for line in lines if " ERROR " in line][-5:]
        return "\n".join(found)

    def script(self, machine: ServiceMachine, containers: list[TriedContainer]) -> str:
        """Returns a script that starts all containers of a pod on a machine, and that ends when one of them ends."""
        lines: list[str] = []
        for container in containers:
            for account in {file.owner for file in container.files.values()}:
                machine.add_account(account)
            command = shlex.join(place(machine, container))
            own = {name: _known(value, machine) for name, value in container.variables.items()}
            search = f"{self.release}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
            other = {**OVERRIDES.get(container.name, {}), **machine.environment}
            variables = _assigned({"PATH": search, **own, **other})
            lines.append(f"(\n{variables}\nexec {command}\n) &")
        return "\n".join([*lines, "wait -n"]) + "\n"


def _known(value: str, machine: ServiceMachine) -> str:
    return {"status.hostIP": machine.address, "spec.nodeName": machine.name}.get(value, value)


def _assigned(variables: Mapping[str, str]) -> str:
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())


def _account(password: str) -> dict[str, str]:
    return {
        "OS_AUTH_URL": IDENTITY,
        "OS_USERNAME": "admin",
        "OS_PASSWORD": password,
        "OS_PROJECT_NAME": "admin",
        "OS_USER_DOMAIN_NAME": "Default",
        "OS_PROJECT_DOMAIN_NAME": "Default",
        "OS_REGION_NAME": "RegionOne",
        "OS_INTERFACE": "internal",
    }
