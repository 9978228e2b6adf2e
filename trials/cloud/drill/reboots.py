"""Machines of a pool reboot in a drill, one after the other, by a maintenance that is killed once and goes on."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from console.errors import UserError
from trials.cloud import nspawn, power
from trials.cloud.drill.disturbances import Disturbance, Say, Wait
from trials.cloud.drill.operator import Operator
from trials.cloud.lab_machines import Lab, LabMachine

KILLED_AT = " is empty "
"""What the maintenance says when it is killed: the pods of a machine have left, and it has not rebooted yet."""
PERIOD = 1.0
"""Seconds between two looks whether a machine has ended."""


def reboots(lab: Lab, pool: str, names: Sequence[str], operator: Operator, stops: Sequence[str] = ()) -> Disturbance:
    """Reboots all machines of a pool by `quorate maintenance --do reboot`.

    `names`: the pool's machines. `stops`: the quorums of a single member, which may be on one of them.
    """

    def act(_wait: Wait, say: Say) -> Sequence[str]:
        admitted = (word for quorum in stops for word in ("--admit-stop", quorum))
        maintenance = ("maintenance", "--pool", pool, "--do", "reboot", *admitted)
        try:
            with _booting([lab.machine(name) for name in names], say):
                operator.is_killed(*maintenance, at=KILLED_AT, say=say)
                operator.runs(*maintenance, say=say)
        except UserError as error:
            return [str(error)]
        return ()

    witnesses = tuple(machine for machine in lab.nodes if machine.name not in names)
    return Disturbance(f"the machines of the pool {pool} reboot", tuple(names), witnesses, act)


@contextmanager
def _booting(machines: Sequence[LabMachine], say: Say) -> Generator[None]:
    """Switches machines on that end, as firmware does: a reboot ends a container of systemd-nspawn."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(PERIOD):
            for machine in machines:
                if not nspawn.is_running(machine):
                    power.switch_on([machine], say)

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        try:
            yield
        finally:
            over.set()
        watching.result()
