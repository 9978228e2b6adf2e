"""Writes servers as entries of quorate:servers: a run of like servers with consecutive numbers is one pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from blueprint.imports import placeholders
from blueprint.patterns import LARGEST
from blueprint.stackfile.servers import Role

_SHORTEST_RUN = 4
"""Servers of the shortest run that is written as a pattern. Fewer, such as three masters, are often edited alone."""
_NUMBER = re.compile(r"([^0-9.]*(?:[0-9]+[^0-9.]+)*)([0-9]{1,9})([^0-9.]*(?:\..*)?)")
"""A name as the text before its number, the number, and the text after: the number is the last one before a domain."""


@dataclass
class ImportedServer:
    """A server of another deployer's file."""

    name: str
    roles: list[Role]
    address: str
    rack: str | None = None


def entries(servers: Iterable[ImportedServer]) -> Iterator[dict[str, object]]:
    """Yields the entries of quorate:servers, in the order of the servers."""
    run: list[ImportedServer] = []
    for server in servers:
        if run and (len(run) == LARGEST or not _follows(run[-1], server, run[0])):
            yield from _of_run(run)
            run = []
        run.append(server)
    yield from _of_run(run)


def _follows(last: ImportedServer, server: ImportedServer, first: ImportedServer) -> bool:
    """Whether the number and the address of a server follow those of the last one in a run, and nothing else differs.

    `first`: of the run, whose number has the width of all of them in a pattern.
    """
    one, other, start = _parts(last.name), _parts(server.name), _parts(first.name)
    if one is None or other is None or start is None or (last.roles, last.rack) != (server.roles, server.rack):
        return False
    number = int(one[1]) + 1
    return (
        other == (one[0], str(number).zfill(len(start[1])), one[2])
        and int(IPv4Address(server.address)) == int(IPv4Address(last.address)) + 1
    )


def _parts(name: str) -> tuple[str, str, str] | None:
    found = _NUMBER.fullmatch(name)
    return (found[1], found[2], found[3]) if found else None


def _of_run(run: Sequence[ImportedServer]) -> Iterator[dict[str, object]]:
    first, last = (_parts(run[0].name), _parts(run[-1].name)) if run else (None, None)
    if first and last and len(run) >= _SHORTEST_RUN:
        number = {} if int(first[1]) == 1 else {"countFrom": int(first[1])}
        yield _entry(run[0], f"{first[0]}[{first[1]}-{last[1]}]{first[2]}", number)
    else:
        for server in run:
            yield _entry(server, server.name, {})


def _entry(server: ImportedServer, name: str, number: dict[str, int]) -> dict[str, object]:
    rack = {"rack": server.rack} if server.rack else {}
    head = {"name": name, "address": server.address, **number}
    return {**head, "roles": [*server.roles], **placeholders.HARDWARE, **rack}
