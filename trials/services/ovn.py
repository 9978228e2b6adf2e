"""Trials of OVN's northbound database: members fail while a client writes, and no acknowledged write may be lost.

The members run with the rendered container. A write is a logical switch. After each failure, every member must have
every acknowledged switch, and the cluster must have exactly its three members. The docstring of a failure is the name
of its trial in the report.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from trials.services.containers import TriedContainer
from trials.services.testbed import Broken, ServiceMachine, ServiceTestbed, place, require, until
from trials.trial_report import Proof, in_turn

DOMAIN = "openstack.svc.cluster.local"
START = 120
"""Seconds that the start of all members may take on a busy machine."""
_WRITES = 10
"""Switches that a trial writes, one after the other. Project figure."""
_DATA = "/var/lib/ovn"
_CONTROL = "/tmp/ovsdb-server.ctl"  # noqa: S108 - in the machine
_DATABASE, _PORT = "OVN_Northbound", 6641


class OvnCluster:
    """The members of the northbound database in the test bed, each on a machine with a disk, and a client."""

    def __init__(self, testbed: ServiceTestbed, container: TriedContainer) -> None:
        self.testbed, self.container = testbed, container
        self.members: dict[str, ServiceMachine] = {}
        self.acknowledged: list[str] = []
        self.tried = 0
        for number in range(3):
            name = f"{container.workload}-{number}"
            machine = self.members[name] = testbed.add(name)
            machine.add_disk(_DATA)
            self._command = place(machine, container, "root")
        self.client = testbed.add("client")
        testbed.name_members(f"{container.workload}-members", DOMAIN, list(self.members))
        names = (f"{name}.{container.workload}-members.{DOMAIN}" for name in self.members)
        self._remote = ",".join(f"tcp:{name}:{_PORT}" for name in names)

    def start(self, *names: str) -> None:
        for name in names:
            self.members[name].start(self._command, "root")

    def kill(self, *names: str) -> None:
        for name in names:
            self.members[name].kill()

    def lose_volume(self, name: str) -> None:
        """Empties the disk of a member that does not run."""
        self.members[name].run(["find", _DATA, "-mindepth", "1", "-delete"])

    def is_ready(self, name: str) -> bool:
        """Whether the member's readiness probe succeeds."""
        try:
            self.members[name].run(self.container.ready, seconds=15)
        except subprocess.SubprocessError:
            return False
        return True

    def wait_ready(self, *names: str, seconds: float = START) -> float:
        """Waits until members are ready, and returns the seconds. Starts members that ended again, as kubelet does."""

        def ready() -> bool:
            self.start(*(name for name in names if not self.members[name].runs))
            return all(map(self.is_ready, names))

        return until(f"{', '.join(names)} ready", ready, seconds)

    def status(self, name: str) -> str:
        """Returns what a member says about the cluster; empty without a database."""
        command = ["ovs-appctl", "--target", _CONTROL, "cluster/status", _DATABASE]
        return self.members[name].run(command, check=False)

    def server(self, name: str) -> str:
        """Returns the first four digits of a member's identity; empty without a database."""
        return self.status(name)[:4].strip()

    def leader(self) -> str:
        """Returns the name of the leader. Raises Broken if no member says that it leads."""
        for name in self.members:
            if "Leader: self" in self.status(name):
                return name
        raise Broken("no member is the leader")

    def identities(self, name: str) -> list[str]:
        """Returns the addresses in the list of members that a member has, one for each identity."""
        lines = self.status(name).partition("Servers:")[2].splitlines()
        return sorted(line.partition(" at tcp:")[2].partition(".")[0] for line in lines if " at tcp:" in line)

    def write(self, count: int = _WRITES) -> float:
        """Writes switches, and repeats each until it is acknowledged. Returns the longest time that one took."""
        longest = 0.0
        for _ in range(count):
            name = f"switch-{len(self.acknowledged)}"
            longest = max(longest, until(f"{name} is acknowledged", lambda name=name: self._write(name), START))
            self.acknowledged.append(name)
        return longest

    def _write(self, name: str) -> bool:
        self.tried += 1
        command = ["ovn-nbctl", "--timeout=10", f"--db={self._remote}", "--may-exist", "ls-add", name]
        try:
            self.client.run(command, seconds=30)
        except subprocess.SubprocessError:
            return False
        return True

    def read(self, name: str) -> set[str]:
        """Returns the switches that a member has."""
        command = ["ovn-nbctl", "--no-leader-only", "--timeout=10", "--db=unix:/tmp/ovsdb-server.sock"]
        said = self.members[name].run([*command, "--bare", "--columns=name", "list", "logical_switch"])
        return set(said.split())

    def lost(self) -> set[str]:
        """Returns the acknowledged switches that a member lacks."""
        return {each for name in self.members for each in set(self.acknowledged) - self.read(name)}

    def wait_whole(self) -> float:
        """Waits until each member says that the cluster has its three members, each once."""
        whole = sorted(self.members)
        return until(
            f"the members are {whole}", lambda: all(self.identities(name) == whole for name in self.members), START
        )


Failure = Callable[[OvnCluster], list[str]]


def leader_killed(cluster: OvnCluster) -> list[str]:
    """kill -9 of the leader."""
    leader = cluster.leader()
    cluster.kill(leader)
    silence = cluster.write()
    cluster.start(leader)
    back = cluster.wait_ready(leader)
    return [f"the slowest write took {silence:.1f} s", f"the member was ready again {back:.0f} s after its start"]


def volume_lost(cluster: OvnCluster) -> list[str]:
    """A member loses its volume: it joins anew, and its old identity is removed."""
    name = next(iter(cluster.members))
    cluster.kill(name)
    cluster.lose_volume(name)
    cluster.start(name)
    silence = cluster.write()
    back = cluster.wait_ready(name)
    whole = cluster.wait_whole()
    return [f"the slowest write took {silence:.1f} s", f"ready after {back:.0f} s, three members {whole:.0f} s later"]


def full_stop(cluster: OvnCluster) -> list[str]:
    """All members stop at the same time, and start one after the other."""
    first, *others = cluster.members
    cluster.kill(*cluster.members)
    cluster.start(first)
    time.sleep(5)
    require(not cluster.is_ready(first), f"{first} is ready alone")
    cluster.start(*others)
    back = cluster.wait_ready(*cluster.members)
    return [f"all were ready {back:.0f} s after the start of the last", *_wrote(cluster)]


def first_member_empty(cluster: OvnCluster) -> list[str]:
    """All stop, and the first member has lost its volume: it waits for the others, and creates no second cluster."""
    first, second, third = cluster.members
    cluster.kill(*cluster.members)
    cluster.lose_volume(first)
    cluster.start(first)
    time.sleep(5)
    require(not cluster.status(first), f"{first} has a database while no other member answers")
    cluster.start(second)
    time.sleep(5)
    require(not cluster.is_ready(first), f"{first} is ready with one member that has data")
    cluster.start(third)
    back = cluster.wait_ready(*cluster.members)
    whole = cluster.wait_whole()
    return [f"all were ready after {back:.0f} s, with three members {whole:.0f} s later", *_wrote(cluster)]


def removed(cluster: OvnCluster) -> list[str]:
    """A member that runs is removed by mistake: it joins anew."""
    leader = cluster.leader()
    name = next(each for each in cluster.members if each != leader)
    server = cluster.server(name)
    kick = ["ovs-appctl", "--target", _CONTROL, "cluster/kick", _DATABASE, server]
    cluster.members[leader].run(kick)
    back = until(f"{name} is another server", lambda: cluster.server(name) not in ("", server), START)
    whole = cluster.wait_whole()
    return [f"it joined again after {back:.0f} s; three members {whole:.0f} s later", *_wrote(cluster)]


def _wrote(cluster: OvnCluster) -> list[str]:
    return [f"the slowest write took {cluster.write():.1f} s"]


FAILURES: tuple[Failure, ...] = (leader_killed, volume_lost, full_stop, first_member_empty, removed)


def prove(root: Path, containers: Mapping[str, TriedContainer], failures: Sequence[Failure] = FAILURES) -> list[Proof]:
    """Runs the failures on one cluster, until it does not survive one. Returns the results.

    Raises Unavailable if this machine cannot run the test bed.
    """
    with ServiceTestbed(root) as testbed:
        cluster = OvnCluster(testbed, containers["ovn-nb/ovn-nb-db-server"])
        first, *others = cluster.members
        cluster.start(*others)
        time.sleep(3)
        require(not any(map(cluster.status, others)), "a member other than the first created a cluster")
        cluster.start(first)
        took = cluster.wait_ready(*cluster.members)
        cluster.write(1)
        notes = [f"the first start took {took:.0f} s, of three members with an empty volume each"]
        return in_turn("OVN", failures, lambda name, failure: _trial(name, cluster, failure), notes)


def _trial(name: str, cluster: OvnCluster, failure: Failure) -> Proof:
    started, tried, before = time.monotonic(), cluster.tried, len(cluster.acknowledged)
    notes, problem = [""], ""
    try:
        notes = failure(cluster)
        cluster.wait_ready(*cluster.members)
        until("each member has every acknowledged switch", lambda: not cluster.lost(), START)
    except (Broken, TimeoutError, subprocess.SubprocessError) as error:
        tails = "\n".join(f"{each}:\n{machine.tail()}" for each, machine in cluster.members.items())
        problem = f"{error}\n{tails}"
    lost = len(cluster.lost()) if not problem else 0
    acknowledged = len(cluster.acknowledged) - before
    seconds = round(time.monotonic() - started, 1)
    return Proof(name, cluster.tried - tried, acknowledged, lost, seconds, notes=tuple(notes), failure=problem)
