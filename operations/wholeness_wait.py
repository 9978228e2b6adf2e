"""Waits, with the Lease of an operation, until nothing is missing any more."""

from __future__ import annotations

import time
from collections.abc import Callable

from console.errors import UserError
from console.progress import duration
from operations.operation_lease import HeldLease
from text.quoting import as_lines

RETURN = 900.0
"""Seconds until everything must be whole again. Project figure: members that start again take minutes each."""
PAUSE = 5.0
"""Seconds between two looks."""


def await_whole(  # noqa: PLR0913 - as many words of one message
    missing: Callable[[], list[str]],
    lease: HeldLease,
    say: Callable[[str], None],
    failure: str,
    again: str = "run --end again: it goes on waiting",
    *,
    limit: float | None = None,
) -> None:
    """Waits until `missing` returns nothing, and says what it returns when that changes.

    What `missing` could not ask (UserError) is missing too: a busy member answers the next time.
    `failure`: such as `virt2 is not whole`, how the message begins. `again`: what to do after the repair.
    `limit`: seconds after which it raises UserError, by default RETURN.
    """
    limit = limit or RETURN
    began = time.monotonic()
    said = ""
    while found := _asked(missing):
        lease.require()
        if time.monotonic() - began > limit:
            raise UserError(
                f"{failure} after {duration(limit)}:{as_lines(found)}\n"
                f"Repair what is named (docs/on-call.md), and {again}."
            )
        if (waits := "; ".join(found)) != said:
            said = waits
            say(f"  waits: {said}")
        time.sleep(PAUSE)


def _asked(missing: Callable[[], list[str]]) -> list[str]:
    try:
        return missing()
    except UserError as error:
        return [str(error)]
