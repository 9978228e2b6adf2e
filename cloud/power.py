"""Cuts the power of a server, with all of its virtual machines and its cable, and switches it on again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from cloud import disks, network, nspawn
from cloud.lab_machines import DIRECTORY, Lab, Machine
from toolchain.progress import UserError

_RECORD = DIRECTORY / "software.json"


def remember(root: Path, programs: Mapping[str, Path]) -> None:
    """Records what machines are started with, so that a server can be switched on later."""
    record = {"root": str(root), "programs": {name: str(path) for name, path in programs.items()}}
    _RECORD.write_text(json.dumps(record), encoding="utf-8")


def cut(lab: Lab, server: str) -> None:
    """Ends all machines of a server at once; nothing answers any longer, not even with a reset."""
    network.set_power(server, on=False)
    for machine in _machines(lab, server):
        nspawn.cut_power(machine.directory)


def restore(lab: Lab, server: str) -> None:
    """Switches a server on and waits until its machines have started. They keep their disks."""
    record = json.loads(_RECORD.read_text(encoding="utf-8"))
    programs = {name: Path(path) for name, path in record["programs"].items()}
    network.set_power(server, on=True)
    for machine in _machines(lab, server):
        nspawn.start(machine, Path(record["root"]), programs)
    for machine in _machines(lab, server):
        nspawn.await_boot(machine)
        if machine.has_disk:
            disks.attach(machine)


def _machines(lab: Lab, server: str) -> tuple[Machine, ...]:
    if server not in lab.servers:
        raise UserError(f"The lab has no server {server}; it has {', '.join(lab.servers)}.")
    return lab.servers[server]
