"""Trials of Ceph: monitors and OSDs fail under load, and no acknowledged object may be lost.

The programs run with the rendered configuration. Files replace disks; the trials prepare and activate them as
`ceph-volume` does with a disk, with the rendered key of client.bootstrap-osd. The addresses of nodes in ceph.conf are
replaced by those of the test bed's machines.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from blueprint.openstack.projects.records import own_records
from trials.histories.operation import ClientOperation
from trials.services import stalls
from trials.services.containers import TriedContainer
from trials.services.cuts import cut, some
from trials.services.stalls import Stall, StalledService, stalled
from trials.services.testbed import Broken, ServiceMachine, ServiceTestbed, require, until
from trials.trial_report import Proof, in_turn

DOMAIN = "openstack.svc"
_GATEWAY = own_records().port("radosgw", "http")
MONITORS = tuple(f"ceph-mon-{number}" for number in range(3))
STORAGE = tuple(f"storage-{number}" for number in range(3))
START = 300
"""Seconds that the start of a Ceph daemon may take on a busy machine."""
_CONFIGURATION = "/etc/ceph/ceph.conf"
_BCRYPT = "/usr/share/ceph/mgr/bcrypt.py"
"""Path of an empty module in place of Debian's bcrypt, which only the dashboard needs.

That is written with PyO3, so that only one of a manager's modules can load it: all others would fail
(https://github.com/PyO3/pyo3/issues/576).
"""
_LOAD = """\
i=%d
while sleep 0.2; do
    i=$((i + 1))
    read -r began _ < /proc/uptime
    said=ok
    echo "object $i" | timeout 60 rados --id glance --pool images put "object-$i" - || said=no
    read -r ended _ < /proc/uptime
    echo "$i $said $began $ended"
done
"""
_PREPARE = """\
uuid=%s key=$(ceph-authtool --gen-print-key)
bootstrap="--name client.bootstrap-osd --keyring /var/lib/kolla/secrets/client.bootstrap-osd.keyring"
id=$(echo "{\\"cephx_secret\\": \\"$key\\"}" | ceph $bootstrap osd new $uuid -i -)
data=/var/lib/ceph/osd/ceph-$id
install -d -o ceph -g ceph $data
echo "$key" | ceph-osd --mkfs --setuser ceph --setgroup ceph --id $id --osd-uuid $uuid --osd-data $data \\
    --osd-objectstore bluestore --bluestore-block-size 2147483648 --keyfile -
"""
_VOLUME = """\
#!/bin/sh -e
case "$1 $2" in
"lvm list")
    ceph-bluestore-tool show-label $(printf -- '--dev %s ' /var/lib/ceph/osd/*/block) 2>/dev/null | python3 -c '
import json, sys
found = {}
for label in json.loads(sys.stdin.read() or "{}").values():
    tags = {"ceph.osd_id": label["whoami"], "ceph.osd_fsid": label["osd_uuid"]}
    found.setdefault(label["whoami"], []).append({"type": "block", "tags": tags})
print(json.dumps(found))'
    ;;
"lvm activate")
    data=/var/lib/ceph/osd/ceph-$3
    find $data -mindepth 1 ! -name block -delete
    ceph-bluestore-tool prime-osd-dir --dev $data/block --path $data
    chown -R ceph:ceph $data
    ;;
esac
"""
"""Script that replaces ceph-volume.

Like `ceph-volume`, it makes the OSD's directory anew at each start, with the key from the label of the device: the
directory is in memory on a real machine, and a key that is written there is never synced.
"""


class CephCluster:
    """A Ceph cluster in the test bed: three monitors with managers, three OSDs, and a client with Glance's account."""

    def __init__(self, testbed: ServiceTestbed, containers: Mapping[str, TriedContainer]) -> None:
        self.testbed, self._containers = testbed, containers
        self.monitors = {name: testbed.add(name) for name in MONITORS}
        self.storage = {name: testbed.add(name) for name in STORAGE}
        self.client, self.gateway = testbed.add("ceph-client"), testbed.add("radosgw")
        testbed.name_members("ceph-mon-members", DOMAIN, MONITORS)
        self.written = 0
        self.ended = Counter[str]()
        """How often the program of a machine has ended by itself."""
        for machine in self.monitors.values():
            machine.add_disk("/var/lib/ceph/mon")
            machine.own("/var/lib/ceph/mon", "ceph")
            self._place(machine, "ceph-mon/ceph-mon", "/mon.sh")
            self._place(machine, "ceph-mon/ceph-mgr", "/mgr.sh")
            machine.write(_BCRYPT, "")
        for machine in self.storage.values():
            machine.add_disk("/var/lib/ceph/osd")
            machine.own("/var/lib/ceph/osd", "ceph")
            self._place(machine, "ceph-osd/ceph-osd", "/osd.sh")
            machine.write("/usr/local/sbin/ceph-volume", _VOLUME, mode="0755")
        self._place(self.client, "glance-api/glance-api")
        self._place(self.gateway, "radosgw/radosgw", "/radosgw.sh")

    def _place(self, machine: ServiceMachine, name: str, script: str = "") -> TriedContainer:
        """Writes a container's files into a machine, with the addresses of the test bed. Returns the container."""
        container = self._containers[name]
        addresses = ",".join(monitor.address for monitor in self.monitors.values())
        for path, file in container.files.items():
            text = file.text
            if path == _CONFIGURATION:
                text = re.sub(r"(?m)^mon_host = .*", f"mon_host = {addresses}", text)
            machine.write(path, text)
        if script:
            machine.write(script, container.command)
        return container

    def run_job(self, name: str) -> None:
        """Runs a rendered job of a Ceph client on a separate machine. Raises Broken if the job fails."""
        machine = self.testbed.machines.get(name) or self.testbed.add(name)
        try:
            machine.run(self._place(machine, f"{name}/{name}").command.split(), seconds=START)
        except subprocess.CalledProcessError as error:
            raise Broken(f"job {name} exited with {error.returncode}: {error.stdout}{error.stderr}") from None

    def start(self, *names: str) -> None:
        for name in names:
            if monitor := self.monitors.get(name):
                run = ["bash", "-c", "bash -e /mgr.sh & exec bash -e /mon.sh"]
                monitor.start(run, "root", {"POD_NAME": name, "POD_IP": monitor.address})
            else:
                storage = self.storage[name]
                storage.start(["bash", "-e", "/osd.sh"], "root", {"POD_NAME": name, "POD_IP": storage.address})

    def prepare(self, name: str) -> None:
        """Prepares a further disk of a storage node. Its OSD starts with the node's program."""
        self.storage[name].run(["bash", "-ec", _PREPARE % uuid.uuid4()], seconds=START)

    def kill(self, *names: str) -> None:
        for name in names:
            self.testbed.machines[name].kill()

    def ready(self, name: str) -> bool:
        """Whether the rendered readiness probe of a monitor succeeds."""
        return _succeeds(self.monitors[name], ["env", f"POD_NAME={name}", *self._probe("ceph-mon")])

    def active(self, name: str) -> bool:
        """Whether the rendered readiness probe of a storage node's OSD succeeds."""
        return _succeeds(self.storage[name], self._probe("ceph-osd"))

    def _probe(self, name: str) -> Sequence[str]:
        return self._containers[f"{name}/{name}"].ready

    def wait_ready(self) -> float:
        """Waits until all monitors are in the quorum and all OSDs are active. Returns the seconds that this took.

        A program that has ended is started again, as by kubelet. Raises Broken if one is not ready in time.
        """
        return self.wait_monitors() + self._wait(STORAGE, self.active)

    def wait_monitors(self) -> float:
        """Waits as `wait_ready` does, until all monitors are in the quorum."""
        return self._wait(MONITORS, self.ready)

    def _wait(self, names: Sequence[str], ready: Callable[[str], bool]) -> float:
        def all_ready() -> bool:
            for machine in (*self.monitors.values(), *self.storage.values()):
                if machine.program and not machine.runs:
                    self.ended[machine.name] += 1
                    self.start(machine.name)
            return all(map(ready, names))

        try:
            return until(f"{', '.join(names)} ready", all_ready, START, 1)
        except TimeoutError as error:
            said = [
                f"{name} ended {times} times: {self.testbed.machines[name].tail(3)}"
                for name, times in self.ended.items()
            ]
            raise Broken("; ".join([str(error), *said])) from None

    def quorum(self, name: str) -> list[str]:
        """Returns the monitors in the quorum, as a monitor's `ceph quorum_status` lists them; [] without a quorum."""
        try:
            return json.loads(self.monitors[name].run(["timeout", "10", "ceph", "quorum_status"]))["quorum_names"]
        except subprocess.CalledProcessError:
            return []

    def ceph(self, *words: str) -> str:
        """Runs the command `ceph` as administrator on a running monitor. Returns its output."""
        monitor = next(machine for machine in self.monitors.values() if machine.runs)
        return monitor.run(["timeout", "60", "ceph", *words], seconds=90)

    def load(self) -> None:
        """Starts the load: a client writes objects with Glance's account, each with a new connection."""
        self.client.log.write_text("")
        self.client.start(["bash", "-c", _LOAD % self.written], "root")

    def said(self) -> dict[int, str]:
        return {each.value: each.outcome for each in self.history()}

    def history(self) -> list[ClientOperation]:
        """Returns the writes of the current run of the load. One without an answer is `unknown`."""
        lines = [line.split() for line in self.client.log.read_text(errors="replace").split("\n")[:-1]]
        return [
            ClientOperation(
                0, "put", int(line[0]), float(line[2]), float(line[3]), "ok" if line[1] == "ok" else "unknown"
            )
            for line in lines
            if len(line) == 4 and line[0].isdecimal() and line[1] in ("ok", "no")
        ]

    def more(self, objects: int = 5) -> float:
        """Waits until Ceph has acknowledged further objects. Returns the seconds until the first of them."""

        def count() -> int:
            return list(self.said().values()).count("ok")

        before = count()
        first = until("an object is acknowledged", lambda: count() > before, START, 0.2)
        until("objects are acknowledged", lambda: count() >= before + objects, START)
        return first

    def end_load(self) -> dict[int, str]:
        """Stops the load.

        Returns for each object, by number, whether the write was acknowledged (`ok`) or not (`unknown`).
        """
        self.client.stop(70)
        said = self.said()
        self.written = max(said, default=self.written) + 1
        return said

    def intact(self, number: int) -> bool:
        """Whether the object with a number can be read and has the written content."""
        command = ["timeout", "60", "rados", "--id", "glance", "--pool", "images", "get", f"object-{number}", "-"]
        return self.client.run(command, check=False, seconds=90) == f"object {number}\n"


def _succeeds(machine: ServiceMachine, command: Sequence[str]) -> bool:
    try:
        machine.run(["timeout", "15", *command])
    except subprocess.CalledProcessError:
        return False
    return True


def begin(cluster: CephCluster) -> list[str]:
    """Starts a new Ceph cluster, prepares its disks, and makes Glance's pool and account.

    Returns notes for the report.
    """
    cluster.start(*MONITORS)
    quorum = cluster.wait_monitors()
    for name in STORAGE:
        cluster.prepare(name)
    cluster.start(*STORAGE)
    active = cluster.wait_ready()
    cluster.run_job("glance-storage")
    return [f"three monitors were in quorum after {quorum:.0f} s, three OSDs active after {active:.0f} s"]


def serve(cluster: CephCluster) -> list[str]:
    """Runs the jobs of all clients, until each has run twice, and starts the gateway. Returns notes for the report."""
    for job in (*("cinder-storage", "nova-storage", "radosgw-storage") * 2, "glance-storage"):
        cluster.run_job(job)
    until("a manager is active", lambda: json.loads(cluster.ceph("mgr", "stat"))["available"], START, 2)
    foreign = ["timeout", "60", "rados", "--id", "glance", "--pool", "volumes", "put", "a", "/etc/ceph/ceph.conf"]
    require(not _succeeds(cluster.client, foreign), "Glance's account writes into Cinder's pool")
    cluster.client.run(["rbd", "--id", "glance", "create", "--size", "8M", "images/proof"], seconds=START)
    cluster.gateway.start(["bash", "-e", "/radosgw.sh"], "root")
    gateway = until(
        "the gateway is healthy", lambda: cluster.gateway.get(_GATEWAY, "/swift/healthcheck")[0] == 200, START, 1
    )
    pools = cluster.ceph("osd", "pool", "ls").split()
    return [
        f"pools after the jobs had run twice: {', '.join(pools)}; Glance's account cannot write into Cinder's",
        f"the gateway was healthy after {gateway:.0f} s",
    ]


Failure = Callable[[CephCluster], list[str]]


def monitor_killed(cluster: CephCluster) -> list[str]:
    """kill -9 of one of three monitors, the leader."""
    cluster.kill("ceph-mon-0")
    seconds = until("quorum of two", lambda: cluster.quorum("ceph-mon-1") == ["ceph-mon-1", "ceph-mon-2"], START, 1)
    silence = cluster.more()
    cluster.start("ceph-mon-0")
    return [
        f"quorum_status named the other two after {seconds:.0f} s; the next write was {silence:.1f} s later",
        f"all were ready {cluster.wait_ready():.0f} s after it started again",
    ]


def monitor_cut_off(cluster: CephCluster) -> list[str]:
    """One of three monitors is cut off."""
    cluster.testbed.isolate("ceph-mon-2")
    seconds = until("the minority is not ready", lambda: not cluster.ready("ceph-mon-2"), START, 1)
    silence = cluster.more()
    cluster.testbed.heal()
    return [
        f"it was not ready any more after {seconds:.0f} s; the next write was {silence:.1f} s later",
        f"all were ready {cluster.wait_ready():.0f} s after the network was whole",
    ]


def storage_killed(cluster: CephCluster) -> list[str]:
    """kill -9 of one of three storage nodes."""
    cluster.kill("storage-1")
    silence = cluster.more()
    cluster.start("storage-1")
    return [f"writes went on after {silence:.1f} s", f"all were ready after {cluster.wait_ready():.0f} s"]


def server_cut(cluster: CephCluster) -> list[str]:
    """The power of one server, a monitor and a storage node, is cut; its disks forget what was not synced."""
    return _cut(cluster, 1)


def two_servers_cut(cluster: CephCluster) -> list[str]:
    """The power of two of three servers is cut at the same moment; their disks forget what was not synced."""
    return _cut(cluster, 2)


def power_cut(cluster: CephCluster) -> list[str]:
    """The power of all servers is cut at the same moment; their disks forget what was not synced."""
    return _cut(cluster, len(MONITORS))


def _cut(cluster: CephCluster, number: int) -> list[str]:
    """Cuts the power of servers: of each, a monitor and a storage node."""
    servers = some(MONITORS, number)
    lost = [name for server in servers for name in (server, STORAGE[MONITORS.index(server)])]
    more = cluster.more if number == 1 else None
    return cut(cluster.testbed, lost, start=cluster.start, wait_ready=cluster.wait_ready, more=more)


def lost_disks(cluster: CephCluster) -> list[str]:
    """Two of three monitors return without their data: they join the one that is left."""
    lost = MONITORS[1:]
    cluster.kill(*lost)
    for name in lost:
        cluster.monitors[name].run(["sh", "-c", "rm -rf /var/lib/ceph/mon/*"])
    cluster.start(*lost)
    return [f"all were ready after {cluster.wait_ready():.0f} s"]


def monitor_paused(cluster: CephCluster) -> list[str]:
    """The leading monitor pauses for 60 s (SIGSTOP)."""
    return _stall(cluster, MONITORS[0], stalls.PAUSE)


def monitor_full(cluster: CephCluster) -> list[str]:
    """The disk of the leading monitor is full for 60 s."""
    return _stall(cluster, MONITORS[0], stalls.FULL_DISK)


def monitor_slow(cluster: CephCluster) -> list[str]:
    """The disk of the leading monitor makes 5 writes a second for 60 s."""
    return _stall(cluster, MONITORS[0], stalls.SLOW_DISK)


def monitor_unheard(cluster: CephCluster) -> list[str]:
    """The leading monitor receives what the others send, and is not heard for 60 s."""
    return _stall(cluster, MONITORS[0], stalls.UNHEARD)


def storage_paused(cluster: CephCluster) -> list[str]:
    """A storage node pauses for 60 s (SIGSTOP)."""
    return _stall(cluster, STORAGE[0], stalls.PAUSE)


def storage_slow(cluster: CephCluster) -> list[str]:
    """The disk of a storage node makes 5 writes a second for 60 s."""
    return _stall(cluster, STORAGE[0], stalls.SLOW_DISK)


def storage_full(cluster: CephCluster) -> list[str]:
    """The disk of a storage node is full for 60 s: Ceph takes no more writes."""
    full = Stall(
        begin=lambda _machine: _inject(cluster, "full"),
        end=lambda _machine: _inject(cluster, "none"),
    )
    return _stall(cluster, STORAGE[0], full)


def _inject(cluster: CephCluster, state: str) -> None:
    """Lets the first OSD take its disk for full, or believe what it is again: the disks of a trial are sparse files."""
    cluster.ceph("tell", "osd.0", "injectfull", state)


def storage_unheard(cluster: CephCluster) -> list[str]:
    """A storage node receives what the others send, and is not heard for 60 s."""
    return _stall(cluster, STORAGE[0], stalls.UNHEARD)


def _stall(cluster: CephCluster, name: str, stall: Stall) -> list[str]:
    machines = cluster.monitors | cluster.storage

    def state() -> str:
        if not machines[name].runs:
            cluster.start(name)  # as kubelet does
        is_ready = cluster.ready(name) if name in MONITORS else cluster.active(name)
        return "ready" if is_ready else "not ready"

    members = [machines[name], *(machine for each, machine in machines.items() if each != name)]
    # `begin` prepares the storage nodes in their order, so that the numbers of their OSDs are known.
    alias = f"mon.{name} " if name in MONITORS else f"osd.{STORAGE.index(name)} "
    service = StalledService(members, state, cluster.wait_ready, cluster.more, cluster.history, [alias])
    return stalled(service, stall)


STALLS: tuple[Failure, ...] = (
    monitor_paused, monitor_full, monitor_slow, monitor_unheard,
    storage_paused, storage_full, storage_slow, storage_unheard,
)  # fmt: skip
CUTS: tuple[Failure, ...] = (server_cut, two_servers_cut, power_cut)
FAILURES: tuple[Failure, ...] = (monitor_killed, monitor_cut_off, storage_killed, *CUTS, lost_disks)


def trial(name: str, cluster: CephCluster, failure: Failure) -> Proof:
    """Makes the Ceph cluster fail under load, and reads every acknowledged object afterwards. Returns the result."""
    started = time.monotonic()
    cluster.load()
    problem, notes = "", list[str]()
    try:
        cluster.more()
        notes = failure(cluster)
        cluster.more()
    except (TimeoutError, Broken) as error:
        problem = str(error)
    said = cluster.end_load()
    acknowledged = [number for number, answer in said.items() if answer == "ok"]
    lost = 0 if problem else sum(not cluster.intact(number) for number in acknowledged)
    seconds = round(time.monotonic() - started, 1)
    notes += [f"{each} ended by itself and was started again, {times} times" for each, times in cluster.ended.items()]
    cluster.ended.clear()
    return Proof(name, len(said), len(acknowledged), lost, seconds, tuple(notes), problem)


def prove(root: Path, containers: Mapping[str, TriedContainer], failures: Sequence[Failure] = ()) -> list[Proof]:
    """Runs failures on one Ceph cluster, until the cluster does not survive one. Returns the results.

    Without `failures`, runs FAILURES beside the gateway and what the jobs of all clients have made. Raises Unavailable
    if this machine cannot run the test bed.
    """
    with ServiceTestbed(root) as testbed:
        cluster = CephCluster(testbed, containers)
        notes = begin(cluster) + ([] if failures else serve(cluster))
        return in_turn("Ceph", failures or FAILURES, lambda name, failure: trial(name, cluster, failure), notes)
