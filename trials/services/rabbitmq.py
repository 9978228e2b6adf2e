"""Trials of RabbitMQ: members fail under load, and no confirmed message may be lost.

The members run with the rendered configuration. The docstring of a failure is the name of its trial in the report.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from openstack.config.ports import AMQP
from trials.histories import operation, queues
from trials.histories.operation import ClientOperation
from trials.services import clock, memory, stalls
from trials.services.containers import TriedContainer
from trials.services.cuts import cut, some
from trials.services.stalls import Stall, StalledService, stalled
from trials.services.testbed import DISK, Broken, ServiceMachine, ServiceTestbed, place, require, until
from trials.trial_report import Proof, in_turn

CONFIGURATION, SECRETS = "/etc/rabbitmq/rabbitmq.conf", "/etc/rabbitmq/conf.d/secrets.conf"
DOMAIN = "openstack.svc"
START = 300
"""Seconds that the start of a RabbitMQ member may take on a busy machine."""
REPLICAS = 60
"""Seconds after which all replicas of a queue must run, once all members are ready."""
_PROGRAM = """\
#!/bin/sh
cd /var/lib/rabbitmq
exec /usr/lib/rabbitmq/bin/rabbitmq-server "$@"
"""
STREAM = """\
rabbit_amqqueue:declare(rabbit_misc:r(<<"/">>, queue, <<"stream">>), true, false,
                        [{<<"x-queue-type">>, longstr, <<"stream">>}], none, <<"trial">>)."""
_LOAD = Path(__file__).with_name("rabbitmq_load.py")


class RabbitmqCluster:
    """A RabbitMQ cluster in the test bed: its members, and a client that publishes to a quorum queue."""

    def __init__(self, testbed: ServiceTestbed, container: TriedContainer, size: int = 3) -> None:
        self.testbed = testbed
        self.name = container.workload
        self.members: dict[str, ServiceMachine] = {}
        self.password = _option(container.text(SECRETS), "default_pass")
        self.user = _option(container.text(CONFIGURATION), "default_user")
        self.vhost = "/"
        self.sent = 0
        """How many messages earlier runs of the load have published: numbers of messages start at 0."""
        self._commands: dict[str, list[str]] = {}
        disk = max(DISK, 4 * int(_option(container.text(CONFIGURATION), "disk_free_limit.absolute")))
        for number in range(size):
            name = f"{self.name}-{number}"
            machine = self.members[name] = testbed.add(name)
            machine.add_disk("/var/lib/rabbitmq", disk)
            machine.own("/var/lib/rabbitmq", "rabbitmq")
            self._commands[name] = place(machine, container)
            # Debian's program of this name writes the log into a file, and does not pass SIGTERM on.
            machine.write("/usr/local/sbin/rabbitmq-server", _PROGRAM, mode="0755")
        self.client = testbed.add(f"{self.name}-client")
        self.client.write("/load.py", _LOAD.read_text(encoding="utf-8"))
        testbed.name_members(f"{self.name}-members", DOMAIN, list(self.members))

    def start(self, *names: str) -> None:
        for name in names:
            self.members[name].start(self._commands[name], "rabbitmq")

    def start_without_names(self, *names: str) -> None:
        """Starts members, and gives them their names when all wait for them."""
        self.testbed.hide_names(*names)
        self.start(*names)
        until("all members wait for their names", lambda: all(map(self.waits, names)), 60)
        self.testbed.show_names(*names)

    def stop(self, *names: str) -> None:
        for name in names:
            self.members[name].stop(120)

    def kill(self, *names: str) -> None:
        for name in names:
            self.members[name].kill()

    def ready(self, name: str) -> bool:
        """Whether a member's AMQP port accepts connections, as the readiness probe checks."""
        return self.members[name].accepts(AMQP)

    def waits(self, name: str) -> bool:
        """Whether a member that was started waits until its own name has an address."""
        return self.members[name].runs and "waits for an address" in self.members[name].tail(1)

    def wait_ready(self, *names: str) -> float:
        """Waits until members are ready; starts members that have ended, as kubelet does.

        Returns the seconds it took.
        """

        def all_ready() -> bool:
            for name in names:
                if not self.members[name].runs:
                    self.start(name)
            return all(self.ready(name) for name in names)

        return until(f"{', '.join(names)} ready", all_ready, START, 1)

    def replicated(self) -> bool:
        """Whether each member's replica of every queue runs: a client of a member without one receives nothing."""
        try:
            said = self.control(next(iter(self.members)), "list_queues", "members", "online", "--formatter=json")
        except subprocess.CalledProcessError:
            return False  # that member's replica does not run
        return all(sorted(queue["online"]) == sorted(queue["members"]) for queue in json.loads(said))

    def replicas(self, kind: str) -> int:
        """Returns the least number of replicas of a queue of a kind, such as stream."""
        said = self.control(next(iter(self.members)), "list_queues", "type", "members", "--formatter=json")
        return min(len(queue["members"]) for queue in json.loads(said) if queue["type"] == kind)

    def forget(self, name: str, node: str) -> bool:
        """Lets the member `name` remove a node from the cluster's list. Returns whether it did."""
        try:
            self.control(name, "forget_cluster_node", node)
        except subprocess.CalledProcessError:
            return False  # it still counts as running
        return True

    def control(self, name: str, *words: str) -> str:
        """Runs rabbitmqctl on the member `name`. Returns its output."""
        return self.members[name].run(["rabbitmqctl", "-q", *words], user="rabbitmq", seconds=120)

    def running(self, name: str) -> list[str]:
        """Returns the running members of the cluster, as the member `name` lists them."""
        said = json.loads(self.control(name, "cluster_status", "--formatter=json"))
        return sorted(said["running_nodes"])

    def settings(self) -> dict[str, object]:
        """Returns the members, and the account of clients."""
        members = [machine.address for machine in self.members.values()]
        return {"members": members, "user": self.user, "password": self.password, "vhost": self.vhost}

    def load(self) -> None:
        """Starts the load: the client publishes numbered messages."""
        self.client.write("/etc/load.json", json.dumps(self.settings() | {"first": self.sent}))
        self.client.write("/history.jsonl", "")
        self.client.log.write_text("")
        self.client.start(["python3", "/load.py"], "root")

    def confirmed(self) -> int:
        """Returns how many messages of the current run are confirmed."""
        return self.client.log.read_text().count(" ok\n")

    def more(self, messages: int = 20) -> float:
        """Waits until RabbitMQ has confirmed further messages. Returns the seconds until the first of them."""
        before = self.confirmed()
        first = until("a message is confirmed", lambda: self.confirmed() > before, START, 0.2)
        until("messages are confirmed", lambda: self.confirmed() >= before + messages, START)
        return first

    def end_load(self) -> dict[int, str]:
        """Stops the load. Returns the outcome of each message by number: ok (confirmed), no (rejected) or unknown."""
        self.client.stop(30)
        lines = [line.split() for line in self.client.log.read_text().splitlines()]
        said = {int(words[0]): words[1] for words in lines if len(words) == 2 and words[0].isdecimal()}
        # The history also has messages of a client that was killed, which are in no line of the log.
        self.sent = max((*said, *(each.value for each in self.history())), default=self.sent - 1) + 1
        return said

    def drained(self) -> list[int]:
        """Removes all messages from the queue, and returns their numbers in the order of the queue."""
        return [int(line) for line in self.client.run(["python3", "/load.py", "drain"], seconds=START).split()]

    def history(self) -> list[ClientOperation]:
        """Returns the history of the current run of the load."""
        return operation.parse(self.client.run(["cat", "/history.jsonl"]).splitlines(keepends=True))


def _option(text: str, name: str) -> str:
    pairs = (line.partition(" = ") for line in text.splitlines())
    return next(value for option, _, value in pairs if option == name)


ALLOWED = ("duplicated", "late", "reordered")
"""Anomalies that RabbitMQ does not exclude when a member fails: a message may be delivered again, out of its order and
also in the next trial (https://www.rabbitmq.com/docs/reliability). They are reported, and do not fail a trial."""
Failure = Callable[[RabbitmqCluster], list[str]]


def trial(name: str, cluster: RabbitmqCluster, failure: Failure) -> Proof:
    """Makes the RabbitMQ cluster fail under load, and looks for every confirmed message afterwards.

    Returns the result.
    """
    started, earlier = time.monotonic(), cluster.sent
    cluster.load()
    problem, notes = "", list[str]()
    try:
        cluster.more()
        notes = failure(cluster)
        cluster.wait_ready(*cluster.members)
        cluster.more()
        until("all replicas of the queue run", cluster.replicated, REPLICAS, 1)
    except (TimeoutError, Broken) as error:
        problem = str(error)
    said = cluster.end_load()
    answers = list(said.values())
    confirmed = {number for number, answer in said.items() if answer == "ok"}
    found = [] if problem else queues.anomalies(cluster.history(), cluster.drained(), range(earlier))
    lost = sum(each.count for each in found if each.name == "lost")
    wrong = [f"history: {each}" for each in found if each.name not in ("lost", *ALLOWED)]
    notes += [f"history: {each}" for each in found if each.name in ALLOWED]
    notes.append(f"{answers.count('no')} messages refused, {answers.count('unknown')} broken off")
    return Proof(
        name, len(answers), len(confirmed), lost, round(time.monotonic() - started, 1), tuple(notes),
        problem or "; ".join(wrong),
    )  # fmt: skip


def begin(cluster: RabbitmqCluster) -> list[str]:
    """Starts a new cluster. All members must be in one cluster, and queues must be quorum queues by default.

    Returns notes for the report. Raises Broken otherwise.
    """
    cluster.start(*cluster.members)
    seconds = cluster.wait_ready(*cluster.members)
    first = next(iter(cluster.members))
    require(len(cluster.running(first)) == len(cluster.members), f"a cluster of {cluster.running(first)}")
    cluster.load()
    cluster.more(1)
    cluster.end_load()
    kinds = cluster.control(first, "list_queues", "name", "type", "members", "--formatter=json")
    queues = [(queue["type"], len(queue["members"])) for queue in json.loads(kinds)]
    require(queues == [("quorum", len(cluster.members))], f"queues: {queues}")
    cluster.drained()
    return [f"one new cluster of {len(cluster.members)} was ready after {seconds:.0f} s"]


def one_killed(cluster: RabbitmqCluster) -> list[str]:
    """kill -9 of one member."""
    cluster.kill("rabbitmq-0")
    silence = cluster.more()
    cluster.start("rabbitmq-0")
    back = cluster.wait_ready("rabbitmq-0")
    return [f"confirmations went on after {silence:.1f} s", f"the member was ready {back:.0f} s after its start"]


def minority(cluster: RabbitmqCluster) -> list[str]:
    """One of three members is cut off from the network: it pauses, and the others continue."""
    cluster.testbed.isolate("rabbitmq-2")
    paused = until("the minority pauses", lambda: not cluster.ready("rabbitmq-2"), 120, 1)
    silence = cluster.more()
    cluster.testbed.heal()
    back = cluster.wait_ready("rabbitmq-2")
    return [
        f"the minority closed its AMQP port after {paused:.0f} s; the majority confirmed {silence:.1f} s later",
        f"it was ready {back:.0f} s after the network was whole",
    ]


def full_stop(cluster: RabbitmqCluster) -> list[str]:
    """All members stop one after the other; the one that stopped first, with the oldest state, starts first."""
    names = sorted(cluster.members)
    cluster.stop(*names)
    for name in names:  # the member that stopped first has the oldest state
        cluster.start(name)
        time.sleep(5)
    seconds = cluster.wait_ready(*names)
    return [f"all were ready {seconds:.0f} s after the last one started"]


def server_cut(cluster: RabbitmqCluster) -> list[str]:
    """The power of one server is cut; its disk forgets what was not synced."""
    return _cut(cluster, 1)


def two_servers_cut(cluster: RabbitmqCluster) -> list[str]:
    """The power of two of three servers is cut at the same moment; their disks forget what was not synced."""
    return _cut(cluster, 2)


def power_cut(cluster: RabbitmqCluster) -> list[str]:
    """The power of all servers is cut; their disks forget what was not synced, and they start before the DNS does."""
    return _cut(cluster, len(cluster.members))


def _cut(cluster: RabbitmqCluster, number: int) -> list[str]:
    return cut(
        cluster.testbed,
        some(cluster.members, number),
        start=cluster.start if number < len(cluster.members) else cluster.start_without_names,
        wait_ready=lambda: cluster.wait_ready(*cluster.members),
        more=cluster.more if number == 1 else None,
    )


def lost_disk(cluster: RabbitmqCluster) -> list[str]:
    """The member with ordinal 0 is forgotten, starts without its data, and joins the others and their streams again."""
    first, second, *_ = cluster.members
    cluster.control(first, "eval", STREAM)
    require(cluster.replicas("stream") == len(cluster.members), "the stream has a replica on each member")
    cluster.kill(first)
    node = f"rabbit@{first}.{cluster.name}-members.{DOMAIN}"
    until("the others forget it", lambda: cluster.forget(second, node), START, 1)
    cluster.members[first].run(["sh", "-c", "rm -rf /var/lib/rabbitmq/*"])
    cluster.start(first)
    seconds = cluster.wait_ready(first)
    seen = {name: cluster.running(name) for name in cluster.members}
    require(all(len(members) == len(cluster.members) for members in seen.values()), f"clusters: {seen}")
    until("it has a replica of the stream", lambda: cluster.replicas("stream") == len(cluster.members), REPLICAS, 1)
    return [f"it was a member again after {seconds:.0f} s"]


def paused(cluster: RabbitmqCluster) -> list[str]:
    """A member pauses for 60 s (SIGSTOP)."""
    return _stall(cluster, stalls.PAUSE)


def full_disk(cluster: RabbitmqCluster) -> list[str]:
    """The disk of a member is full for 60 s."""
    return _stall(cluster, stalls.FULL_DISK)


def slow_disk(cluster: RabbitmqCluster) -> list[str]:
    """The disk of a member makes 5 writes a second for 60 s."""
    return _stall(cluster, stalls.SLOW_DISK)


def unheard(cluster: RabbitmqCluster) -> list[str]:
    """A member receives what the others send, and is not heard for 60 s."""
    return _stall(cluster, stalls.UNHEARD)


def out_of_memory(cluster: RabbitmqCluster) -> list[str]:
    """A member reaches its memory limit, as 150 further clients connect, for 60 s."""
    _restart(cluster, ServiceMachine.confine)
    return _stall(cluster, memory.storm("rabbitmq", cluster.client, cluster.settings()))


def wrong_clock(cluster: RabbitmqCluster) -> list[str]:
    """The clock of a member is 60 s ahead for 60 s."""
    _restart(cluster, clock.prepare)
    return _stall(cluster, clock.WRONG)


def _restart(cluster: RabbitmqCluster, prepare: Callable[[ServiceMachine], None]) -> None:
    """Stops the first member, prepares its machine, and starts it again, until messages are confirmed."""
    name, machine = next(iter(cluster.members.items()))
    cluster.stop(name)
    prepare(machine)
    cluster.start(name)
    cluster.wait_ready(*cluster.members)
    cluster.more()


def memory_alarm(cluster: RabbitmqCluster) -> list[str]:
    """A member has a memory alarm for 60 s: RabbitMQ blocks the publishers of all members."""

    def begin(machine: ServiceMachine) -> None:
        cluster.control(machine.name, "set_vm_memory_high_watermark", "absolute", "1MB")

    def end(machine: ServiceMachine) -> None:
        cluster.control(machine.name, "set_vm_memory_high_watermark", "0.6")

    return _stall(cluster, Stall(begin, end))


def _stall(cluster: RabbitmqCluster, stall: Stall) -> list[str]:
    name, *_ = cluster.members

    def state() -> str:
        if not cluster.members[name].runs:
            cluster.start(name)  # as kubelet does
        return "ready" if cluster.ready(name) else "not ready"

    def recover() -> float:
        return cluster.wait_ready(*cluster.members)

    members = list(cluster.members.values())
    return stalled(StalledService(members, state, recover, cluster.more, cluster.history), stall)


STALLS: tuple[Failure, ...] = (paused, full_disk, slow_disk, unheard, out_of_memory, memory_alarm, wrong_clock)
CUTS: tuple[Failure, ...] = (server_cut, two_servers_cut, power_cut)
QUICK: tuple[Failure, ...] = (one_killed, minority, full_stop, two_servers_cut)
HEAVY: tuple[Failure, ...] = (server_cut, power_cut, lost_disk)


def prove(root: Path, container: TriedContainer, failures: Sequence[Failure]) -> list[Proof]:
    """Runs the failures on one RabbitMQ cluster, until the cluster does not survive one. Returns the results.

    Raises Unavailable if this machine cannot run the test bed.
    """
    with ServiceTestbed(root) as testbed:
        cluster = RabbitmqCluster(testbed, container)
        notes = begin(cluster)
        return in_turn("RabbitMQ", failures, lambda name, failure: trial(name, cluster, failure), notes)


def prove_beside(root: Path, own: TriedContainer, further: TriedContainer) -> list[Proof]:
    """Runs two RabbitMQ clusters: the second must continue while the first has lost its majority.

    Returns the result. Raises Unavailable if this machine cannot run the test bed.
    """
    with ServiceTestbed(root) as testbed:
        first, second = RabbitmqCluster(testbed, own), RabbitmqCluster(testbed, further)
        notes = [*begin(first), *begin(second)]
        (one, two, _), member = first.members, next(iter(second.members))
        shared = set(first.running(one)) & set(second.running(member))
        require(not shared, f"members of both clusters: {shared}")
        require(first.password != second.password, "both clusters have one administrator's password")

        def without_the_other(cluster: RabbitmqCluster) -> list[str]:
            first.kill(one, two)
            return [f"confirmations went on after {cluster.more():.1f} s, without a majority of {first.name}"]

        proof = trial(
            f"RabbitMQ: two of three members of another cluster than {second.name} killed", second, without_the_other
        )
        return [replace(proof, notes=(*notes, *proof.notes))]
