"""What a machine mounts, by /etc/fstab, units of systemd, and commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from policy.facts.machines.machine import MachineFacts
from policy.shell.edits import MOUNTS

_TABLES = ("/etc/fstab", MOUNTS)
_UNIT = re.compile(r".*\.mount(\.d/[^/]+\.conf)?")
_SETTING = re.compile(r"^[ \t]*(What|Where|Type|Options)[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE)
IN_MEMORY = ("/dev/shm", "/run", "/var/run", "/tmp")  # noqa: S108 - named, not used
"""Directories that are file systems in memory on distributions with systemd, or are emptied at a start of the node."""
_MEMORY = ("tmpfs", "ramfs", "zram")
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "glusterfs", "fuse.glusterfs", "fuse.sshfs", "fuse.s3fs")


@dataclass(frozen=True)
class Mount:
    """A file system that a machine mounts."""

    place: str
    """The file or the command that mounts it, for messages."""
    device: str
    directory: str
    """Where it is mounted; "" if the file does not say so, as a drop-in of a unit."""
    kind: str
    options: str

    @property
    def medium(self) -> str:
        """What the file system is on if it is not a disk: "in memory" or "on the network"; otherwise ""."""
        bound = "bind" in self.options.split(",") and is_in_memory(self.device)
        if self.kind in _MEMORY or bound:
            return "in memory"
        return "on the network" if self.kind in _NETWORK else ""

    def carries(self, path: str) -> bool:
        """Whether a path is in the file system."""
        return bool(self.directory) and f"{path}/".startswith(f"{self.directory.rstrip('/')}/")


def mounts(machine: MachineFacts) -> Iterator[Mount]:
    """Yields the mounts in a machine's files. Raises NotKnown if the text of such a file is not known."""
    for path in mounting(machine):
        text, place = machine.files[path], machine.place(path)
        if path in _TABLES:
            for line in text.splitlines():
                device, directory, kind, options = [*line.split(), "", "", "", ""][:4]
                if directory and not device.startswith("#"):
                    yield Mount(place, device, directory, kind, options)
        else:
            given = dict(_SETTING.findall(text))
            yield Mount(place, *(given.get(each, "") for each in ("What", "Where", "Type", "Options")))


def mounting(machine: MachineFacts) -> list[str]:
    """Returns the paths of the machine's files that mount file systems."""
    return [path for path in machine.files if path in _TABLES or _UNIT.fullmatch(path)]


def is_in_memory(path: str) -> bool:
    """Whether a directory is in a file system in memory on usual distributions."""
    return f"{path}/".startswith(tuple(f"{each}/" for each in IN_MEMORY))
