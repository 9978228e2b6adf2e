"""A machine that dies for good in a drill: `quorate replace` removes it, and another one comes in its place."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from console.errors import UserError
from console.progress import duration
from trials.cloud import bring_up, disks, network, nspawn, power, ssh_access
from trials.cloud.drill.disturbances import Disturbance, Say, Wait
from trials.cloud.drill.operator import Operator
from trials.cloud.lab_machines import Lab, LabMachine

NOTICED = 300.0
"""Seconds within which the API server and the quorums must know that a machine is lost."""
PERIOD = 5.0
"""Seconds between two questions whether a command may run."""
KILLED_AT = r"\. delete node "
"""What the removal says when it is killed: the members are removed, and the machine's pods are not."""


Step = tuple[str, Callable[[], None]]
"""What is true at the end of a step, and what does it."""


def replacement(
    lab: Lab, name: str, operator: Operator, galeras: Collection[str], evacuate: Callable[[], str] | None = None
) -> Disturbance:
    """Cuts a machine's power for good and replaces it by one with the same name and empty disks.

    The removal is killed once and run again. `galeras`: names of the Galera clusters, whose new member gets its data
    from another one. `evacuate`: of a compute, waits until Nova reports it as down, evacuates its instances, and
    returns the steps' seconds. Raises UserError if the lab has no such machine, or no other master.
    """
    machine = lab.machine(name)
    witnesses = others(lab, [name])

    def act(_wait: Wait, say: Say) -> Sequence[str]:
        return failed(
            name,
            [
                ("it has lost its power for good", lambda: die(lab, [machine])),
                *_evacuated(evacuate),
                *steps(lab, machine, operator, say),
            ],
        )

    return Disturbance(f"{name} is replaced", (name,), witnesses, act, cuts_power=True, donating=galeras)


def others(lab: Lab, names: Collection[str]) -> tuple[LabMachine, ...]:
    """Returns the nodes beside machines that die. Raises UserError unless a master is among them."""
    found = tuple(each for each in lab.nodes if each.name not in names)
    if not any(each.is_master for each in found):
        raise UserError(f"{' and '.join(names)} is the only master: without it no API server is left to ask.")
    return found


def steps(lab: Lab, machine: LabMachine, operator: Operator, say: Say) -> list[Step]:
    """Returns the steps that replace a machine which has died."""
    name = machine.name
    return [
        ("it may be removed", lambda: await_allowed(operator, "replace", name)),
        ("it is removed by a run that was killed and one that went on", lambda: _remove(operator, machine, say)),
        ("the new one has booted", lambda: _arrive(lab, machine, say)),
        ("`up` is over", lambda: _up(operator)),
        ("every member takes part", lambda: operator.runs("replace", name, "--end", say=say)),
    ]


def failed(subject: str, does: Sequence[Step]) -> Sequence[str]:
    """Does steps, and prints how long each took. Returns why one failed, after which no other is done."""
    for title, do in does:
        started = time.monotonic()
        try:
            do()
        except UserError as error:
            print(f"{subject}: failed before {title}", flush=True)
            return [str(error)]
        print(f"{subject}: {title}, {duration(time.monotonic() - started)}", flush=True)
    return ()


def _evacuated(evacuate: Callable[[], str] | None) -> Sequence[Step]:
    return [("its instances run elsewhere", lambda: print(evacuate()))] if evacuate else ()


def die(lab: Lab, machines: Sequence[LabMachine]) -> None:
    """Cuts the cables and the power of machines at once, and gives them the disks of those that come."""
    for machine in machines:
        network.set_connected(lab, machine, on=False)
        nspawn.cut_power(machine.directory)
    for machine in machines:
        bring_up.replace_disk(lab, machine)
        if machine.has_disk:
            disks.discard(machine)


def await_allowed(operator: Operator, *words: str) -> None:
    """Waits until the plan of a command has no reason against it. Raises UserError with the last reasons."""
    end = time.monotonic() + NOTICED
    while True:
        code, said = operator.asks(*words, "--plan")
        if code == 0:
            return
        if time.monotonic() > end:
            raise UserError(
                f"`quorate {' '.join(words[:2])}` is refused {NOTICED:.0f} s after the power was cut:\n{said}"
            )
        time.sleep(PERIOD)


def _remove(operator: Operator, machine: LabMachine, say: Say) -> None:
    removal = ("replace", machine.name, "--dead", "--host-key", ssh_access.host_key(machine))
    operator.is_killed(*removal, at=KILLED_AT, say=say)
    operator.runs(*removal, say=say)


def _arrive(lab: Lab, machine: LabMachine, say: Say) -> None:
    network.set_connected(lab, machine, on=True)
    power.switch_on([machine], say)


def _up(operator: Operator) -> None:
    if operator.up():
        raise UserError("`quorate up` failed")
