"""What is on the machines, from what etcd is restored, and the steps, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from console.progress import duration
from operations.restoration.etcd_machines import BARE, EtcdCopy, EtcdMachine
from operations.restoration.etcd_restoration import RestorationStep
from operations.restoration.etcd_source import EtcdSource

_SHOWN = 3
"""Copies of a machine that are shown, the newest."""


_SECONDS = 10
"""Of each master, one after the other. It took 30 s with three (tests/trials/machines/test_masters_kept.py)."""
_MEASURED = "30 s with three and 2 MiB of data, 2026-11-29, containers on one host of two cores"


def found(machines: Sequence[EtcdMachine]) -> str:
    """Returns what is on each machine."""
    return "".join(f"{line}\n" for each in machines for line in _machine(each))


def _machine(machine: EtcdMachine) -> Iterator[str]:
    if machine.problem:
        yield f"{machine.name}: not asked: {machine.problem}"
        return
    if machine.state == BARE:
        yield f"{machine.name}: Quorate has not set up a member there; `quorate up` does afterwards"
        return
    answers = "answers with a majority" if machine.votes else "does not answer with a majority"
    yield f"{machine.name}: etcd is {machine.state} and {answers}"
    if machine.has_data:
        yield f"    data: revision {_known(machine.revision)}, last written {_at(machine.written)}"
    else:
        yield "    data: none"
    newest = sorted(machine.copies, key=lambda copy: copy.name, reverse=True)
    for copy in newest[:_SHOWN]:
        yield f"    copy {copy.name}: {_content(copy)}, {copy.size / 2**20:.1f} MiB"
    if len(newest) > _SHOWN:
        yield f"    and {len(newest) - _SHOWN} older copies"
    if not newest:
        yield "    copies: none"


def _content(copy: EtcdCopy) -> str:
    return "no record of its content" if copy.revision is None else f"revision {copy.revision}"


def plan(source: EtcdSource, steps: Sequence[RestorationStep], now: datetime) -> str:
    """Returns from what etcd is restored, what is lost with that, and the numbered steps."""
    return "".join(f"{line}\n" for line in _plan(source, steps, now))


def _plan(source: EtcdSource, steps: Sequence[RestorationStep], now: datetime) -> Iterator[str]:
    yield ""
    if source.machine.begun:
        yield "A restoration has begun; it goes on with its source."
    if source.copy:
        made = source.copy.made
        age = f" ({(now - made).total_seconds() / 60:.0f} minutes ago)" if made else ""
        where = f"the copy {source.copy.name} on {source.machine.name}"
        yield f"From {where}. Lost: all that was written after {_at(made)}{age}."
    else:
        where = f"the data of {source.machine.name}'s member, last written {_at(source.machine.written)}"
        yield f"From {where}. Lost: what it had not received from the others."
    yield "No API server answers meanwhile. Pods that run go on."
    masters = len({step.node.name for step in steps})
    yield f"It takes about {duration(masters * _SECONDS)} with {masters} masters, longer with much data ({_MEASURED})."
    yield ""
    yield from (f"{number:>3}. {step.node.name}: {step.does}" for number, step in enumerate(steps, start=1))


def _known(number: int | None) -> str:
    return "unknown" if number is None else str(number)


def _at(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else "at an unknown time"
