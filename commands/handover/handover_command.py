"""`quorate handover`: moves the clone, with states and secrets, to another machine, which is then in charge.

Each clone has a record of what it is (files/handover_record.py). At its end the source's record is written first, and
then the destination's: after a kill in between, none is in charge until the same command goes on.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from commands.handover import clone_here, destination, handover_text, opening, state_lock
from commands.handover.clone_here import CloneHere
from commands.handover.destination import Destination, Look
from commands.handover.handover_text import mebibytes
from console.errors import UserError
from files import handover_record
from files.handover_record import COPYING, GIVEN, IN_CHARGE, INCOMING, LOCKED, HandoverRecord
from operations.operation_lease import whoami
from text.quoting import printable
from toolchain.process_identity import boot_id

ROOM = 2 * 2**30
"""Bytes that the environment and Pulumi take at most. Project figure: both took 1.0 GiB, and Pulumi is built there."""
_MODULE = "commands.handover.opening"
_SHOWN = 10
"""Differences that a message lists."""


@dataclass(frozen=True)
class HandoverRequest:
    """What the command line asks for."""

    to: str = ""
    """HOST or HOST:DIRECTORY."""
    plan: bool = False
    abort: bool = False


def run(root: Path, request: HandoverRequest) -> int:
    """Hands the clone over, goes on with that, or prints the plan.

    Returns 0 if it is done, or with `plan` if it may begin; 3 with `plan` if it may not. Raises UserError with all that
    is in the way, or with why the run has stopped.
    """
    if request.abort and (request.to or request.plan):
        raise UserError("Use --abort alone: it ends the handover that is under way.")
    if not request.abort and not request.to:
        raise UserError("Name the machine: `quorate handover HOST`, or HOST:DIRECTORY.")
    with _alone(root):
        if request.abort:
            return _abort(root)
        to = destination.parsed(request.to, root)
        known = handover_record.read(root)
        if known and known.phase == GIVEN:
            return _finish(root, to, known)
        _require_same(known, to)
        here = clone_here.look(root, os.environ)
        refusals = [*here.refusals, *_of_other(here, to, known)]
        if request.plan:
            _say(handover_text.plan(here, to, _myself(root), refusals, known))
            return 3 if refusals else 0
        if refusals:
            reasons = "\n".join(f"  - {each}" for each in refusals)
            raise UserError(f"This clone is not handed over:\n{reasons}\nNothing was changed.")
        _hand_over(here, to, known)
        _say(handover_text.ended(here, to, _myself(root)))
        return 0


def _require_same(known: HandoverRecord | None, to: Destination) -> None:
    """Raises UserError if the clone is not in charge, or if a handover to another machine is under way."""
    if known and known.phase == INCOMING:
        raise UserError(f"{known.refusal}\nNothing was changed.")
    if known and known.is_under_way and known.other != str(to):
        raise UserError(
            f"A handover to {known.other} is under way: {known.by} began it at {known.since}. Nothing was changed.\n"
            f"`quorate handover {known.other}` goes on, `quorate handover --abort` ends it."
        )


def _of_other(here: CloneHere, to: Destination, known: HandoverRecord | None) -> Iterator[str]:
    """Yields what is in the way on the other machine."""
    try:
        there = to.look(here.passphrase_file, here.digest)
    except UserError as error:
        yield str(error)
        return
    if there.inode and (there.boot, there.inode) == _place(here.root):
        yield f"{to} is this clone itself."
        return
    if missing := [name for name in ("rsync", "make", "git") if name not in there.programs]:
        yield f"{to.host} has no {', '.join(missing)}: install the packages there."
    if "python" not in there.programs:
        yield f"{to.host} has no Python 3.11 or newer with venv: install it there (Debian: python3-venv)."
    yield from _of_directory(there, to, known)
    needed = max(0, here.size.size - there.used) + (0 if there.used else ROOM)
    if there.free < needed:
        yield f"{to} has {mebibytes(there.free)} free; {mebibytes(needed)} are needed, with the environment."
    if there.passphrase == "other":  # noqa: S105 - what the file is
        yield f"{here.passphrase_file} on {to.host} is another file than here: move it away, or make it the same."
    if there.passphrase == "denied":  # noqa: S105 - what the file is
        yield (
            f"{here.passphrase_file} cannot be written on {to.host} by this login: make its directory there, which the "
            "login can write, or put the file there yourself."
        )


def _of_directory(there: Look, to: Destination, known: HandoverRecord | None) -> Iterator[str]:
    if not there.writable:
        yield f"{to} cannot be written by this login."
    if there.other:
        yield f"{to} has other content, such as {there.other}: name a directory that is empty or does not exist."
    found = there.record
    if found and not (known and known.id == found.id and found.phase in (INCOMING, GIVEN)):
        yield (
            f"{to} has the clone of another handover, with {found.other} (begun by {found.by} at {found.since}): name "
            "another directory, or remove that one."
        )


def _hand_over(here: CloneHere, to: Destination, known: HandoverRecord | None) -> None:
    root, number = here.root, 0
    texts = handover_text.steps(to)

    def step() -> None:
        nonlocal number
        number += 1
        _say(f"{number}. {texts[number - 1][0]}")

    record = known if known and known.is_under_way else _new(known, to)
    there = replace(record, phase=INCOMING, other=_myself(root))
    step()
    handover_record.write(root, record)
    to.write_record(there)
    _say_copied(to.copy(root, in_use=record.phase != LOCKED))
    step()
    to.set_up()
    step()
    _lock(root, to, record)
    step()
    _say_copied(to.copy(root, in_use=False))
    step()
    _require_equal(root, to)
    step()
    _require_opened(here, to)
    step()
    given = replace(record, phase=GIVEN)
    handover_record.write(root, given)
    _put_in_charge(root, to, given)


def _new(known: HandoverRecord | None, to: Destination) -> HandoverRecord:
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return HandoverRecord(known.id if known else secrets.token_hex(8), COPYING, str(to), whoami(), now)


def _lock(root: Path, to: Destination, record: HandoverRecord) -> None:
    """Locks the states. Raises UserError, and unlocks them, if an update runs."""
    state_lock.lock(root, str(to))
    if running := list(state_lock.updates(root)):
        state_lock.unlock(root)
        raise UserError("\n".join([*running, "Then the same command goes on."]))
    handover_record.write(root, replace(record, phase=LOCKED))


def _require_equal(root: Path, to: Destination) -> None:
    if differing := to.differences(root):
        lines = "\n".join(f"    {line}" for line in differing[:_SHOWN])
        raise UserError(
            f"{len(differing)} files or directories differ after the last pass, so something has changed them "
            f"meanwhile:\n{lines}\nThe same command copies and compares again. {to.host} is not in charge."
        )


def _require_opened(here: CloneHere, to: Destination) -> None:
    """Copies the file with the passphrase if it is not there, and opens there all states that were opened here."""
    if here.passphrase_file and to.look(here.passphrase_file, here.digest).passphrase != "same":  # noqa: S105
        to.write_private(here.passphrase_file, here.passphrase_file.read_text(encoding="utf-8"))
    command = 'cd "$1" && make setup >&2 && exec .venv/bin/python -m "$2"'
    asked = opening.question(here.opened, here.passphrase)
    found = opening.answer(to.ask(["sh", "-c", command, "sh", str(to.path), _MODULE], asked))
    for name, each in found.items():
        _say(f"   {name}: " + (each.problem or f"{each.resources} resources"))
    if failed := [name for name in here.opened if name not in found or found[name].problem]:
        raise UserError(
            f"The states of {', '.join(failed)} were not opened on {to.host}, which is not in charge. Here no `up` "
            "runs until the same command has ended, or `quorate handover --abort`."
        )


def _put_in_charge(root: Path, to: Destination, given: HandoverRecord) -> None:
    """Unlocks the clone on the other machine, where a former handover may have locked it, and writes its record."""
    to.ask(state_lock.unlock_words(to.path), seconds=destination.LIMIT)
    to.write_record(replace(given, phase=IN_CHARGE, other=_myself(root)))


def _finish(root: Path, to: Destination, known: HandoverRecord) -> int:
    """Goes on after a kill between both records of the end. Raises UserError if the handover has ended."""
    if known.other != str(to) or not _is_incoming(to, known):
        raise UserError(f"{known.refusal}\nNothing was changed.")
    _put_in_charge(root, to, known)
    _say(f"{to} is in charge.")
    return 0


def _abort(root: Path) -> int:
    """Puts this clone in charge again, if the other one is not."""
    known = handover_record.read(root)
    if known is None or known.phase == IN_CHARGE:
        _say("No handover is under way. Nothing was changed.")
        return 0
    to = destination.parsed(known.other, root)
    if known.phase == INCOMING or (known.phase == GIVEN and not _is_incoming(to, known)):
        raise UserError(f"{known.refusal}\nNothing was changed.")
    state_lock.unlock(root)
    handover_record.write(root, replace(known, phase=IN_CHARGE))
    _say(f"This clone is in charge. What was copied to {to} stays there, with its secrets: remove it, or begin again.")
    return 0


def _is_incoming(to: Destination, known: HandoverRecord) -> bool:
    """Whether the clone on the other machine waits to be put in charge. Raises UserError if it does not answer."""
    found = to.look(None, "").record
    return found is not None and (found.id, found.phase) == (known.id, INCOMING)


def _place(root: Path) -> tuple[str, str]:
    """Returns the boot id of this machine, and device and inode of a directory."""
    found = root.stat()
    return boot_id(), f"{found.st_dev}:{found.st_ino}"


def _myself(root: Path) -> str:
    """Returns this clone as HOST:DIRECTORY, by the name that the machine has for itself."""
    return f"{whoami()}:{root}"


@contextmanager
def _alone(root: Path) -> Generator[None]:
    """Raises UserError if another process hands the clone over. The system releases the lock of a killed one."""
    file = (root / handover_record.FILE).with_suffix(".lock")
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError("Another process hands this clone over now. Nothing was changed.") from None
        yield


def _say_copied(copied: destination.CopiedFiles) -> None:
    _say(f"   {copied.files} files, {mebibytes(copied.size)}")


def _say(message: str) -> None:
    print(printable(message.rstrip("\n")), flush=True)
