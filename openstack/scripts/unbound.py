"""What the Python library `ovs` uses of the module unbound, so that Neutron resolves the names of OVN's members.

The library connects to names only with this module, which Kolla's images do not have. Here the system resolves them,
as for every other connection of Neutron. The library's own module (ovs/dns_resolve.py) calls what is below.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

RR_TYPE_A, RR_TYPE_AAAA = 1, 28
_TTL = 5
"""Seconds for which the library keeps an address: a pod that starts again has another one. CoreDNS says so too."""


class RawAddresses:
    def __init__(self, addresses: list[str]) -> None:
        self._addresses = addresses

    def as_raw_data(self) -> list[str]:
        return self._addresses


class Resolution:
    def __init__(self, qtype: int, addresses: list[str]) -> None:
        self.qtype, self.havedata, self.ttl, self.data = qtype, bool(addresses), _TTL, RawAddresses(addresses)


class ub_ctx:  # noqa: N801 - the name in the module
    def config(self, _file: str) -> int:
        return 0

    def resolvconf(self, _file: str | None) -> int:
        return 0

    def hosts(self, _file: str | None) -> int:
        return 0

    def set_async(self, _threads: bool) -> None:
        """Names are resolved at once, also where the library would come back for the answer."""

    def process(self) -> int:
        return 0

    def resolve(self, name: str, qtype: int) -> tuple[int, Resolution]:
        family = socket.AF_INET if qtype == RR_TYPE_A else socket.AF_INET6
        try:
            found = socket.getaddrinfo(name, None, family, socket.SOCK_STREAM)
        except OSError:
            return 0, Resolution(qtype, [])
        return 0, Resolution(qtype, [str(each[4][0]) for each in found])

    def resolve_async(
        self, name: str, request: object, callback: Callable[[object, int, Resolution], object], qtype: int
    ) -> tuple[int, int]:
        error, result = self.resolve(name, qtype)
        callback(request, error, result)
        return 0, 0


def ub_strerror(error: int) -> str:
    return f"error {error}"
