"""Machines that die for good at once in a drill: quorums without a majority go on, and the machines are replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import contract
from cluster.objects import text, texts
from console.errors import UserError
from trials.cloud.drill import replaced_machine, workloads
from trials.cloud.drill.disturbances import Disturbance, Say, Wait
from trials.cloud.drill.operator import Operator
from trials.cloud.drill.replaced_machine import Step
from trials.cloud.lab_machines import Lab

KILLED_AT = r"^ 2\. "
"""What a restoration says when it is killed: the dead machines are fenced, and the member has not gone on. Steps of the
plan, which it says before, are indented by one more space."""


def lost_majority(
    lab: Lab, names: Sequence[str], operator: Operator, quorums: Mapping[str, int], galeras: Collection[str]
) -> Disturbance:
    """Cuts the power of several machines for good at once, and does what docs/on-call.md says.

    Each quorum that has lost its majority goes on by `quorate restore`, which is killed once and run again. Then each
    machine is replaced by one with its name and empty disks.

    `quorums`: members by workload. `galeras`: as for a replacement. Raises UserError for a master, without which etcd
    may have no majority: that is restored by another command.
    """
    machines = [lab.machine(name) for name in names]
    if masters := [each.name for each in machines if each.is_master]:
        raise UserError(f"{', '.join(masters)}: write machines that are no masters, whose etcd must answer.")

    def act(_wait: Wait, say: Say) -> Sequence[str]:
        lost = without_majority(lab, names, quorums)
        say(f"{', '.join(lost) or 'no quorum'} will have no majority")

        together: list[Step] = [("they have lost their power for good", lambda: replaced_machine.die(lab, machines))]
        for quorum in lost:
            together += _restored(operator, quorum, names, say)
        problems = replaced_machine.failed(" and ".join(names), together)
        for machine in machines:
            problems = problems or replaced_machine.failed(
                machine.name, replaced_machine.steps(lab, machine, operator, say)
            )
        return problems

    return Disturbance(
        f"{' and '.join(names)} are lost at once",
        tuple(names),
        replaced_machine.others(lab, names),
        act,
        cuts_power=True,
        keeps_majority=False,
        donating=galeras,
    )


def without_majority(lab: Lab, names: Collection[str], quorums: Mapping[str, int]) -> list[str]:
    """Returns the quorums of which a majority runs on machines. Raises UserError if no API server lists the pods."""
    there = Counter(
        texts(pod, "metadata", "labels").get(contract.NAME, "")
        for pod in workloads.of_openstack(lab, "pods")
        if text(pod, "spec", "nodeName") in names
    )
    return [quorum for quorum, members in quorums.items() if members > 1 and 2 * (members - there[quorum]) <= members]


def _restored(operator: Operator, quorum: str, dead: Sequence[str], say: Say) -> list[Step]:
    restoration = ("restore", quorum, *(word for name in dead for word in ("--dead", name)))
    confirmed = (*restoration, "--confirm", operator.stack)

    def go_on() -> None:
        operator.is_killed(*confirmed, at=KILLED_AT, say=say)
        operator.runs(*confirmed, say=say)

    return [
        (f"{quorum} may go on", lambda: replaced_machine.await_allowed(operator, *restoration)),
        (f"{quorum} goes on by a run that was killed and another one", go_on),
    ]
