"""Options of the OpenSSH client for logins to machines, with the host keys of the stack file and nothing else.

The user's and the system's SSH configuration are not read, so that the result does not depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator

CONNECT = 10
"""Seconds until a connection attempt fails."""


def options(known_hosts: str) -> Iterator[str]:
    """Yields the words of the options. `known_hosts`: path of the file with the public keys of hosts."""
    yield from ("-F", "none", "-T")
    for option in (
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        f'UserKnownHostsFile="{known_hosts}"',
        "GlobalKnownHostsFile=none",
        "CheckHostIP=no",
        f"ConnectTimeout={CONNECT}",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
        "ClearAllForwardings=yes",
        "LogLevel=ERROR",
    ):
        yield from ("-o", option)
