"""The facts that the probe prints on a machine."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from ipaddress import IPv4Interface

_LISTENER = re.compile(r"^LISTEN +\d+ +\d+ +(?P<address>\S+):(?P<port>\d+) ")
_PROGRAM = re.compile(r'users:\(\("(?P<program>[^"]+)"')


class IncompleteError(ValueError):
    """Raised for output of the probe without its last line."""


@dataclass(frozen=True)
class Listener:
    """A TCP port on which a program of the machine listens."""

    address: str
    port: int
    program: str
    """Name of the program; "" if it is unknown."""


@dataclass(frozen=True)
class BlockDevice:
    """A disk of the machine."""

    type: str
    """ssd or hdd."""
    size: int
    """Bytes."""


@dataclass(frozen=True)
class Facts:
    """The facts of a machine, by the keys of probe.sh."""

    values: Mapping[str, Sequence[str]]

    def all(self, key: str) -> Sequence[str]:
        """Returns all values of a key; () for none."""
        return self.values.get(key, ())

    def one(self, key: str) -> str:
        """Returns the value of a key; "" for none."""
        return next(iter(self.all(key)), "")

    def number(self, key: str) -> int | None:
        """Returns the number of a key; None if the machine did not tell it."""
        value = self.one(key)
        return int(value) if value.isdecimal() else None

    def gibibytes(self, key: str) -> float | None:
        """Returns the size of a key, which the machine tells in KiB, in GiB; None if the machine did not tell it."""
        size = self.number(key)
        return None if size is None else size / 1024**2

    @cached_property
    def listeners(self) -> tuple[Listener, ...]:
        """The TCP ports in use."""
        found: list[Listener] = []
        for line in self.all("listens"):
            if match := _LISTENER.match(line):
                program = _PROGRAM.search(line)
                address = match["address"].partition("%")[0]
                found.append(Listener(address, int(match["port"]), program["program"] if program else ""))
        return tuple(found)

    @cached_property
    def block_devices(self) -> tuple[BlockDevice, ...]:
        """The disks, without partitions and loop devices."""
        fields = (line.split() for line in self.all("disk"))
        return tuple(
            BlockDevice("hdd" if each[1] == "1" else "ssd", int(each[2]))
            for each in fields
            if len(each) == 3 and each[0] == "disk"
        )

    @cached_property
    def certificates(self) -> dict[str, datetime]:
        """The times at which certificates of etcd and Kubernetes expire, by path."""
        pairs = (line.split(" ", 1) for line in self.all("certificate"))
        return {path: datetime.strptime(end, "%Y-%m-%d %H:%M:%SZ").replace(tzinfo=UTC) for path, end in pairs}

    def mtu(self, address: str) -> int | None:
        """Returns the MTU of the interface with an address; None if no interface has it."""
        by_interface = dict(line.rsplit(" ", 1) for line in self.all("mtu"))
        for line in self.all("address"):
            interface, _, written = line.partition(" ")
            if str(IPv4Interface(written).ip) == address and interface in by_interface:
                return int(by_interface[interface])
        return None


def parse(output: str) -> Facts:
    """Returns the facts that the probe printed. Raises IncompleteError if the probe did not end."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in output.splitlines():
        key, tab, value = line.partition("\t")
        if tab and value:
            found[key].append(value.strip())
    if "end" not in found:
        raise IncompleteError(output)
    return Facts(found)
