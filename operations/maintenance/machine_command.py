"""The command of a maintenance on a machine that is out: a reboot, to power it off, or what an operator wrote."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from blueprint.plan.nodes import Node
from cluster.pod_exec import CommandOutput
from console.errors import UserError
from console.progress import duration
from operations.operation_lease import HeldLease
from operations.root_shell import Shell

REBOOT = "reboot"
"""The command that stands for a reboot, which ends when the machine answers again."""
POWEROFF = "poweroff"
"""The command that powers a machine off, which stays so until the end of the maintenance."""
LIMIT = 3600.0
"""Seconds until a command has ended, or a machine that was rebooted answers again. Project figure: an upgrade of all
packages fits, and so do the memory tests of a large server."""
PAUSE = 5.0
"""Seconds between two looks at a machine that reboots or powers off."""
_LOOK = 30.0
"""Seconds in which a machine must tell which boot it is in."""
_SHOWN = 20
"""Lines of a failed command that its message has."""
_BOOT = "cat /proc/sys/kernel/random/boot_id"
"""Prints an id that differs after each boot (proc_sys_kernel(5))."""


def is_held(command: str) -> bool:
    """Whether a maintenance with this command ("" for none) holds what is out until its end.

    With another command it brings back what is out.
    """
    return command in ("", POWEROFF)


class CommandFailed(UserError):
    """The command failed on a machine, or the machine did not answer again."""


@dataclass(frozen=True)
class MachineCommand:
    """A command, and how it reaches a machine."""

    text: str
    shell: Shell

    def run(self, machine: Node, lease: HeldLease, say: Callable[[str], None]) -> None:
        """Runs the command on a machine, unless an earlier run has seen its end.

        Raises CommandFailed if it fails. A run that was killed meanwhile runs the command again; it does not repeat a
        reboot that has taken place, and does not power off a machine that is off.
        """
        if machine.name in lease.operation.did:
            say(f"{machine.name}: an earlier run has seen its end")
            return
        began = time.monotonic()
        if self.text == REBOOT:
            before = self._told(machine, lease, "rebooted")
            self._await(machine, lease, lambda now: now.code == 0 and now.text.strip() != before, "has not booted anew")
        elif self.text == POWEROFF:
            self._told(machine, lease, "powered off")
            self._await(machine, lease, lambda now: now.code is None, "still answers")
        else:
            self._command(machine, say)
        say(f"{machine.name}: {self.text} has ended ({duration(time.monotonic() - began)})")
        boots = {name: boot for name, boot in lease.operation.boots.items() if name != machine.name}
        lease.change(did=(*lease.operation.did, machine.name), boots=boots)

    def _command(self, machine: Node, say: Callable[[str], None]) -> None:
        done = self.shell(machine, self.text, LIMIT)
        lines = (done.text + done.errors).splitlines()
        if done.code == 0:
            for line in lines:
                say(f"    {line}")
            return
        last = "".join(f"\n    {line}" for line in lines[-_SHOWN:])
        raise CommandFailed(f"{self.text} failed on {machine.name} ({done.ending}):{last or ' it printed nothing'}")

    def _told(self, machine: Node, lease: HeldLease, what: str) -> str:
        """Reboots a machine or powers it off, if it is still in the boot in which it was found at first.

        Returns the id of this boot.
        """
        now = self.shell(machine, _BOOT, _LOOK)
        if machine.name not in lease.operation.boots:
            if now.code != 0:
                raise CommandFailed(f"{machine.name} is not {what}, because no login there succeeds: {now.errors}")
            lease.change(boots=lease.operation.boots | {machine.name: now.text.strip()})
        before = lease.operation.boots[machine.name]
        if now.code == 0 and now.text.strip() == before:
            # The login ends with the machine's sshd, so its code says nothing.
            self.shell(machine, f"systemctl {self.text}", _LOOK)
        return before

    def _await(self, machine: Node, lease: HeldLease, done: Callable[[CommandOutput], bool], wrong: str) -> None:
        end = time.monotonic() + LIMIT
        while not done(now := self.shell(machine, _BOOT, _LOOK)):
            lease.require()
            if time.monotonic() > end:
                said = f" {now.errors.strip()}" if now.errors.strip() else ""
                raise CommandFailed(f"{machine.name} {wrong} within {duration(LIMIT)}; look at its console.{said}")
            time.sleep(PAUSE)
