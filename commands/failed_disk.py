"""`quorate replace NODE --osd NUMBER`, and `--member NAME`: a disk that failed in a machine that runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from blueprint.plan.nodes import Node
from commands.live.machine_shell import machine_shell
from console.errors import UserError
from operations.live_cluster import LiveCluster
from operations.living.cloud import LivingCloud
from operations.operation_lease import REPLACEMENT, CloudOperation, HeldLease, command, current, held, on_machine
from operations.replacement import disk_steps, failed_member, failed_osd
from operations.replacement.disk_steps import DiskWork, FailedDisk
from operations.root_shell import Shell
from text.quoting import as_lines


@dataclass(frozen=True)
class DiskPart:
    """What was on the disk: an OSD, or a member of a quorum."""

    node: Node
    osd: str = ""
    """Number of the OSD; "" for a member."""
    member: str = ""

    @property
    def subject(self) -> str:
        """The subject of the operation."""
        if self.osd:
            return failed_osd.subject(self.osd, self.node.name)
        return on_machine(self.member, self.node.name)


class DiskSession:
    """The replacement of a failed disk by this command."""

    def __init__(
        self,
        cluster: LiveCluster,
        stack: str,
        part: DiskPart,
        read: Callable[[], LivingCloud],
        say: Callable[[str], None],
    ) -> None:
        self._cluster = cluster
        self._stack = stack
        self._part = part
        self._read = read
        self._say = say

    def show(self) -> int:
        """Prints the plan. Returns 0 if a run may begin, 3 if it may not."""
        under_way = current(self._cluster.api)
        is_begun = under_way is not None and self._is_begun(under_way)
        cloud = self._read()
        disk = self._begun(under_way, cloud) if under_way and is_begun else self._found(cloud)
        reasons = disk.reasons(cloud, self._cluster)
        self._say(disk_steps.plan_text(disk, reasons, under_way).rstrip("\n"))
        return 3 if reasons else 0

    def remove(self, *, is_dead: bool) -> int:
        """Removes what was on the disk, unless a run has done it. Raises UserError with why it may not be removed."""
        operation = current(self._cluster.api)
        if not (operation and operation.subject == self._part.subject and operation.done):
            if not is_dead:
                raise UserError(
                    f"Is what the disk of {self._part.subject} has given up? Say so: {self._line('--dead')}. Nothing "
                    "was changed."
                )
            with self._held() as lease, machine_shell(self._cluster.plan) as shell:
                self._remove(lease, shell)
        self._say(f"{self._part.subject} is removed. After the work by hand: {self._line('--end')}")
        return 0

    def end(self) -> int:
        """Waits until what comes instead is whole."""
        operation = current(self._cluster.api)
        if not operation or (operation.kind, operation.subject) != (REPLACEMENT, self._part.subject):
            self._say(f"{self._part.subject} is not being replaced. Nothing was changed.")
            return 0
        if not operation.done:
            first = self._line("--dead")
            raise UserError(f"{self._part.subject} is not removed yet: go on with {first} first. Nothing was changed.")
        with self._held() as lease, machine_shell(self._cluster.plan) as shell:
            disk_steps.run(disk_steps.end(self._begun(operation, self._read())), self._work(lease, shell), "end: ")
        self._say(f"The disk of {self._part.subject} is replaced, and every quorum is complete.")
        return 0

    def _remove(self, lease: HeldLease, shell: Shell) -> None:
        is_begun = self._is_begun(lease.operation)
        with lease.beginning():
            cloud = self._read()
            disk = self._begun(lease.operation, cloud) if is_begun else self._found(cloud)
            if reasons := disk.reasons(cloud, self._cluster):
                raise UserError(f"{disk.subject} may not be removed:{as_lines(reasons)}")
        if not is_begun:
            lease.change(out=(disk.subject,), **disk.record)
        disk_steps.run(disk_steps.removal(disk), self._work(lease, shell))
        lease.change(done=(disk.subject,))

    def _is_begun(self, operation: CloudOperation) -> bool:
        return (operation.kind, operation.subject, bool(operation.out)) == (REPLACEMENT, self._part.subject, True)

    def _found(self, cloud: LivingCloud) -> FailedDisk:
        if self._part.osd:
            return failed_osd.find(self._cluster, cloud, self._part.node.name, self._part.osd)
        return failed_member.find(self._cluster, self._part.node, self._part.member)

    def _begun(self, operation: CloudOperation, cloud: LivingCloud) -> FailedDisk:
        if self._part.osd:
            return failed_osd.begun(self._cluster, cloud, self._part.node.name, operation)
        return failed_member.begun(self._cluster, self._part.node, self._part.member, operation)

    def _work(self, lease: HeldLease, shell: Shell) -> DiskWork:
        return DiskWork(self._cluster, lease, self._read, self._say, shell)

    def _held(self) -> AbstractContextManager[HeldLease]:
        return held(self._cluster.api, CloudOperation(self._part.subject, REPLACEMENT), self._stack, self._say)

    def _line(self, *options: str) -> str:
        return command(CloudOperation(self._part.subject, REPLACEMENT), self._stack, *options)
