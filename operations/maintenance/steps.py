"""The steps of a maintenance as data, in the order in which they are done; their end is the opposite order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from operations.maintenance.failure_domains import MaintenanceDomain
from operations.maintenance.machine_command import POWEROFF, REBOOT, is_held

Kind = Literal["take", "ask", "disable", "empty", "noout", "cordon", "evict", "do", "hold"]
HOLDS: tuple[Kind, ...] = ("disable", "empty", "noout", "cordon")
"""Steps after which a run may be held. Those before them change nothing, and the whole maintenance ends in a hold."""


@dataclass(frozen=True)
class MaintenanceStep:
    """A step, with the machines that it is about."""

    kind: Kind
    nodes: tuple[str, ...] = ()
    command: str = ""
    """What the kind "do" runs."""

    @property
    def does(self) -> str:
        """What the step does, as a run and `--plan` print it."""
        named = ", ".join(self.nodes)
        return {
            "take": "take the Lease, so that no other operation begins until the end",
            "ask": "ask the living quorums, and stop here if one would lose its majority",
            "disable": f"disable nova-compute on {named}: Nova starts no instance there",
            "empty": f"move the instances away from {named}, and require that none runs there",
            "noout": f"set noout for the OSDs of {named}: Ceph does not copy their data elsewhere",
            "cordon": f"cordon {named}: Kubernetes starts no pod there",
            "evict": f"evict the pods of {named}, as their disruption budgets admit it",
            "do": f"ask the living quorums again, then {_command(self.command, named)}",
            "hold": "hold until --end",
        }[self.kind]

    @property
    def undone(self) -> str:
        """What its end does; "" if it leaves nothing to undo."""
        named = ", ".join(self.nodes)
        return {
            "take": "delete the Lease",
            "ask": "",
            "disable": f"enable nova-compute on {named}, unless an operator has disabled it for another reason",
            "empty": "",
            "noout": f"remove noout from the OSDs of {named}",
            "cordon": f"open {named} to pods, and wait until every member, pod and agent there is back",
            "evict": "",
            "do": "",
            "hold": "wait until the machines are ready",
        }[self.kind]


def steps(domain: MaintenanceDomain, command: str = "") -> tuple[MaintenanceStep, ...]:
    """Returns the steps that take a domain out. `command`: what runs on it before the last one."""
    found = [MaintenanceStep("take"), MaintenanceStep("ask")]
    if domain.computes:
        # Disabled first: otherwise new instances arrive while the others move.
        found += [MaintenanceStep("disable", domain.computes), MaintenanceStep("empty", domain.computes)]
    if domain.storage:
        found.append(MaintenanceStep("noout", domain.storage))
    if domain.nodes:
        found.append(MaintenanceStep("cordon", domain.nodes))
    found += [MaintenanceStep("evict", (node,)) for node in domain.nodes]
    if command:
        found.append(MaintenanceStep("do", (domain.name,), command))
    return (*found, MaintenanceStep("hold", domain.nodes))


def numbered(domain: MaintenanceDomain, hold: str = "", command: str = "") -> Iterator[tuple[str, MaintenanceStep]]:
    """Yields the steps that take a domain out, each with its number and text.

    `hold`: the kind of the last one. `command`: what runs on the domain. But for `poweroff`, the domain is then brought
    back and not held.
    """
    last = hold or ("hold" if is_held(command) else "do")
    for number, step in enumerate(steps(domain, command), start=1):
        yield f"{number:>2}. {step.does}", step
        if step.kind == last:
            return


def numbered_back(domain: MaintenanceDomain) -> Iterator[tuple[str, MaintenanceStep]]:
    """Yields the steps whose end brings a domain back, in its order, each with its number and text."""
    undone = [step for step in reversed(steps(domain)) if step.undone]
    for number, step in enumerate(undone, start=1):
        yield f"{number:>2}. {step.undone}", step


def _command(command: str, machine: str) -> str:
    if command == POWEROFF:
        return f"power {machine} off, and wait until no login there succeeds"
    return f"{command if command == REBOOT else f'run `{command}`'} on {machine}, and wait for its end"
