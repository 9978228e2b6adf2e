"""The plan of a handover as text: numbered steps, what each touches, and what is in the way now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commands.engine import passphrase
from commands.handover.clone_here import CloneHere
from commands.handover.destination import Destination
from console.progress import duration
from files.handover_record import HandoverRecord

_MEASURED_SIZE, _FIRST, _REST = 124.5 * 2**20, 7, 15
"""Bytes of the clone in tests/trials/machines/test_deployment_machine.py; seconds of its first pass, and the rest."""


def steps(to: Destination) -> Sequence[tuple[str, str]]:
    """Returns what each step does, and what it touches."""
    return (
        (
            f"copy the clone to {to}, while this one stays in use",
            f"that directory; until step 7 no `up` runs in it ({to.host})",
        ),
        (f"run `make setup` on {to.host}", "its environment; where Pulumi must be built, 10 to 15 minutes"),
        ("lock the states here", "no `up` here until the end"),
        ("copy what has changed since step 1", "that directory"),
        ("compare all files on both sides by hash, mode and time", "nothing"),
        (
            f"open the states on {to.host} with Pulumi, and decrypt them",
            "a file with the passphrase there, if one is copied",
        ),
        (f"put {to.host} in charge", "this clone refuses `up` from then on, and says where it was handed over"),
    )


def plan(here: CloneHere, to: Destination, me: str, refusals: Sequence[str], known: HandoverRecord | None) -> str:
    """Returns the plan. `me`: this clone, as the other machine calls it. `known`: a handover that is under way."""
    return "".join(f"{line}\n" for line in _plan(here, to, me, refusals, known))


def _plan(
    here: CloneHere, to: Destination, me: str, refusals: Sequence[str], known: HandoverRecord | None
) -> Iterator[str]:
    yield f"Handover of {here.root} to {to}. Nothing is changed by this plan."
    if known and known.is_under_way:
        yield f"It is under way: {known.by} began it at {known.since}. A run goes on with it."
    yield f"{here.size.files} files, {mebibytes(here.size.size)}; states:"
    for name, each in here.states.items():
        known_here = f"opens here, {each.resources} resources" if not each.problem else "is copied, but NOT opened"
        yield f"  - {name}: {known_here}" + (f": {first_line(each.problem)}" if each.problem else "")
    if refusals:
        yield "It may NOT begin now:"
        yield from (f"  - {reason}" for reason in refusals)
    yield ""
    for number, (does, touches) in enumerate(steps(to), start=1):
        yield f"{number:>3}. {does}"
        yield f"      touches: {touches}"
    yield ""
    yield "The way back: before step 7 `quorate handover --abort` here, which unlocks this clone;"
    yield f"after it, on {to.host}: `quorate handover {me}`."
    part = here.size.size / _MEASURED_SIZE
    yield (
        f"By a local link, copying takes about {duration(part * _FIRST)}, and the rest "
        f"{duration(part * _REST)}: measured with {mebibytes(_MEASURED_SIZE)} on 2026-11-30 (docs/handover.md)."
    )
    yield from _not_moved(here, to)


def _not_moved(here: CloneHere, to: Destination) -> Iterator[str]:
    if here.passphrase_file:
        yield f"The file with the passphrase, {here.passphrase_file}, is copied to the same path there."
    elif here.own_file:
        there = to.path / here.own_file.relative_to(here.root)
        yield f"The file with the passphrase is in the clone: set {passphrase.FILE}={there} on {to.host}."
    elif here.passphrase:
        yield f"{passphrase.VALUE} is in no file: set it on {to.host} yourself."
    if here.has_live_stack:
        yield "Not moved: the SSH key that logs in to the machines, and kubeconfigs outside of the clone."


def ended(here: CloneHere, to: Destination, me: str) -> str:
    """Returns what a run says at its end."""
    lines = [f"{to} is in charge. This clone stays as it is, with its secrets, and refuses `up`."]
    lines += [
        f"NOT opened there, only copied and compared: {name} ({first_line(each.problem)})"
        for name, each in here.states.items()
        if each.problem
    ]
    lines += _not_moved(here, to)
    name = next(iter(here.opened), "dev")
    lines.append(f"Next, on {to.host}: cd {to.path} && make preview STACK={name}")
    lines.append(f"The way back, on {to.host}: quorate handover {me}")
    return "\n".join(lines)


def mebibytes(size: float) -> str:
    """Returns a number of bytes as text, such as 12.3 MiB."""
    return f"{size / 2**20:.1f} MiB"


def first_line(text: str) -> str:
    """Returns the first line of a message."""
    return text.partition("\n")[0]
