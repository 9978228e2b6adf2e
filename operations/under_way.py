"""The operation that is under way, as `quorate status` shows it: who began it, where it is, and how it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cluster.api import Api, ApiError, Unreachable
from operations.operation_lease import NAME, CloudOperation, command, current_and_worker


@dataclass(frozen=True)
class UnderWay:
    """What the Lease of operations says."""

    operation: CloudOperation | None = None
    worker: str = ""
    """User and machine whose process has the Lease; "" if no process works on the operation."""
    go_on: str = ""
    """The command that goes on with it."""
    end: str = ""
    """The command that ends it."""
    problem: str = ""
    """Why the Lease was not read."""

    def lines(self) -> Sequence[str]:
        """Returns lines of text; () without an operation."""
        if self.problem:
            return (f"          - {self.problem}",)
        if not (known := self.operation):
            return ()
        lines = [known.sentence()]
        if known.out:
            lines.append(f"          - out, or on the way: {', '.join(known.out)}")
        if known.step:
            lines.append(f"          - step {known.step}")
        for name, reason in known.failed.items():
            first, *_ = reason.split("\n")
            lines.append(f"          - {name} has failed: {first}")
        if self.worker:
            lines.append(f"          - a process of {self.worker} works on it, unless it was killed")
        else:
            lines.append("          - no process works on it now")
        return (*lines, f"          - `{self.go_on}` goes on, `{self.end}` ends it")

    def document(self) -> dict[str, Any] | None:
        """Returns the operation for JSON; None without one."""
        if not self.operation:
            return None
        return {**asdict(self.operation), "worker": self.worker or None, "go_on": self.go_on, "end": self.end}


NO_OPERATION = UnderWay()


def read(api: Api, stack: str) -> UnderWay:
    """Returns the operation that is under way. A Lease that cannot be read is a problem of the answer."""
    try:
        known = current_and_worker(api)
    except (ApiError, Unreachable) as error:
        return UnderWay(problem=f"operations under way are not known, Lease {NAME} was not read: {error}")
    if not known:
        return NO_OPERATION
    operation, worker = known
    return UnderWay(operation, worker, command(operation, stack), command(operation, stack, "--end"))
