"""Checks the host before anything is made: root, Linux, cgroups, programs, memory, disk and another run."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from cloud import cgroups
from cloud.lab_machines import DIRECTORY, Lab
from toolchain.progress import UserError

PROGRAMS = ("ip", "mount", "nsenter", "sysctl", "tar", "unshare")
GIB = 1024**3
LIMITS = {"fs.inotify.max_user_instances": 8192, "fs.inotify.max_user_watches": 1048576}
"""Kernel limits for all machines together: systemd, containerd and kubelet watch files. The default of 128 instances is
enough for three machines. Project figures."""
BASE_MEMORY = 1.0
MACHINE_MEMORY = 1.0
"""GiB for the host's own part and for each machine with its pods; seen with dev: 16 for 15 machines (docs/cloud.md)."""
DISK = 15.0
"""GiB for roots, images and volumes; seen with dev."""


def check(lab: Lab) -> None:
    """Raises UserError with everything that this host lacks."""
    problems = [*_problems(), *_sizes(lab)]
    if problems:
        raise UserError("This host cannot run the lab:\n" + "\n".join(f"  {problem}" for problem in problems))


def _problems() -> list[str]:
    found: list[str] = []
    if platform.system() != "Linux":
        return [f"it runs {platform.system()}; machines are Linux containers, use a Linux host"]
    if os.geteuid() != 0:
        found.append("you are not root; machines need mounts and network namespaces: sudo make cloud")
    if missing := [name for name in PROGRAMS if not shutil.which(name)]:
        found.append(f"missing programs: {', '.join(missing)}; install iproute2, procps and util-linux")
    if not shutil.which("apt-get"):
        found.append("it has no apt; the machines' root file system is made from the host's Debian mirror")
    if missing := cgroups.missing():
        found.append(
            f"no cgroup v1 hierarchy for {', '.join(missing)}; only hosts with cgroup v1 mounted below "
            f"{cgroups.ROOT} have been tried"
        )
    return found


def _sizes(lab: Lab) -> list[str]:
    if (DIRECTORY / "machines").is_dir():  # its machines may hold the memory already
        return []
    found: list[str] = []
    memory = BASE_MEMORY + MACHINE_MEMORY * len(lab.machines)
    available = _available_memory()
    if available < memory:
        found.append(f"{available:.1f} GiB of memory are free; {len(lab.machines)} machines need {memory:.1f} GiB")
    base = next(path for path in (DIRECTORY, *DIRECTORY.parents) if path.is_dir())
    free = shutil.disk_usage(base).free / GIB
    if free < DISK:
        found.append(f"{free:.1f} GiB are free in {base}; the lab needs {DISK:.0f} GiB")
    return found


def _available_memory() -> float:
    for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024 / GIB
    return 0.0


@contextmanager
def alone() -> Generator[None]:
    """Holds the host's lock of the lab. Raises UserError if another run holds it."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with (DIRECTORY / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError("Another run of `make cloud` or `make cloud-down` is in progress on this host.") from None
        yield


def raise_limits() -> None:
    """Raises the host's limits that all machines share; `restore_limits` sets the old values again."""
    for name, needed in LIMITS.items():
        path, kept = _sysctl(name), DIRECTORY / f"{name}.before"
        found = path.read_text(encoding="utf-8").strip()
        if int(found) < needed:
            kept.write_text(found, encoding="utf-8")
            path.write_text(str(needed), encoding="utf-8")


def restore_limits() -> None:
    """Sets the host's limits to their values before `raise_limits`."""
    for name in LIMITS:
        kept = DIRECTORY / f"{name}.before"
        if kept.exists():
            _sysctl(name).write_text(kept.read_text(encoding="utf-8"), encoding="utf-8")


def _sysctl(name: str) -> Path:
    return Path("/proc/sys") / name.replace(".", "/")
