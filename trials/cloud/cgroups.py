"""A cgroup for each machine, so that machines do not share kubelet's `/kubepods`.

A kubelet takes pods of other machines for orphans and removes their cgroups. A host with cgroup v2 only has one
hierarchy, in which systemd-nspawn makes a subtree of the machine's own. With cgroup v1 there is a cgroup in every
hierarchy, also in that of cgroup v2 without controllers, which such hosts mount beside the others.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from console.errors import UserError

ROOT = Path("/sys/fs/cgroup")
UNIFIED = "unified"
"""Where systemd mounts cgroup v2 beside v1."""
PREFIX = "quorate-"
ENDING = 60.0
"""Seconds until the processes of killed machines must be gone: a thousand of them take some."""
NEEDED = ("cpu", "cpuset", "memory", "pids", "devices", "freezer", "name=systemd")
"""Hierarchies of cgroup v1 that a machine's systemd, containerd and kubelet use."""
DELEGATED = ("cpu", "cpuset", "io", "memory", "pids")
"""Controllers of cgroup v2 that they use (Kubernetes, "About cgroup v2"; runc)."""
SHARES_OF_PODS = 1024
"""CPU shares that kubelet gives the pods of a machine for each of its cores."""
SHARES = 256
"""CPU shares of a machine for each of its cores, so that one with four of them has the kernel's default of 1024, as any
process of the host has. Project figure."""
CONTROL_PLANE = 4
"""How many times as much a machine with an API server or etcd has. Project figure."""
_FAST_CHANGES = "favordynmods"
"""Mount option of cgroup v2, which the kernel applies to all hierarchies (Linux 6.0, Control Group v2)."""
_SHARES, _WEIGHT, _PROCESSES = "cpu.shares", "cpu.weight", "cgroup.procs"
_DEFAULT_SHARES, _DEFAULT_WEIGHT = 1024, 100
"""What the kernel gives a new cgroup of v1 and v2 (Linux, Control Group v1 and v2)."""
_HEAVIEST = 10000
"""The largest weight of cgroup v2 (Linux, Control Group v2)."""
_CONTROLLERS, _ENABLED = "cgroup.controllers", "cgroup.subtree_control"
_PASSES = 3
"""How often all processes are moved: some start others meanwhile."""


def is_v2() -> bool:
    """Whether this host has cgroup v2 only."""
    return (ROOT / _CONTROLLERS).exists()


def version() -> str:
    """Returns which cgroups this host has, in words."""
    return "cgroup v2" if is_v2() else "cgroup v1"


def hierarchies() -> dict[str, Path]:
    """Returns the directory in which machines' cgroups are, in each hierarchy, by the controllers' names.

    With cgroup v1 it is this process's own cgroup. With v2 it is the root: any other cgroup with processes cannot give
    controllers to those below (Linux, Control Group v2, "No Internal Process Constraint").
    """
    if is_v2():
        return {"": ROOT}
    found: dict[str, Path] = {}
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        # A process of a machine may be asking: its own cgroup is not where another machine's belongs.
        base = path.split(f"/{PREFIX}")[0]
        directory = ROOT / (controllers.removeprefix("name=") or UNIFIED)
        if directory.is_dir():
            found[controllers] = directory / base.lstrip("/")
    return found


def missing() -> list[str]:
    """Returns the hierarchies, or controllers of v2, that the lab needs and this host does not offer."""
    if is_v2():
        controllers = (ROOT / _CONTROLLERS).read_text(encoding="utf-8").split()
        return [name for name in DELEGATED if name not in controllers]
    offered = {name for controllers in hierarchies() for name in controllers.split(",")}
    return [name for name in NEEDED if name not in offered]


def make_changes_fast(*, on: bool = True) -> bool:
    """Lets processes enter cgroups without waiting for every processor of the host, if its kernel can.

    Every container, and every command of a probe, enters a cgroup in each hierarchy, one process of the host at a time.
    This took 12 ms each on a host with two cores, and 0.3 ms with the option. Returns whether it was changed.
    """
    for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        source, directory, kind, options = line.split()[:4]
        kept = [option for option in options.split(",") if option != _FAST_CHANGES]
        if kind == "cgroup2" and (_FAST_CHANGES in options.split(",")) != on:
            wanted = ",".join(["remount", *kept, *([_FAST_CHANGES] if on else [])])
            done = subprocess.run(
                ["mount", "-t", kind, "-o", wanted, source, directory], capture_output=True, check=False
            )
            return done.returncode == 0
    return False


def create(machine: str, prefix: str = PREFIX) -> list[Path]:
    """Creates a machine's cgroups and returns their directories. `prefix`: before its name; another one for no lab's.

    Raises UserError if the host has cgroup v2 and its root cannot give controllers to cgroups below, as in a container.
    """
    if is_v2():
        try:
            (ROOT / _ENABLED).write_text(" ".join(f"+{name}" for name in DELEGATED), encoding="utf-8")
        except OSError as reason:
            raise UserError(
                f"{ROOT} gives machines no controllers ({reason.strerror}). Run the lab on the host itself, not in a "
                "container."
            ) from None
    return [_create(directory / f"{prefix}{machine}") for directory in hierarchies().values()]


def _create(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    for name in ("cpuset.cpus", "cpuset.mems"):  # a new cpuset of v1 is empty, and no process may enter it
        if not is_v2() and (directory / name).exists():
            (directory / name).write_text((directory.parent / name).read_text(encoding="utf-8"), encoding="utf-8")
    return directory


def weigh(machine: str, cores: int, *, has_control_plane: bool) -> None:
    """Gives a created machine its part of the host's processors, before anything of it runs.

    A machine with an API server or etcd gets more: outside of the lab it has processors of its own, and everything
    waits for it, above all when the power of all servers comes back at once.
    """
    shares = cores * SHARES * (CONTROL_PLANE if has_control_plane else 1)
    if is_v2():
        weight = min(shares * _DEFAULT_WEIGHT // _DEFAULT_SHARES, _HEAVIEST)
        (ROOT / f"{PREFIX}{machine}" / _WEIGHT).write_text(str(weight), encoding="utf-8")
        return
    (_cpu() / f"{PREFIX}{machine}" / _SHARES).write_text(str(shares), encoding="utf-8")


def divide_processors(machine: str, cores: int) -> None:
    """Gives the own programs of a machine as much of its part of the processors as its pods.

    Otherwise each thread of its systemd, etcd, containerd and kubelet has the weight of one requested core of its pods,
    and on a busy host kubelet reports too late that its node is Ready.

    With cgroup v2 the machine's systemd divides them, as on a server: its services are one slice beside the pods'.

    Called when its init is systemd: what that starts is in its cgroup. Before, systemd-nspawn could still make that
    cgroup the root that the machine sees, and kubelet would create the pods' cgroups inside.
    """
    if is_v2():
        return
    group = _cpu() / f"{PREFIX}{machine}"
    system = group / "system"
    system.mkdir(exist_ok=True)
    (system / _SHARES).write_text(str(cores * SHARES_OF_PODS), encoding="utf-8")
    for _ in range(_PASSES):
        for process in (group / _PROCESSES).read_text(encoding="utf-8").split():
            with suppress(ProcessLookupError):  # it has ended
                (system / _PROCESSES).write_text(process, encoding="utf-8")


def _cpu() -> Path:
    return next(directory for controllers, directory in hierarchies().items() if "cpu" in controllers.split(","))


def remove(machine: str = "*", prefix: str = PREFIX) -> list[Path]:
    """Removes the cgroups of a machine that does not run, by default of all machines of the lab.

    Returns those that still contain processes after `ENDING` seconds.
    """
    pattern, end = f"{prefix}{machine}", time.monotonic() + ENDING
    while (left := [directory for directory in _all(pattern) if not _remove(directory)]) and time.monotonic() < end:
        time.sleep(0.5)
    return left


def _all(pattern: str) -> Iterator[Path]:
    for parent in hierarchies().values():
        yield from parent.glob(pattern)


def _remove(directory: Path) -> bool:
    inner = sorted((path for path in directory.rglob("*") if path.is_dir()), reverse=True)
    for path in (*inner, directory):
        try:
            path.rmdir()
        except OSError:
            return False
    return True
