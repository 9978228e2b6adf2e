"""What is on the machines of etcd's members: whether a member answers, its own data, and copies."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from blueprint.plan.nodes import Node
from operations.living import backups
from operations.root_shell import Shell

DATA = "data"
"""Stands for a member's own data where the name of a copy may stand."""
BARE = "bare"
_SCRIPT = Path(__file__).with_name("etcd_machine.sh")
_LOOK = 60.0
"""Seconds in which a machine must tell what it has."""
STARTS = 300
"""Seconds within which etcd must answer with the restored data. Project figure: the test of a copy allows the same."""


@dataclass(frozen=True)
class EtcdCopy:
    """A copy of etcd's data in `/var/lib/etcd-backup` of a machine."""

    machine: str
    name: str
    """Such as 20261129T120000Z."""
    revision: int | None
    """The revision that it has; None for one without a record of its content."""
    size: int
    """Bytes."""

    @property
    def made(self) -> datetime | None:
        """When it was begun; None if its name says nothing."""
        return backups.began(f"{self.name}.db")


@dataclass(frozen=True)
class EtcdMachine:
    """What a machine has."""

    node: Node
    problem: str = ""
    """Why it was not asked; "" if it was."""
    state: str = ""
    """Of etcd's unit, as systemd calls it; `BARE` if Quorate has not set up a member there."""
    has_data: bool = False
    revision: int | None = None
    """Of the member's data; None if that is not known."""
    written: datetime | None = None
    """When the member last wrote to its data."""
    votes: bool = False
    """Whether its member answers with a majority."""
    begun: str = ""
    """The source from which a restoration has begun here; "" if none has."""
    is_made: bool = False
    """Whether this restoration has made the new cluster, which others may join."""
    copies: tuple[EtcdCopy, ...] = ()

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.node.name

    @property
    def takes_part(self) -> bool:
        """Whether its member can be stopped and started."""
        return not self.problem and self.state != BARE


def script(command: str, source: str = "") -> str:
    """Returns the shell script of a command. `source`: the name of a copy, or `DATA`."""
    values = {"COMMAND": command, "FROM": source, "SECONDS_TO_START": str(STARTS)}
    lines = [f"{name}={shlex.quote(value)}" for name, value in values.items()]
    return "\n".join((*lines, _SCRIPT.read_text(encoding="utf-8")))


def look(nodes: Sequence[Node], shell: Shell) -> tuple[EtcdMachine, ...]:
    """Returns what is on each machine, all asked at the same time."""
    with ThreadPoolExecutor(len(nodes)) as pool:
        return tuple(pool.map(partial(_look, shell), nodes))


def _look(shell: Shell, node: Node) -> EtcdMachine:
    said = shell(node, script("look"), _LOOK)
    if said.code != 0:
        return EtcdMachine(node, problem=(said.errors or said.text).strip() or "it said nothing")
    return read(node, said.text.splitlines())


def read(node: Node, lines: Iterable[str]) -> EtcdMachine:
    """Returns what a machine has, by the lines that the script's `look` prints."""
    words = [line.split() for line in lines if line.strip()]
    facts = {each[0]: each[1:] for each in words if each[0] != "copy"}
    data = facts.get("data", ["-", "-"])
    written = _number(data[1])
    return EtcdMachine(
        node,
        state=" ".join(facts.get("state", ())),
        has_data="data" in facts,
        revision=_number(data[0]),
        written=None if written is None else datetime.fromtimestamp(written, UTC),
        votes="votes" in facts,
        begun=next(iter((*facts.get("begun", ()), *facts.get("made", ()))), ""),
        is_made="made" in facts,
        copies=tuple(_copies(node, words)),
    )


def _copies(node: Node, words: Iterable[Sequence[str]]) -> Iterator[EtcdCopy]:
    for each in words:
        if each[0] == "copy":
            _, name, revision, size = each
            yield EtcdCopy(node.name, name, _number(revision), int(size))


def _number(word: str) -> int | None:
    return int(word) if word.isdigit() else None
