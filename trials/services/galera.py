"""Trials of Galera: members fail under write load, and no acknowledged write may be lost.

The members run with the rendered configuration. The load moves money between accounts and appends numbers to lists, as
Jepsen's bank and append tests do. After each failure, every member must have every acknowledged number, no rejected
number, and an unchanged sum of money, and the history of all transactions must have no anomaly but those that MariaDB's
isolation level allows. The docstring of a failure is the name of its trial in the report.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from trials.histories import append_lists, bank, operation, silence
from trials.histories.operation import Anomaly, ClientOperation
from trials.services import clock, memory, stalls
from trials.services.containers import TriedContainer
from trials.services.cuts import cut, some
from trials.services.stalls import Stall, StalledService, stalled
from trials.services.testbed import Broken, ServiceMachine, ServiceTestbed, place, require, until
from trials.trial_report import Proof, in_turn

ACCOUNTS = 20
SERVICE, DOMAIN, PORT = "mysqld-members", "openstack.svc", 9200
MOST = 5
"""Number of members to which the trials enlarge the cluster."""
START = 240
"""Seconds that the start of a Galera member may take on a busy machine."""
_DOUBLINGS = 5
"""Of the 15 MiB that `fill` writes."""
_SYNCED = "SET SESSION wsrep_sync_wait = 1;"
_LOAD = Path(__file__).with_name("galera_load.py")
_SQL = """\
CREATE DATABASE bank;
CREATE TABLE bank.account (id INT PRIMARY KEY, balance INT NOT NULL);
CREATE TABLE bank.transfer (number BIGINT PRIMARY KEY);
CREATE TABLE bank.list (id BIGINT PRIMARY KEY, numbers TEXT NOT NULL);
CREATE TABLE bank.filling (id INT AUTO_INCREMENT PRIMARY KEY, text LONGBLOB);
CREATE USER client@'%' IDENTIFIED BY '{password}';
GRANT ALL ON bank.* TO client@'%';
"""


class GaleraCluster:
    """A Galera cluster in the test bed: its members, each on a machine, and a client."""

    def __init__(self, testbed: ServiceTestbed, container: TriedContainer, size: int = 3) -> None:
        self.testbed, self.container, self.workload = testbed, container, container.workload
        self.members: dict[str, ServiceMachine] = {}
        self.restarts = 0
        self.user, self.password, self.database = "client", secrets.token_urlsafe(12), "bank"
        self.environment: dict[str, str] = {}
        self._commands: dict[str, list[str]] = {}
        for number in range(size):
            self.add(number)
        self.client = testbed.add(f"{self.workload}-client")
        self.name()

    def add(self, number: int) -> ServiceMachine:
        """Adds the machine of a further member, as a StatefulSet with more replicas does. Does not start the member."""
        name = f"{self.workload}-{number}"
        machine = self.members[name] = self.testbed.add(name)
        machine.add_disk("/var/lib/mysql")
        self._commands[name] = place(machine, self.container)
        return machine

    def grow(self, number: int) -> None:
        """Adds the machine of a further member, and the member's name to the DNS of the test bed.

        Does not start the member.
        """
        self.add(number)
        self.name()

    def name(self) -> None:
        """Writes the names of all members to the DNS of the test bed."""
        self.testbed.name_members(f"{self.workload}-members", DOMAIN, list(self.members))

    def start(self, *names: str) -> None:
        for name in names:
            self.members[name].start(self._commands[name], "mysql", self.environment)

    def state(self, name: str) -> tuple[int, str]:
        """Returns the HTTP status and text of a member's readiness probe; status 0 if the member does not answer."""
        return self.members[name].get(PORT, "/ready")

    def wait_ready(self, *names: str, seconds: float = START) -> float:
        """Waits until members are ready. Restarts members that have ended or are not alive, as kubelet does.

        Returns the seconds that this took.
        """
        return until(f"{', '.join(names)} ready: {self._states()}", lambda: self._all_ready(names), seconds)

    def _all_ready(self, names: tuple[str, ...]) -> bool:
        for name in names:
            self.restart(name)
        return all(self.state(name)[0] == 200 for name in names)

    def restart(self, name: str) -> None:
        """Starts a member again if it has ended or is not alive, as kubelet does."""
        machine = self.members[name]
        if machine.runs and machine.get(PORT, "/alive")[0] == 503:
            machine.stop()
        if not machine.runs:
            self.restarts += 1
            self.start(name)

    def _states(self) -> str:
        return "; ".join(f"{name}: {self.state(name)[1]}" for name in self.members)

    def sql(self, name: str, statement: str, *, check: bool = True, seconds: float = 60) -> str:
        """Runs SQL statements on a member, with the account of the operating system's user. Returns the output."""
        command = ["mariadb", "--no-defaults", "--socket=/tmp/mysqld.sock", "-NBe", statement]
        return self.members[name].run(command, user="mysql", check=check, seconds=seconds)

    def refuses_writes(self, name: str) -> bool:
        """Whether a member rejects a write because it is not in the primary component."""
        said = self.members[name].run(
            ["sh", "-c", 'mariadb --no-defaults --socket=/tmp/mysqld.sock -e "$1" 2>&1; true', "sh",
             "INSERT INTO bank.filling (text) VALUES ('minority')"],
            user="mysql",
        )  # fmt: skip
        return "WSREP has not yet prepared node" in said

    def kill(self, *names: str) -> None:
        for name in names:
            self.members[name].kill()

    def stop(self, *names: str) -> None:
        for name in names:
            self.members[name].stop()


class Load:
    """The write load: transfers that the client makes, with the outcome of each in `said` (ok, no or unknown).

    `one_writer`: all clients use the same member as long as it serves, as with ProxySQL.
    """

    def __init__(self, cluster: GaleraCluster, *, one_writer: bool = False) -> None:
        self.cluster, self.one_writer = cluster, one_writer
        self.said: dict[int, str] = {}
        cluster.client.write("/load.py", _LOAD.read_text(encoding="utf-8"))

    def settings(self) -> dict[str, object]:
        """Returns the current members, and the account of clients."""
        return {
            "members": [machine.address for machine in self.cluster.members.values()],
            "user": self.cluster.user,
            "password": self.cluster.password,
            "database": self.cluster.database,
        }

    def start(self) -> None:
        """Starts a run of the load, which writes to all current members."""
        settings = {
            **self.settings(),
            "accounts": ACCOUNTS,
            "first": max(self.said, default=-1) + 1,
            "one_writer": self.one_writer,
        }
        self.cluster.client.write("/etc/load.json", json.dumps(settings))
        self.cluster.client.log.write_text("")
        self.cluster.client.start(["python3", "/load.py"], "root")

    def acknowledged(self) -> int:
        """Returns how many transfers of the current run are acknowledged."""
        return self.cluster.client.log.read_text().count(" ok\n")

    def acknowledged_numbers(self) -> list[int]:
        """Returns the numbers of the transfers of the current run that are acknowledged."""
        lines = self.cluster.client.log.read_text().splitlines(keepends=True)
        return [int(line.split()[0]) for line in lines if line.endswith(" ok\n")]

    def more(self, transfers: int = 20, seconds: float = 60) -> float:
        """Waits until the cluster has acknowledged further transfers. Returns the seconds until the first of them."""
        before = self.acknowledged()
        first = until("a transfer is acknowledged", lambda: self.acknowledged() > before, seconds, 0.2)
        until("transfers are acknowledged", lambda: self.acknowledged() >= before + transfers, seconds)
        return first

    def history(self) -> list[ClientOperation]:
        """Returns the history of all runs of the load."""
        return operation.parse(self.cluster.client.run(["cat", "/history.jsonl"]).splitlines(keepends=True))

    def stop(self) -> dict[int, str]:
        """Ends the run of the load. Returns the outcome of each of the run's transfers, by number."""
        self.cluster.client.stop(30)
        lines = [line.split() for line in self.cluster.client.log.read_text().splitlines()]
        run = {int(words[0]): words[1] for words in lines if len(words) == 2 and words[0].isdecimal()}
        self.said |= run
        return run


def contradictions(cluster: GaleraCluster, said: Mapping[int, str]) -> tuple[int, list[str]]:
    """Compares the members' data with the outcomes of transfers, which are by number in `said`.

    Returns the number of acknowledged transfers that a member lacks, and texts about other errors.
    """
    lost: set[int] = set()
    wrong: list[str] = []
    sums: set[str] = set()
    contents: set[frozenset[int]] = set()
    for name in cluster.members:
        rows = cluster.sql(name, f"{_SYNCED} SELECT number FROM {cluster.database}.transfer")  # noqa: S608
        numbers = frozenset(int(row) for row in rows.split())
        contents.add(numbers)
        lost |= {number for number, answer in said.items() if answer == "ok"} - numbers
        rejected = {number for number, answer in said.items() if answer == "no"} & numbers
        if rejected:
            wrong.append(f"{name} has {len(rejected)} transfers that were rejected")
        balance = f"{_SYNCED} SELECT SUM(balance) FROM {cluster.database}.account"  # noqa: S608
        sums.add(cluster.sql(name, balance).strip())
    if len(contents) != 1:
        wrong.append("the members have different transfers")
    if sums != {"0"}:
        wrong.append(f"the accounts do not add up to 0: {', '.join(sorted(sums))}")
    return len(lost), wrong


ALLOWED = ("G-single", "G2-item")
"""Anomalies that MariaDB's level REPEATABLE READ allows: G2-item always, G-single without innodb_snapshot_isolation
(default from 11.6 on). They are reported, and do not fail a trial."""


def judged(cluster: GaleraCluster, history: Sequence[ClientOperation]) -> list[Anomaly]:
    """Returns the anomalies of a history, with the lists that a member has now as the final state."""
    rows = cluster.sql(next(iter(cluster.members)), f"{_SYNCED} SELECT id, numbers FROM {cluster.database}.list")  # noqa: S608
    fields = [[int(number) for number in row.split()] for row in rows.splitlines()]
    final = {key: numbers for key, *numbers in fields}
    transactions = [each for each in history if each.action == "transaction"]
    return [*append_lists.anomalies(transactions, final), *bank.anomalies(history, ACCOUNTS)]


Failure = Callable[[GaleraCluster, Load], list[str]]


def trial(name: str, cluster: GaleraCluster, load: Load, failure: Failure) -> Proof:
    """Makes the cluster fail under load, and checks all transfers since the first failure. Returns the result."""
    started = time.monotonic()
    load.start()
    load.more()
    problem, notes = "", list[str]()
    try:
        notes = failure(cluster, load)
        cluster.wait_ready(*cluster.members)
        load.more(seconds=START)
    except (TimeoutError, Broken) as error:
        problem = str(error)
    run = load.stop()
    answers = list(run.values())
    lost, wrong = (0, []) if problem else contradictions(cluster, load.said)
    history = load.history()
    for each in [] if problem else judged(cluster, history):
        (notes if each.name in ALLOWED else wrong).append(f"history: {each}")
    notes.append(f"history of {len(history)} operations checked")
    notes.append(f"{answers.count('no')} transfers rejected, {answers.count('unknown')} broken off")
    return Proof(
        name, len(answers), answers.count("ok"), lost, round(time.monotonic() - started, 1), tuple(notes),
        problem or "; ".join(wrong),
    )  # fmt: skip


def begin(cluster: GaleraCluster) -> list[str]:
    """Starts a new cluster, which exactly one member must bootstrap. Returns notes for the report."""
    cluster.start(*cluster.members)
    seconds = cluster.wait_ready(*cluster.members)
    bootstrapped = [name for name, member in cluster.members.items() if "galera-start: bootstrap" in member.tail(5000)]
    first, *_, last = cluster.members
    require(bootstrapped == [first], f"bootstrapped by {bootstrapped}")
    clusters = {cluster.state(name)[1].rpartition(" ")[2] for name in cluster.members}
    require(len(clusters) == 1, f"{len(clusters)} clusters")
    accounts = cluster.sql(last, "SELECT CONCAT(user, '@', host) FROM mysql.global_priv").split()
    require("root@%" in accounts, f"the administrator has no account: {accounts}")
    cluster.sql(first, _SQL.format(password=cluster.password))
    values = ",".join(f"({number},0)" for number in range(ACCOUNTS))
    cluster.sql(first, f"INSERT INTO bank.account VALUES {values}")  # noqa: S608
    return [f"a new cluster of {len(cluster.members)} was ready after {seconds:.0f} s"]


def one_killed(cluster: GaleraCluster, load: Load) -> list[str]:
    """kill -9 of one member."""
    cluster.kill("mysqld-0")
    silence = load.more()
    cluster.start("mysqld-0")
    back = cluster.wait_ready("mysqld-0")
    return [f"transfers went on after {silence:.1f} s", f"the member was ready again {back:.0f} s after its start"]


def minority(cluster: GaleraCluster, load: Load) -> list[str]:
    """One of three members is cut off from the network: it rejects writes, and the others continue."""
    cluster.testbed.isolate("mysqld-2")
    refused = until("the minority refuses writes", lambda: cluster.refuses_writes("mysqld-2"), 60)
    until("the minority is not ready", lambda: cluster.state("mysqld-2")[0] != 200, 20)
    silence = load.more()
    cluster.testbed.heal()
    back = cluster.wait_ready("mysqld-2")
    return [
        f"the minority refused writes after {refused:.1f} s and was not ready",
        f"the majority wrote {silence:.1f} s later",
        f"it was ready {back:.0f} s after the network was whole",
    ]


def full_stop(cluster: GaleraCluster, load: Load) -> list[str]:
    """All members stop one after the other under load; the most advanced one, killed last, starts last."""
    *early, last = sorted(cluster.members)
    for name in early:
        cluster.stop(name)
        load.more()
    cluster.kill(last)
    cluster.start(*early)

    def waits() -> bool:
        return all(last in cluster.state(name)[1] for name in early)

    until(f"{', '.join(early)} wait for {last}", waits, START)
    said = cluster.state(early[0])[1]
    time.sleep(10)
    require(waits(), f"they no longer wait for {last}: {[cluster.state(name) for name in early]}")
    cluster.start(last)
    seconds = cluster.wait_ready(*cluster.members)
    return [f"{early[0]} said: {said}", f"all were ready {seconds:.0f} s after {last} was back"]


def server_cut(cluster: GaleraCluster, load: Load) -> list[str]:
    """The power of one server is cut; its disk forgets what was not synced."""
    return _cut(cluster, load, 1)


def two_servers_cut(cluster: GaleraCluster, load: Load) -> list[str]:
    """The power of two of three servers is cut at the same moment; their disks forget what was not synced."""
    return _cut(cluster, load, 2)


def power_cut(cluster: GaleraCluster, load: Load) -> list[str]:
    """The power of all servers is cut at the same moment; their disks forget what was not synced."""
    return _cut(cluster, load, len(cluster.members))


def _cut(cluster: GaleraCluster, load: Load, number: int) -> list[str]:
    load.more()
    return cut(
        cluster.testbed,
        some(cluster.members, number),
        start=cluster.start,
        wait_ready=lambda: cluster.wait_ready(*cluster.members),
        more=load.more if number == 1 else None,
    )


def donor_killed(cluster: GaleraCluster, load: Load) -> list[str]:
    """A member that lost its disk requests a full state transfer, and the donor is killed while it sends."""
    fill(cluster)
    joiner = "mysqld-2"
    cluster.kill(joiner)
    cluster.members[joiner].run(["sh", "-c", "rm -rf /var/lib/mysql/*"])
    cluster.start(joiner)
    donors: list[str] = []

    def sends() -> bool:
        donors[:] = [name for name in cluster.members if "Donor" in cluster.state(name)[1]]
        return bool(donors)

    until("a donor sends", sends, START, 0.1)
    cluster.kill(donors[0])
    silence = load.more(seconds=START)
    before = cluster.restarts
    cluster.start(donors[0])
    seconds = cluster.wait_ready(*cluster.members)
    return [
        f"{donors[0]} was killed as donor of {joiner}; transfers went on after {silence:.1f} s",
        f"all were ready after {seconds:.0f} s and {cluster.restarts - before} restarts by kubelet's rule",
    ]


def fill(cluster: GaleraCluster) -> None:
    """Writes so much that a state transfer takes seconds."""
    rows = ",".join(["(RANDOM_BYTES(1024))"] * 1000)
    for _ in range(15):
        cluster.sql("mysqld-0", f"INSERT INTO bank.filling (text) VALUES {rows}")  # noqa: S608


def large_transfer(cluster: GaleraCluster, load: Load) -> list[str]:
    """A member that lost its disk takes over about a gibibyte: how many MiB in a second (the plan's figure)."""
    cluster.sql("mysqld-0", "TRUNCATE bank.filling")
    fill(cluster)
    for _ in range(_DOUBLINGS):
        cluster.sql("mysqld-0", "INSERT INTO bank.filling (text) SELECT text FROM bank.filling", seconds=START)
    joiner = cluster.members["mysqld-2"]
    until("the joiner has it all", lambda: cluster.state("mysqld-2")[0] == 200, START)
    cluster.kill("mysqld-2")
    size = int(joiner.run(["du", "-sm", "/var/lib/mysql"]).split()[0])
    joiner.run(["sh", "-c", "rm -rf /var/lib/mysql/*"])
    cluster.start("mysqld-2")
    seconds = cluster.wait_ready(*cluster.members)
    load.more()
    return [f"{size} MiB were taken over in {seconds:.0f} s, {size / seconds:.0f} MiB/s with the member's start"]


def three_to_five(cluster: GaleraCluster, load: Load) -> list[str]:
    """Two more members join; then the power of all five is cut, and their disks forget what was not synced."""
    for number in range(len(cluster.members), MOST):
        cluster.grow(number)
        cluster.start(f"mysqld-{number}")
    grown = cluster.wait_ready(*cluster.members)
    load.more()
    cluster.testbed.cut_power(*cluster.members)
    cluster.start(*cluster.members)
    seconds = cluster.wait_ready(*cluster.members)
    return [f"five were ready after {grown:.0f} s, and {seconds:.0f} s after a power cut of all five"]


def stuck(cluster: GaleraCluster, _load: Load) -> list[str]:
    """A member that no longer applies the writes of the others is not ready, and its liveness probe restarts it."""
    cluster.environment = {"GALERA_PATIENCE": "20"}
    cluster.stop("mysqld-2")
    cluster.start("mysqld-2")
    cluster.wait_ready("mysqld-2")
    cluster.environment = {}
    holder = cluster.members["mysqld-2"]
    lock = "FLUSH TABLES WITH READ LOCK; SELECT SLEEP(600)"
    holder.background(["mariadb", "--no-defaults", "--socket=/tmp/mysqld.sock", "-e", lock], "mysql")
    until("it is not ready", lambda: cluster.state("mysqld-2")[0] == 503, 60)
    said = cluster.state("mysqld-2")[1]
    seconds = until("it is not alive", lambda: holder.get(PORT, "/alive")[0] == 503, 120)
    back = cluster.wait_ready("mysqld-2")
    return [f"it said: {said}; not alive after {seconds:.0f} s with a patience of 20 s; ready {back:.0f} s later"]


def paused(cluster: GaleraCluster, load: Load) -> list[str]:
    """The member that all clients write to pauses for 60 s (SIGSTOP)."""
    return _stall(cluster, load, stalls.PAUSE)


def full_disk(cluster: GaleraCluster, load: Load) -> list[str]:
    """The disk of the member that all clients write to is full for 60 s."""
    return _stall(cluster, load, stalls.FULL_DISK)


def slow_disk(cluster: GaleraCluster, load: Load) -> list[str]:
    """The disk of the member that all clients write to makes 5 writes a second for 60 s."""
    return _stall(cluster, load, stalls.SLOW_DISK)


def unheard(cluster: GaleraCluster, load: Load) -> list[str]:
    """The member that all clients write to receives what the others send, and is not heard for 60 s."""
    return _stall(cluster, load, stalls.UNHEARD)


def out_of_memory(cluster: GaleraCluster, load: Load) -> list[str]:
    """The member that all clients write to reaches its memory limit, as 150 further clients connect, for 60 s."""
    _restart(cluster, load, ServiceMachine.confine)
    return _stall(cluster, load, memory.storm("galera", cluster.client, load.settings()))


def wrong_clock(cluster: GaleraCluster, load: Load) -> list[str]:
    """The clock of the member that all clients write to is 60 s ahead for 60 s."""
    _restart(cluster, load, clock.prepare)
    return _stall(cluster, load, clock.WRONG)


def _restart(cluster: GaleraCluster, load: Load, prepare: Callable[[ServiceMachine], None]) -> None:
    """Stops the first member, prepares its machine, and starts it again, until clients go on."""
    name, machine = next(iter(cluster.members.items()))
    cluster.stop(name)
    prepare(machine)
    cluster.start(name)
    cluster.wait_ready(*cluster.members)
    load.more(seconds=START)


def slow_joiner(cluster: GaleraCluster, load: Load) -> list[str]:
    """A state transfer to a slow disk lasts four times as long as a member may be without progress."""
    joiner, patience = "mysqld-2", 20
    fill(cluster)
    cluster.kill(joiner)
    machine = cluster.members[joiner]
    machine.run(["sh", "-c", "rm -rf /var/lib/mysql/*"])
    cluster.environment = {"GALERA_PATIENCE": str(patience)}
    before, began = cluster.restarts, time.monotonic()
    stalls.SLOW_DISK.begin(machine)
    try:
        cluster.start(joiner)
        while time.monotonic() - began < 4 * patience and cluster.state(joiner)[0] != 200:
            cluster.restart(joiner)
            time.sleep(1)
    finally:
        stalls.SLOW_DISK.end(machine)
        cluster.environment = {}
    slow = time.monotonic() - began
    back = cluster.wait_ready(*cluster.members)
    require(slow >= 4 * patience, f"the transfer ended after {slow:.0f} s: too early for this trial")
    silent = silence.longest(load.history(), began)
    return [
        f"ready {slow + back:.0f} s after its start, with a limit of {patience} s without progress and "
        f"{cluster.restarts - before} restarts",
        f"nothing was acknowledged for {silent:.1f} s",
    ]


def _stall(cluster: GaleraCluster, load: Load, stall: Stall) -> list[str]:
    name = next(iter(cluster.members))

    def state() -> str:
        cluster.restart(name)
        code, said = cluster.state(name)
        return f"{'ready' if code == 200 else 'not ready'}: {said.partition(' of ')[0] or 'no answer'}"

    def recover() -> float:
        return cluster.wait_ready(*cluster.members)

    members = list(cluster.members.values())
    return stalled(StalledService(members, state, recover, lambda: load.more(seconds=START), load.history), stall)


STALLS: tuple[Failure, ...] = (paused, full_disk, slow_disk, unheard, out_of_memory, wrong_clock, slow_joiner)
CUTS: tuple[Failure, ...] = (server_cut, two_servers_cut, power_cut)
QUICK: tuple[Failure, ...] = (one_killed, minority, full_stop, power_cut)
HEAVY: tuple[Failure, ...] = (server_cut, two_servers_cut, donor_killed, stuck, three_to_five, large_transfer)


def prove(
    root: Path, container: TriedContainer, failures: Sequence[Failure], *, one_writer: bool = False
) -> list[Proof]:
    """Runs the failures on one Galera cluster, until the cluster does not survive one. Returns the results.

    `one_writer`: clients write through one member at a time, as with ProxySQL, and not through all of them. Raises
    Unavailable if this machine cannot run the test bed.
    """
    with ServiceTestbed(root) as testbed:
        cluster = GaleraCluster(testbed, container)
        load = Load(cluster, one_writer=one_writer)
        notes = begin(cluster)
        return in_turn("Galera", failures, lambda name, failure: trial(name, cluster, load, failure), notes)
