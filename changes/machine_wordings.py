"""The phases and texts for changes of machines that stay in the stack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from changes.change import ChangeKind, Phase


@dataclass(frozen=True)
class Wording:
    """The phase and the texts for one kind of change of machines."""

    phase: Phase
    says: str
    step: str
    takes_down: bool = True
    risk: str = ""
    step_of_etcd: str = ""
    """The step for machines of etcd, which are not nodes that could be drained; `step` if empty."""


WORDINGS: Mapping[ChangeKind, Wording] = {
    ChangeKind.MACHINE_REPOOLED: Wording(Phase.MOVE, "moves {machines} {detail}", "Drain, label, taint and uncordon"),
    ChangeKind.VM_MOVED: Wording(
        Phase.MOVE,
        "moves {machines} {detail}",
        "Drain, recreate on the other server and join",
        step_of_etcd="Remove from etcd, recreate on the other server and join",
    ),
    ChangeKind.DISK_REPLACED: Wording(
        Phase.ROLL,
        "replaces a disk {detail} of {machines}",
        "Drain, replace the disk of",
        step_of_etcd="Remove from etcd, replace the disk of and join",
    ),
    ChangeKind.MACHINE_RESIZED: Wording(
        Phase.ROLL,
        "resizes {machines} {detail}",
        "Drain, restart with its new size",
        step_of_etcd="Restart with its new size",
    ),
    ChangeKind.CAPACITY_CHANGED: Wording(
        Phase.ROLL,
        "changes what pods may use of {machines} {detail}",
        "Apply, and restart kubelet, on",
        takes_down=False,
        risk="If pods request more than is left, kubelet evicts some of them.",
    ),
    ChangeKind.MACHINE_CONFIGURED: Wording(
        Phase.ROLL,
        "changes files of {machines} ({group}): {detail}",
        "Apply, and restart what reads them, on",
    ),
    ChangeKind.NODE_MARKED: Wording(
        Phase.MARK,
        "marks {machines}: {detail}",
        "Set these labels and taints before pods that rely on them move:",
        takes_down=False,
        risk="A NoExecute taint evicts pods at once. Labels and other taints affect only new pods.",
    ),
}
