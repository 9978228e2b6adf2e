"""Answers queries for A records on port 53, as the cluster's DNS does for headless Services. Runs in a test bed.

Arguments: pairs of a name and an address. A name may have several addresses.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping, Sequence

_HEADER = 12
_A, _IN, _TTL = 1, 1, 5
_RESPONSE, _NO_SUCH_NAME = 0x8180, 0x8183


def answer(query: bytes, records: Mapping[str, Sequence[str]]) -> bytes:
    """Returns the answer to a query with one question (RFC 1035, 4.1)."""
    end = query.index(b"\0", _HEADER) + 5
    labels: list[str] = []
    place = _HEADER
    while query[place]:
        labels.append(query[place + 1 : place + 1 + query[place]].decode())
        place += 1 + query[place]
    known = records.get(".".join(labels).lower())
    wanted = int.from_bytes(query[end - 4 : end - 2]) == _A
    addresses = known if known and wanted else ()
    counts = b"".join(number.to_bytes(2) for number in (1, len(addresses), 0, 0))
    flags = (_RESPONSE if known else _NO_SUCH_NAME).to_bytes(2)
    fixed = b"\xc0\x0c" + _A.to_bytes(2) + _IN.to_bytes(2) + _TTL.to_bytes(4) + (4).to_bytes(2)
    return (
        query[:2] + flags + counts + query[_HEADER:end] + b"".join(fixed + socket.inet_aton(each) for each in addresses)
    )


def main(arguments: Sequence[str]) -> None:
    records: dict[str, list[str]] = {}
    for name, address in zip(arguments[::2], arguments[1::2], strict=True):
        records.setdefault(name, []).append(address)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 53))
        while True:
            query, client = server.recvfrom(4096)
            server.sendto(answer(query, records), client)


if __name__ == "__main__":
    main(sys.argv[1:])
