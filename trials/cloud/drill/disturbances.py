"""What a drill does to a lab: cuts the power of servers, replaces all pods, drains all nodes, changes an option."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from console.errors import UserError
from trials.cloud import client, masters, power
from trials.cloud.drill import workloads
from trials.cloud.lab_machines import Lab, LabMachine

Say = Callable[[str], None]
Wait = Callable[[], Sequence[str]]
"""Waits until everything is ready; returns what is not if that takes too long."""

DOWN = 90.0
"""Seconds without power of one server: more than kubelet's silence until its node is NotReady (25 s), and time for
services to move on. Project figure."""
ALL_DOWN = 30.0
"""Seconds without power of all servers. Project figure: nothing can happen in them."""
AT_ONCE = 2
"""Workloads without a quorum whose pods are replaced at the same time. Project figure, for two cores."""
LIMIT = 900
"""Seconds for the replacement of a workload's pods, and for the drain of a node."""


@dataclass(frozen=True)
class Disturbance:
    """A disturbance of the lab, and what must hold while it lasts."""

    title: str
    """Such as `virt2 without power`."""
    machines: tuple[str, ...]
    """The machines it stops, or whose pods it evicts."""
    witnesses: tuple[LabMachine, ...]
    """The machines through which clients and the observer use the cloud. They keep their power, if any does."""
    act: Callable[[Wait, Say], Sequence[str]]
    """Disturbs the lab, and returns what it failed to do."""
    cuts_power: bool = False
    """Whether `machines` lose their power."""
    keeps_majority: bool = True
    """Whether every quorum must keep its majority."""
    ends_access: bool = False
    """Whether it ends the administrator's certificate that the observer uses."""
    donating: Collection[str] = ()
    """Quorums in which a member gives its data to a new one. A donor votes, and is not Ready: clients must not use it
    (004, 5.1.2 (39))."""


def power_cut(lab: Lab, server: str) -> Disturbance:
    """Cuts the power of one server. Raises UserError if the lab has no such server, or no master on another one."""
    if server not in lab.servers:
        raise UserError(f"The lab has no server {server}; it has {', '.join(lab.servers)}.")
    witnesses = tuple(machine for machine in lab.nodes if machine.server != server)
    if not any(machine.is_master for machine in witnesses):
        raise UserError(f"All masters are on {server}: without it no API server is left to observe with.")

    def act(_wait: Wait, say: Say) -> Sequence[str]:
        with _without_power(lab, [server], say):
            time.sleep(DOWN)
        return ()

    return Disturbance(f"{server} without power", _names(lab.servers[server]), witnesses, act, cuts_power=True)


def evacuation(lab: Lab, compute: LabMachine, evacuate: Callable[[], str]) -> Disturbance:
    """Cuts the power of a compute's server until its instances run elsewhere.

    `evacuate`: waits until Nova reports the compute as down, evacuates its instances, and returns the steps' seconds.
    Raises UserError as `power_cut` does.
    """
    cut = power_cut(lab, compute.server)

    def act(_wait: Wait, say: Say) -> Sequence[str]:
        with _without_power(lab, [compute.server], say):
            print(evacuate())
        return ()

    return replace(cut, title=f"{compute.server} without power until its instances run elsewhere", act=act)


def blackout(lab: Lab) -> Disturbance:
    """Cuts the power of all servers at once, and restores it. Nothing else is done: the cloud starts by itself."""

    def act(_wait: Wait, say: Say) -> Sequence[str]:
        with _without_power(lab, list(lab.servers), say):
            time.sleep(ALL_DOWN)
        return ()

    title = "all servers without power"
    return Disturbance(title, _names(lab.machines), lab.nodes, act, cuts_power=True, keeps_majority=False)


def rollout(lab: Lab, quorums: Collection[str]) -> Disturbance:
    """Replaces the pods of all workloads by their own update strategies: quorums one after the other, others together.

    The next ones follow when everything is ready.

    `quorums`: names of the workloads whose instances form a quorum.
    """

    def act(wait: Wait, say: Say) -> Sequence[str]:
        found = workloads.expected(lab)
        others = [each for each in found if each.name not in quorums]
        turns = [[each] for each in found if each.name in quorums]
        turns += [others[start : start + AT_ONCE] for start in range(0, len(others), AT_ONCE)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for turn in turns:
                replaced = [pool.submit(_rolled, lab, each, say) for each in turn]
                if failures := [failure for each in replaced for failure in each.result()]:
                    return failures
                if missing := wait():
                    titles = " and ".join(each.title for each in turn)
                    return [f"not ready after the pods of {titles} were replaced: {', '.join(missing)}"]
        return ()

    return Disturbance("a rolling change of every workload", (), lab.nodes, act)


def drains(lab: Lab) -> Disturbance:
    """Drains every node in turn, and admits pods to it again; the next one follows when everything is as before."""

    def act(wait: Wait, say: Say) -> Sequence[str]:
        for machine in lab.nodes:
            say(f"draining {machine.name}")
            try:
                flags = ("--ignore-daemonsets", "--delete-emptydir-data", f"--timeout={LIMIT}s")
                done = masters.kubectl(lab, "drain", machine.name, *flags, timeout=LIMIT + 60)
            finally:
                masters.kubectl(lab, "uncordon", machine.name)
            if done.returncode:
                return [f"{machine.name} was not drained: {_last(done.stderr)}"]
            if missing := wait():
                return [f"not ready after {machine.name} was drained: {', '.join(missing)}"]
        return ()

    return Disturbance("every node drained in turn", _names(lab.nodes), lab.nodes, act)


def option(lab: Lab, change: Callable[[], int]) -> Disturbance:
    """Changes an option of Nova. `change`: does so by `quorate up`, and returns its exit code."""

    def act(_wait: Wait, say: Say) -> Sequence[str]:
        say("an option of Nova changes")
        return ["`quorate up` failed"] if change() else ()

    return Disturbance("a changed option of Nova", (), lab.nodes, act)


@contextmanager
def _without_power(lab: Lab, servers: Sequence[str], say: Say) -> Generator[None]:
    try:
        say(f"power of {', '.join(servers)} is off")
        power.cut(lab, servers)
        yield
    finally:
        say(f"power of {', '.join(servers)} is on")
        power.restore(lab, servers, say)


def _rolled(lab: Lab, workload: workloads.DrilledWorkload, say: Say) -> list[str]:
    """Replaces a workload's pods and waits until all are; returns why that failed."""
    say(f"replacing the pods of {workload.title}")
    if failure := replace_pods(lab, workload.title, client.NAMESPACE):
        return [f"the pods of {workload.title} were not replaced: {failure}"]
    return []


def replace_pods(lab: Lab, workload: str, namespace: str) -> str:
    """Replaces the pods of a workload, such as `statefulset/mysqld`. Returns why that failed; "" if all are new."""
    flags = (workload, f"--namespace={namespace}")
    done = masters.kubectl(lab, "rollout", "restart", *flags)
    if done.returncode == 0:
        done = masters.kubectl(lab, "rollout", "status", *flags, f"--timeout={LIMIT}s", timeout=LIMIT + 60)
    return _last(done.stderr) if done.returncode else ""


def _last(errors: str) -> str:
    return (errors.strip().splitlines() or ["no reason was given"])[-1]


def _names(machines: Sequence[LabMachine]) -> tuple[str, ...]:
    return tuple(machine.name for machine in machines)
