"""Checks the host before anything is made: root, Linux, cgroups, programs, memory, disk and another run."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from console.errors import UserError
from console.programs import run
from trials.cloud import cgroups, ssh_access
from trials.cloud.lab_machines import DIRECTORY, Lab

PROGRAMS = ("fallocate", "ip", "mkswap", "mount", "nsenter", *ssh_access.PROGRAMS, "swapon", "sysctl", "tar", "unshare")
GIB = 1024**3
LIMITS = {"fs.inotify.max_user_instances": 8192, "fs.inotify.max_user_watches": 1048576, "vm.swappiness": 100}
"""Kernel settings for all machines together. systemd, containerd and kubelet watch files: the default of 128 instances
is enough for three machines. Idle processes go to swap before the files of running programs do. Project figures."""
BASE_MEMORY = 1.0
"""GiB of memory and swap for the host itself."""
MACHINE_MEMORY = 1.5
"""GiB of memory and swap for each machine with its pods. Seen with dev (15 machines): 21 of memory and 2 of swap in all
(docs/cloud.md)."""
SWAP = 8
"""GiB of swap that the lab adds: many of its processes are idle, and the memory is for those that run."""
DISK = 15.0 + SWAP
"""GiB for roots, images, volumes and swap; seen with dev."""
_SWAP_FILE = DIRECTORY / "swap"
_CHANGES_WERE_SLOW = DIRECTORY / "slow-cgroups.before"
"""Exists if the host's cgroups were changed slowly before the lab."""


def check(lab: Lab) -> str:
    """Returns in words what was found of this host. Raises UserError with everything that it lacks."""
    problems = [*_problems(), *_sizes(lab)]
    if problems:
        raise UserError("This host cannot run the lab:\n" + "\n".join(f"  {problem}" for problem in problems))
    return f"This host has {cgroups.version()} and {_available_memory():.1f} GiB of free memory."


def _problems() -> list[str]:
    found: list[str] = []
    if platform.system() != "Linux":
        return [f"it runs {platform.system()}; machines are Linux containers, use a Linux host"]
    if os.geteuid() != 0:
        found.append("you are not root; machines need mounts and network namespaces: sudo make cloud")
    if missing := [name for name in PROGRAMS if not shutil.which(name)]:
        found.append(f"missing programs: {', '.join(missing)}; install iproute2, openssh-client, procps and util-linux")
    if not shutil.which("apt-get"):
        found.append("it has no apt; the machines' root file system is made from the host's Debian mirror")
    if missing := cgroups.missing():
        what = "controller" if cgroups.is_v2() else "hierarchy"
        found.append(
            f"it has {cgroups.version()} below {cgroups.ROOT}, without a {what} for {', '.join(missing)}; boot it "
            "without cgroup_disable"
        )
    return found


def _sizes(lab: Lab) -> list[str]:
    if (DIRECTORY / "machines").is_dir():  # its machines may hold the memory already
        return []
    found: list[str] = []
    memory = BASE_MEMORY + MACHINE_MEMORY * len(lab.machines)
    available = _available_memory()
    if available + SWAP < memory:
        need = f"{len(lab.machines)} machines need {memory - SWAP:.1f} GiB beside {SWAP} GiB of swap"
        found.append(f"{available:.1f} GiB of memory are free; {need}")
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
            raise UserError("`make cloud`, `make drill` or `make cloud-down` is running on this host.") from None
        yield


def raise_limits() -> None:
    """Raises the host's limits that all machines share; `restore_limits` sets the old values again."""
    for name, needed in LIMITS.items():
        path, kept = _sysctl(name), DIRECTORY / f"{name}.before"
        found = path.read_text(encoding="utf-8").strip()
        if int(found) < needed:
            kept.write_text(found, encoding="utf-8")
            path.write_text(str(needed), encoding="utf-8")
    if cgroups.make_changes_fast():
        _CHANGES_WERE_SLOW.touch()


def add_swap() -> None:
    """Adds a swap file to the host, which `remove_swap` removes."""
    if _has_swap():
        return
    _SWAP_FILE.unlink(missing_ok=True)
    run(["fallocate", "--length", f"{SWAP}GiB", _SWAP_FILE])
    _SWAP_FILE.chmod(0o600)
    run(["mkswap", "--quiet", _SWAP_FILE])
    run(["swapon", _SWAP_FILE])


def remove_swap() -> None:
    """Removes the lab's swap file."""
    if _has_swap():
        run(["swapoff", _SWAP_FILE])
    _SWAP_FILE.unlink(missing_ok=True)


def _has_swap() -> bool:
    return any(line.split()[0] == str(_SWAP_FILE) for line in Path("/proc/swaps").read_text().splitlines())


def restore_limits() -> None:
    """Sets the host's limits to their values before `raise_limits`."""
    for name in LIMITS:
        kept = DIRECTORY / f"{name}.before"
        if kept.exists():
            _sysctl(name).write_text(kept.read_text(encoding="utf-8"), encoding="utf-8")
    if _CHANGES_WERE_SLOW.exists():
        cgroups.make_changes_fast(on=False)


def _sysctl(name: str) -> Path:
    return Path("/proc/sys") / name.replace(".", "/")
