"""The members of a database of OVN in a test bed, with the rendered container, and a client that writes to them.

A write is a logical switch in the northbound database, a chassis in the southbound one.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

from trials.services.containers import TriedContainer
from trials.services.testbed import Broken, ServiceMachine, ServiceTestbed, place, until

DOMAIN = "openstack.svc.cluster.local"
START = 120
"""Seconds that the start of all members may take on a busy machine."""
CONTROL = "/tmp/ovsdb-server.ctl"  # noqa: S108 - in the machine
DATA = "/var/lib/ovn"
SOCKET = "unix:/tmp/ovsdb-server.sock"
_CLIENT = "/tmp/client.ctl"  # noqa: S108 - in the machine
_WRITES = 10
"""Rows that a trial writes, one after the other. Project figure."""
_TABLES = {"OVN_Northbound": "logical_switch", "OVN_Southbound": "chassis"}
_SETTINGS = "/etc/ovn/member.json"


class OvnCluster:
    """The members of a database in the test bed, each on a machine with a disk, and a client."""

    def __init__(
        self,
        testbed: ServiceTestbed,
        container: TriedContainer,
        client: ServiceMachine,
        add: Callable[[str], ServiceMachine] | None = None,
    ) -> None:
        """`add`: adds a machine with OVN's programs to a test bed whose root does not have them."""
        self.testbed, self.container, self.client = testbed, container, client
        self.members: dict[str, ServiceMachine] = {}
        self.acknowledged: list[str] = []
        self.tried = 0
        settings = json.loads(container.text(_SETTINGS))
        self.database: str = settings["database"]
        self.program: str = settings["client"]
        self._metrics: int = settings["metrics"]
        names: list[str] = settings["members"]
        for name in names:
            machine = self.members[name.partition(".")[0]] = (add or testbed.add)(name.partition(".")[0])
            machine.add_disk(DATA)
            self._command = place(machine, container, "root")
        testbed.name_members(f"{container.workload}-members", DOMAIN, list(self.members))
        self.remote = ",".join(f"tcp:{name}:{settings['port']}" for name in names)
        self._by = f"--db={self.remote}"

    def start(self, *names: str) -> None:
        for name in names:
            self.members[name].start(self._command, "root")

    def kill(self, *names: str) -> None:
        for name in names:
            self.members[name].kill()

    def lose_volume(self, name: str) -> None:
        """Empties the disk of a member that does not run."""
        self.members[name].run(["find", DATA, "-mindepth", "1", "-delete"])

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
        command = ["ovs-appctl", "--target", CONTROL, "cluster/status", self.database]
        return self.members[name].run(command, check=False)

    def server(self, name: str) -> str:
        """Returns the first four digits of a member's identity; empty without a database."""
        return self.status(name)[:4].strip()

    def metric(self, name: str) -> str:
        """Returns what Prometheus reads of a member: "1" if it takes part; "" without an answer."""
        _, text = self.members[name].get(self._metrics, "/metrics")
        return text.rpartition(" ")[2]

    def leader(self) -> str:
        """Returns the name of the leader. Raises Broken if no member says that it leads."""
        for name, machine in self.members.items():
            if machine.runs and "Leader: self" in self.status(name):
                return name
        raise Broken(f"no member is the leader of {self.database}")

    def identities(self, name: str) -> list[str]:
        """Returns the addresses in the list of members that a member has, one for each identity."""
        lines = self.status(name).partition("Servers:")[2].splitlines()
        return sorted(line.partition(" at tcp:")[2].partition(".")[0] for line in lines if " at tcp:" in line)

    def ask(self, *words: str, seconds: float = 30) -> str:
        """Runs a command of the database's program on the client, which asks the leader."""
        return self.client.run([self.program, "--timeout=10", self._by, *words], seconds=seconds)

    def keep_connection(self) -> None:
        """Starts a program on the client that keeps its connection, and by which `ask` and `write` ask from now on."""
        start = f"{self.program} --db={self.remote} --unixctl={_CLIENT} --detach --log-file={_CLIENT}.log"
        # The program puts itself in the background: it ends with a process namespace of its own.
        own = ["unshare", "--pid", "--fork", "--kill-child"]
        self.client.background([*own, "sh", "-c", f"{start} && exec sleep infinity"], "root")
        until("the client's program runs", lambda: self.client.run(["ls", _CLIENT], check=False), START)
        self._by = f"--unixctl={_CLIENT}"

    def write(self, count: int = _WRITES) -> float:
        """Writes rows, and repeats each until it is acknowledged. Returns the longest time that one took."""
        longest = 0.0
        for _ in range(count):
            number = len(self.acknowledged)
            took = until(f"row {number} is acknowledged", lambda number=number: self._write(number), START)
            longest = max(longest, took)
            self.acknowledged.append(f"row-{number}")
        return longest

    def _write(self, number: int) -> bool:
        self.tried += 1
        try:
            self.ask(*self.row(f"row-{number}", number))
        except subprocess.SubprocessError:
            return False
        return True

    def row(self, name: str, number: int = 2**16 - 1) -> list[str]:
        """Returns the words that write a row. A chassis has its own address, by `number`."""
        if self.database == "OVN_Northbound":
            return ["--may-exist", "ls-add", name]
        return ["--may-exist", "chassis-add", name, "geneve", f"198.18.{number // 256}.{number % 256}"]

    def read(self, name: str) -> set[str]:
        """Returns the rows that a member has."""
        command = [self.program, "--no-leader-only", "--timeout=10", f"--db={SOCKET}"]
        table = _TABLES[self.database]
        return set(self.members[name].run([*command, "--bare", "--columns=name", "list", table]).split())

    def lost(self) -> set[str]:
        """Returns the acknowledged rows that a member lacks."""
        return {each for name in self.members for each in set(self.acknowledged) - self.read(name)}

    def wait_whole(self) -> float:
        """Waits until each member says that the cluster has its three members, each once."""
        whole = sorted(self.members)
        return until(
            f"the members are {whole}", lambda: all(self.identities(name) == whole for name in self.members), START
        )

    def tails(self) -> str:
        """Returns the last lines of the logs of all members."""
        return "\n".join(f"{each}:\n{machine.tail()}" for each, machine in self.members.items())
