"""A lab whose stack changes: masters and workers come and go, and a client writes ConfigMaps all the time."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pulumi
import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components import machine_files
from components.k8s_master.pki import Pki
from components.machine import directory, variables
from components.secrets import Keyring
from components.templates import fill
from console.errors import UserError
from console.progress import Reporter
from tests.stacks import STACKS
from tests.trials.machines import by_hand
from tests.trials.machines.report_plugin import proof_of
from trials.cloud import bring_up, host, masters, network, nspawn, power
from trials.cloud.drill import result
from trials.cloud.lab_machines import Lab, LabMachine, lab_of
from trials.trial_report import Proof

LAB = f"members{by_hand.OF_A_TEST}"
WORKERS = ("messaging1", "messaging2")
PHYSICAL = "metal1"
"""A physical server, to which a master moves."""
MASTERS = ("master1", "master2", "master3", "extra1", "extra2", PHYSICAL)
"""All masters that the stack ever has. All but the last are virtual machines."""
ADMINISTRATOR = "/root/admin.conf"
"""Kubeconfig of the writing client, on the first worker: it reaches the API through the worker's own proxy."""
WAIT = 120.0
"""Seconds until a condition must hold."""


@dataclass(frozen=True)
class Operation:
    """What has been done with the lab, with the times of its start and end (time.monotonic)."""

    name: str
    started: float
    ended: float
    has_writes: bool
    """Whether a client wrote meanwhile."""


@dataclass
class Changing:
    """The lab, and what has been done with it."""

    lab: Lab
    directory: Path
    operations: list[Operation] = field(default_factory=list[Operation])
    certificates: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The key `quorate:certificates` of the stack."""

    def machine(self, name: str) -> LabMachine:
        """Returns a machine by name."""
        return self.lab.machine(name)

    @contextmanager
    def timed(self, name: str, *, has_writes: bool = True) -> Generator[None]:
        """Records an operation that succeeds."""
        started = time.monotonic()
        yield
        ended = time.monotonic()
        self.operations.append(Operation(name, started, ended, has_writes))
        print(f"{ended - started:7.1f} s  {name}", flush=True)

    def render(self, names: Sequence[str]) -> None:
        """Writes the directories of a stack with these masters, and delivers them to its running machines."""
        planned = stack_plan(self.directory, names, self.certificates)
        tree = self.directory / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        for name in (*names, *WORKERS):
            write_directory(planned, name, tree)
            if nspawn.is_running(self.machine(name)):
                by_hand.deliver(self.machine(name))

    def update(self, names: Sequence[str]) -> None:
        """Runs `apply` on the masters one after the other, as `quorate up` does, then on the workers."""
        for name in (*names, *WORKERS):
            if nspawn.is_running(self.machine(name)):
                by_hand.apply(self.machine(name))

    def members(self, asked: str = "master3") -> dict[str, str]:
        """Returns the voting members of etcd with their IDs, as a master lists them."""
        found: dict[str, str] = {}
        for line in etcdctl(self.machine(asked), "member", "list").splitlines():
            identifier, _, name, _, _, learner = line.split(", ")
            if learner == "false":
                found[name] = identifier
        return found

    def nodes(self) -> set[str]:
        """Returns the names of the Ready nodes."""
        done = self.kubectl("get", "nodes", "--output=json")
        items = json.loads(done)["items"]
        return {
            each["metadata"]["name"]
            for each in items
            if any(c["type"] == "Ready" and c["status"] == "True" for c in each["status"]["conditions"])
        }

    def kubectl(self, *words: str, stdin: str | None = None) -> str:
        """Runs kubectl on the first worker, through its proxy."""
        command = ["kubectl", f"--kubeconfig={ADMINISTRATOR}", "--request-timeout=20s", *words]
        done = nspawn.run_in(self.machine(WORKERS[0]), command, stdin=stdin)
        if done.returncode:
            raise UserError(done.stderr.strip())
        return done.stdout

    def processes(self, names: Sequence[str]) -> dict[str, str]:
        """Returns the process ID of etcd on masters, which changes if a member restarts."""
        shown = ["systemctl", "show", "--property=MainPID", "etcd.service"]
        return {name: masters.output(self.machine(name), shown) for name in names}

    def cut_power(self, name: str) -> None:
        """Ends a machine at once."""
        nspawn.cut_power(self.machine(name).directory)

    @contextmanager
    def cut_off(self, name: str) -> Generator[None]:
        """Disconnects a running machine from the network while the context is open."""
        network.set_connected(self.lab, self.machine(name), on=False)
        try:
            yield
        finally:
            network.set_connected(self.lab, self.machine(name), on=True)

    def power_on(self, name: str) -> None:
        """Starts a machine that has its disk."""
        power.switch_on([self.machine(name)], lambda _said: None)

    def repair(self, name: str) -> None:
        """Starts a dead machine with an empty disk, and delivers its directory."""
        bring_up.replace_disk(self.lab, self.machine(name))
        self.power_on(name)
        by_hand.deliver(self.machine(name))


@dataclass
class Writer:
    """Creates ConfigMaps through the first worker's proxy, one after the other, in a thread."""

    changing: Changing
    tried: list[tuple[float, int, str | None]] = field(default_factory=list[tuple[float, int, str | None]])
    """For each write when it ended (time.monotonic), its number, and why it was not acknowledged."""
    _end: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def writing(self) -> Generator[None]:
        """Writes while the context is open."""
        thread = threading.Thread(target=self._write)
        thread.start()
        try:
            yield
        finally:
            self._end.set()
            thread.join()

    def _write(self) -> None:
        for number in itertools.count():
            if self._end.is_set():
                return
            reason = None
            try:
                self.changing.kubectl("create", "configmap", f"written-{number}")
            except (UserError, subprocess.TimeoutExpired) as error:
                reason = str(error)
            self.tried.append((time.monotonic(), number, reason))
            self._end.wait(0.5)

    def acknowledged(self) -> set[int]:
        """Returns the numbers of the writes that are acknowledged so far."""
        return {number for _, number, reason in self.tried if reason is None}

    def found(self) -> set[int]:
        """Returns the numbers of the writes that the cluster has."""
        names = self.changing.kubectl("get", "configmaps", "--output=name").split()
        return {int(name.rpartition("-")[2]) for name in names if "/written-" in name}

    def proofs(self, found: Collection[int]) -> list[Proof]:
        """Returns a proof of each operation, with the writes that ended during it. `found`: writes that still exist."""
        return [self._proof(operation, found) for operation in self.changing.operations]

    def _proof(self, operation: Operation, found: Collection[int]) -> Proof:
        during = [write for write in self.tried if operation.started <= write[0] <= operation.ended]
        seen = result.writes(during, found, operation.ended)
        seconds = operation.ended - operation.started
        return proof_of(f"Members: {operation.name}", seen, seconds, has_writes=operation.has_writes)


@contextmanager
def changing_lab(work: Path) -> Generator[Changing]:
    """Starts all machines, of which `start` makes a cluster. Removes everything at the end.

    Skips the test if another lab is on this host, or if the host lacks something.
    """
    by_hand.skip_beside_another_lab()
    with host.alone():
        tree = work / "tree"
        whole = lab_of(LAB, stack_plan(work, MASTERS), tree)
        machines = tuple(replace(each, has_disk=False) for each in whole.machines if each.name in MASTERS + WORKERS)
        changing = Changing(replace(whole, machines=machines), work)
        by_hand.skip_unless_able(changing.lab)
        bring_up.take_down()
        try:
            changing.render(MASTERS[:3])  # the proxy's image is read from a worker's directory
            bring_up.bring_up(changing.lab, [], Reporter())
            yield changing
        finally:
            bring_up.take_down()


def start(changing: Changing, first_master: Callable[[LabMachine], object]) -> None:
    """Makes the cluster of the first three masters and the workers. `first_master`: how the first one is set up."""
    first = replace(changing.lab, machines=tuple(map(changing.machine, (*MASTERS[:3], *WORKERS))))
    by_hand.set_up(first, first_master)
    by_hand.await_nodes(first)
    make_client(changing.lab)


def make_client(lab: Lab) -> None:
    """Writes the kubeconfig of the writing client to the first worker, and waits until the worker's proxy answers.

    A worker may be Ready before the pod of its proxy runs: it joins through a master.
    """
    config = yaml.safe_load(masters.output(lab.machine("master1"), ["cat", masters.ADMIN]))
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:6443"
    script = f"umask 077; cat >{ADMINISTRATOR}"
    worker = lab.machine(WORKERS[0])
    nspawn.run_in(worker, ["sh", "-c", script], stdin=yaml.safe_dump(config))
    ask = ["kubectl", f"--kubeconfig={ADMINISTRATOR}", "--request-timeout=5s", "get", "--raw=/readyz"]
    until(f"the proxy of {worker.name} answers", lambda: nspawn.run_in(worker, ask).returncode == 0)


def etcdctl(master: LabMachine, *words: str) -> str:
    """Runs etcdctl on a master's own member, and returns its output."""
    flags = [f"--{flag}={masters.ETCD_PKI}/{name}" for flag, name in
             (("cacert", "ca.crt"), ("cert", "server.crt"), ("key", "server.key"))]  # fmt: skip
    return masters.output(master, ["etcdctl", *flags, f"--endpoints=https://{master.address}:2379", *words])


def until(what: str, condition: Callable[[], bool], limit: float = WAIT) -> None:
    """Waits until a condition holds; a UserError counts as no."""
    end = time.monotonic() + limit
    while True:
        try:
            if condition():
                return
        except (UserError, subprocess.TimeoutExpired):
            pass
        assert time.monotonic() < end, f"not within {limit:.0f} s: {what}"
        time.sleep(1)


def stack_plan(work: Path, names: Sequence[str], certificates: Mapping[str, Any] = MappingProxyType({})) -> Plan:
    """Returns the plan of the stack "dev" with these masters."""
    document = yaml.safe_load(STACKS["dev"].read_text(encoding="utf-8"))
    servers: list[dict[str, object]] = []
    for number in (1, 2, 3):
        vms = [
            {"id": kind, "name": f"{name}{number}", "cpu": 8, "ram": 16, "roles": [role],
             "address": f"10.20.0.{20 + 10 * kind + number}"}
            for kind, (name, role) in enumerate(
                (("master", "master"), ("messaging", "controller"), ("database", "controller"),
                 ("storage", "storage"), ("extra", "master")), start=0)
            if role != "master" or f"{name}{number}" in names
        ]  # fmt: skip
        given = document["config"]["quorate:servers"][0]
        more = {"name": f"virt{number}", "address": f"10.20.0.{10 + number}", "rack": f"lab{number}", "vms": vms}
        servers.append(given | more | {"cpu": 64, "memory": 256})
    if PHYSICAL in names:
        servers.append(
            {"name": PHYSICAL, "address": "10.20.0.14", "rack": "lab1", "roles": ["master"], "cpu": 8, "memory": 16}
        )
    document["config"] |= {"quorate:servers": servers, "quorate:cni": "none"}
    if certificates:
        document["config"]["quorate:certificates"] = dict(certificates)
    path = work / "Pulumi.members.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return plan(load_file(path))


def write_directory(planned: Plan, name: str, tree: Path) -> None:
    """Writes the directory and the secret files of a machine, as the target `render` does."""
    (node,) = [each for each in planned.machines if each.name == name]
    certificates = Pki(Keyring("kubernetes", pulumi.Output.from_input("root")), planned.settings.certificates)
    parts = machine_files.parts(planned, node, certificates)
    for path, text in fill(directory.entries(parts, {}), variables(node)).items():
        _place(tree / "machines" / name / path, text, 0o755 if text.startswith("#!") else 0o644)
    paths = list(parts.secret_files)
    known = pulumi.Output.all(*(parts.secret_files[path] for path in paths)).future()
    contents = asyncio.get_event_loop().run_until_complete(known)
    assert contents is not None
    for path, text in zip(paths, contents, strict=True):
        _place(tree / "secrets/machines" / name / path[1:], text, 0o600)


def _place(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
