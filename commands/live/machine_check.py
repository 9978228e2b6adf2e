"""The command `quorate doctor`: checks the machines of a stack over SSH, and changes nothing."""

from __future__ import annotations

from pathlib import Path

from commands import stack
from console.errors import UserError
from doctor.examination import examine
from text.quoting import printable


def check_machines(root: Path, name: str) -> int:
    """Prints the result of every check, and what to do about each problem. Returns 1 if a check failed."""
    planned = stack.load(root, name).plan
    try:
        lines = examine(planned)
    except FileNotFoundError:
        raise UserError("This host has no ssh; install the OpenSSH client.") from None
    print(printable("\n".join(map(str, lines))))
    failed = {finding.machine for line in lines for finding in line.findings}
    print(
        f"{len(failed)} of {lines[0].examined} machines are not ready for `up`."
        if failed
        else "All machines are ready."
    )
    return 1 if failed else 0
