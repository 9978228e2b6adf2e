"""The facts that the probe prints on a machine."""

from __future__ import annotations

import re
import ssl
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from ipaddress import IPv4Interface

_LISTENER = re.compile(r"^LISTEN +\d+ +\d+ +(?P<address>\S+):(?P<port>\d+) ")
_PROGRAM = re.compile(r'users:\(\("(?P<program>[^"]+)"')
_NUMBER = re.compile(r"[0-9]{1,18}")


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
class HugePages:
    """How many huge pages of 2 MiB are reserved for programs that ask for them."""

    total: int
    free: int


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node of the machine."""

    pages: HugePages
    cpus: str
    """Its CPUs, such as 0-7,32-39."""


@dataclass(frozen=True)
class ReadFacts:
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
        return _number(self.one(key))

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
        found: list[BlockDevice] = []
        for line in self.all("disk"):
            kind, _, rest = line.partition(" ")
            rotates, _, size = rest.partition(" ")
            if kind == "disk" and (number := _number(size)) is not None:
                found.append(BlockDevice("hdd" if rotates == "1" else "ssd", number))
        return tuple(found)

    @cached_property
    def huge_pages(self) -> HugePages:
        """The huge pages of all NUMA nodes; none if the machine did not tell them."""
        return _huge_pages(self.one("hugepages").split())

    @cached_property
    def numa(self) -> dict[int, NumaNode]:
        """The NUMA nodes by number."""
        found: dict[int, NumaNode] = {}
        for line in self.all("numa"):
            number, *pages, cpus = [*line.split(), "", ""][:4]
            if (node := _number(number)) is not None:
                found[node] = NumaNode(_huge_pages(pages), cpus)
        return found

    @cached_property
    def certificates(self) -> dict[str, datetime | None]:
        """The times at which certificates of etcd and Kubernetes expire, by path; None if openssl did not tell it."""
        return {path: _date(end) for path, _, end in (line.partition(" ") for line in self.all("certificate"))}

    def mtu(self, address: str) -> int | None:
        """Returns the MTU of the interface with an address; None if no interface has it."""
        by_interface = {name: _number(mtu) for name, _, mtu in (line.partition(" ") for line in self.all("mtu"))}
        for line in self.all("address"):
            interface, _, written = line.partition(" ")
            if _ip(written) == address:
                return by_interface.get(interface)
        return None


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None


def _huge_pages(written: Sequence[str]) -> HugePages:
    total, free = ([_number(each) or 0 for each in written] + [0, 0])[:2]
    return HugePages(total, free)


def _date(text: str) -> datetime | None:
    """Returns a time as openssl writes it, such as "Nov 24 00:00:00 2026 GMT"."""
    try:
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(text), UTC)
    except ValueError:
        return None


def _ip(text: str) -> str | None:
    """Returns the address of an interface's address, such as 10.0.0.1 of 10.0.0.1/24."""
    try:
        return str(IPv4Interface(text).ip)
    except ValueError:
        return None


def parse(output: str) -> ReadFacts:
    """Returns the facts that the probe printed. Raises IncompleteError if the probe did not end."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in output.splitlines():
        key, tab, value = line.partition("\t")
        if tab and value:
            found[key].append(value.strip())
    if "end" not in found:
        raise IncompleteError(output)
    return ReadFacts(found)
