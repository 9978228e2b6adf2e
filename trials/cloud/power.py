"""Switches machines on, and cuts the power of servers with all of their virtual machines and their cables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from trials import forgetful_disk
from trials.cloud import cgroups, disks, network, nspawn
from trials.cloud.lab_machines import DIRECTORY, Lab, LabMachine

_RECORD = DIRECTORY / "software.json"


def remember(root: Path, programs: Mapping[str, Path]) -> None:
    """Records what machines are started with. `root`: their Debian root; `programs`: directories by name."""
    record = {"root": str(root), "programs": {name: str(path) for name, path in programs.items()}}
    _RECORD.write_text(json.dumps(record), encoding="utf-8")


def remembered() -> tuple[Path, dict[str, Path]]:
    """Returns what machines are started with: their Debian root, and directories of programs by name."""
    record = json.loads(_RECORD.read_text(encoding="utf-8"))
    return Path(record["root"]), {name: Path(path) for name, path in record["programs"].items()}


def switch_on(machines: Sequence[LabMachine], say: Callable[[str], None]) -> None:
    """Starts the machines that do not run, and waits until all have booted and have their disks."""
    root, programs = remembered()
    for machine in machines:
        nspawn.start(machine, root, programs)

    def finish(machine: LabMachine) -> None:
        nspawn.await_init(machine)
        cgroups.divide_processors(machine.name, machine.cores)
        nspawn.await_boot(machine)
        if machine.has_disk:
            disks.attach(machine)
        say(f"{machine.name} runs")

    # All at the same time: one that boots slowly must not hold up the disks and processors of the others.
    with ThreadPoolExecutor(len(machines)) as pool:
        list(pool.map(finish, machines))


def cut(lab: Lab, servers: Sequence[str]) -> None:
    """Ends all machines of the servers at once; nothing answers any longer, not even with a reset.

    The disks of their members forget what was not synced.
    """
    lost = [disk for machine in _machines(lab, servers) if (disk := nspawn.members_disk(machine))]
    for server in servers:  # before the disks, so that nobody hears of a write whose sync has not reached its disk
        network.set_power(server, on=False)
    forgetful_disk.cut(lost)
    for machine in _machines(lab, servers):
        nspawn.cut_power(machine.directory)
    for disk in lost:
        disk.await_release()


def restore(lab: Lab, servers: Sequence[str], say: Callable[[str], None]) -> None:
    """Switches servers on, as after a power cut: nothing is done on their machines. Returns when they have booted."""
    for server in servers:
        network.set_power(server, on=True)
    switch_on(_machines(lab, servers), say)


def _machines(lab: Lab, servers: Sequence[str]) -> list[LabMachine]:
    return [machine for server in servers for machine in lab.servers[server]]
