"""Trials of etcd: members lose power under load, and the history of all registers must be linearizable.

The members run with the rendered settings but without TLS, at addresses of the test bed. The docstring of a failure is
the name of its trial in the report.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trials.histories import operation, registers
from trials.histories.operation import ClientOperation
from trials.services import stalls
from trials.services.cuts import cut, some
from trials.services.stalls import Stall, StalledService, stalled
from trials.services.testbed import Broken, ServiceMachine, ServiceTestbed, until
from trials.trial_report import Proof, in_turn

MEMBERS = tuple(f"etcd-{number}" for number in range(3))
CLIENT, PEER = 2379, 2380
START = 60
"""Seconds that the start of a member may take on a busy machine."""
_LOAD = Path(__file__).with_name("etcd_load.py")
_TLS = re.compile(r"ETCD_(PEER_)?(CERT_FILE|KEY_FILE|TRUSTED_CA_FILE|CLIENT_CERT_AUTH)=")


@dataclass(frozen=True)
class RenderedEtcd:
    """What a member of etcd is started with."""

    program: Path
    settings: str
    """The text of /etc/etcd/etcd.env of a machine."""


class EtcdCluster:
    """Three members of etcd in the test bed, and a client that reads, writes, and compares and sets registers."""

    def __init__(self, testbed: ServiceTestbed, rendered: RenderedEtcd) -> None:
        self.testbed = testbed
        self.members: dict[str, ServiceMachine] = {}
        for name in MEMBERS:
            machine = self.members[name] = testbed.add(name)
            machine.add_disk("/var/lib/etcd")
            machine.install(rendered.program)
        self._environment = {name: self._settings(name, rendered.settings) for name in MEMBERS}
        self.client = testbed.add("etcd-client")
        self.client.write("/load.py", _LOAD.read_text(encoding="utf-8"))

    def _settings(self, name: str, text: str) -> dict[str, str]:
        machine = self.members[name]
        lines = [line for line in text.splitlines() if line and not _TLS.match(line)]
        found = dict(line.split("=", 1) for line in lines)
        for each in ("LISTEN_CLIENT_URLS", "ADVERTISE_CLIENT_URLS", "LISTEN_PEER_URLS", "LISTEN_METRICS_URLS"):
            port = PEER if "PEER" in each else found.get("ETCD_" + each, "").rpartition(":")[2]
            found["ETCD_" + each] = f"http://{machine.address}:{port}"
        peers = {each: f"http://{member.address}:{PEER}" for each, member in self.members.items()}
        return found | {
            "ETCD_NAME": name,
            "ETCD_INITIAL_ADVERTISE_PEER_URLS": peers[name],
            "ETCD_INITIAL_CLUSTER": ",".join(f"{each}={url}" for each, url in peers.items()),
            "ETCD_INITIAL_CLUSTER_STATE": "new",
        }

    def start(self, *names: str) -> None:
        for name in names:
            self.members[name].start(["etcd"], "root", self._environment[name])

    def wait_ready(self, seconds: float = START) -> float:
        """Waits until all members serve linearizable reads; starts those that have ended. Returns the seconds."""

        def healthy() -> bool:
            self.restart()
            return all(map(self.ready, MEMBERS))

        return until("members of etcd healthy", healthy, seconds)

    def restart(self) -> None:
        """Starts the members that have ended, as systemd does."""
        self.start(*(name for name in MEMBERS if not self.members[name].runs))

    def ready(self, name: str) -> bool:
        """Whether a member is healthy: it answers a linearizable read, for which it needs a majority."""
        return '"health":"true"' in self.members[name].get(CLIENT, "/health")[1]

    def load(self) -> None:
        """Starts the load with an empty history."""
        addresses = [f"http://{machine.address}:{CLIENT}" for machine in self.members.values()]
        self.client.write("/etc/load.json", json.dumps({"members": addresses, "run": time.time_ns()}))
        self.client.log.write_text("")
        self.client.start(["python3", "/load.py"], "root")

    def history(self) -> list[ClientOperation]:
        return operation.parse(self.client.log.read_text().splitlines(keepends=True))

    def more(self, operations: int = 50) -> float:
        """Waits until etcd has acknowledged further operations. Returns the seconds until the first of them."""

        def count() -> int:
            return self.client.log.read_text().count('"ok"')

        before = count()
        first = until("an operation is acknowledged", lambda: count() > before, START, 0.1)
        until("operations are acknowledged", lambda: count() >= before + operations, START)
        return first


Failure = Callable[[EtcdCluster], list[str]]


def server_cut(cluster: EtcdCluster) -> list[str]:
    """The power of one server is cut; its disk forgets what was not synced."""
    return _cut(cluster, 1)


def two_servers_cut(cluster: EtcdCluster) -> list[str]:
    """The power of two of three servers is cut at the same moment; their disks forget what was not synced."""
    return _cut(cluster, 2)


def power_cut(cluster: EtcdCluster) -> list[str]:
    """The power of all servers is cut at the same moment; their disks forget what was not synced."""
    return _cut(cluster, len(MEMBERS))


def _cut(cluster: EtcdCluster, number: int) -> list[str]:
    more = cluster.more if number == 1 else None
    lost = some(MEMBERS, number)
    return cut(cluster.testbed, lost, start=cluster.start, wait_ready=cluster.wait_ready, more=more)


def paused(cluster: EtcdCluster) -> list[str]:
    """A member pauses for 60 s (SIGSTOP)."""
    return _stall(cluster, stalls.PAUSE)


def full_disk(cluster: EtcdCluster) -> list[str]:
    """The disk of a member is full for 60 s."""
    return _stall(cluster, stalls.FULL_DISK)


def slow_disk(cluster: EtcdCluster) -> list[str]:
    """The disk of a member makes 5 writes a second for 60 s."""
    return _stall(cluster, stalls.SLOW_DISK)


def unheard(cluster: EtcdCluster) -> list[str]:
    """A member receives what the others send, and is not heard for 60 s."""
    return _stall(cluster, stalls.UNHEARD)


def _stall(cluster: EtcdCluster, stall: Stall) -> list[str]:
    first = MEMBERS[0]

    def state() -> str:
        cluster.restart()
        return "healthy" if cluster.ready(first) else "not healthy"

    members = list(cluster.members.values())
    return stalled(StalledService(members, state, cluster.wait_ready, cluster.more, cluster.history), stall)


STALLS: tuple[Failure, ...] = (paused, full_disk, slow_disk, unheard)
CUTS: tuple[Failure, ...] = (server_cut, two_servers_cut, power_cut)


def trial(name: str, cluster: EtcdCluster, failure: Failure) -> Proof:
    """Makes the cluster fail under load, and checks the history of the load. Returns the result."""
    started = time.monotonic()
    cluster.load()
    problem, notes = "", list[str]()
    try:
        cluster.more()
        notes = failure(cluster)
        cluster.wait_ready()
        cluster.more()
    except (TimeoutError, Broken) as error:
        problem = str(error)
    cluster.client.stop(30)
    history = cluster.history()
    answers = [each.outcome for each in history]
    wrong = registers.anomalies(history)
    notes.append(
        f"history of {len(history)} operations checked, {answers.count('no')} refused, "
        f"{answers.count('unknown')} broken off"
    )
    return Proof(
        name, len(history), answers.count("ok"), 0, round(time.monotonic() - started, 1), tuple(notes),
        problem or "; ".join(map(str, wrong)),
    )  # fmt: skip


def prove(root: Path, rendered: RenderedEtcd, failures: Sequence[Failure] = CUTS) -> list[Proof]:
    """Runs the failures on one cluster of etcd, until the cluster does not survive one. Returns the results.

    Raises Unavailable if this machine cannot run the test bed.
    """
    with ServiceTestbed(root) as testbed:
        cluster = EtcdCluster(testbed, rendered)
        cluster.start(*MEMBERS)
        notes = [f"a new cluster of {len(MEMBERS)} was healthy after {cluster.wait_ready():.1f} s"]
        return in_turn("etcd", failures, lambda name, failure: trial(name, cluster, failure), notes)
