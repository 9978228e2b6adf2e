"""Builds command lines of the OpenSSH client, and the known_hosts text with the public keys that it accepts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from blueprint.stackfile.settings import Ssh
from formats.ssh_options import options


def words(address: str, ssh: Ssh, known_hosts: str) -> list[str]:
    """Returns the words of a command line that logs in to a machine, without the command to run there.

    `known_hosts`: the file with the public keys of hosts. The user's own configuration is not read.
    """
    found = list(options(known_hosts))
    if jump := ssh.jump_host:
        proxy = ["ssh", *found, "-p", str(jump.port), "-l", jump.user, "-W", "[%h]:%p", jump.host]
        found += ["-o", f"ProxyCommand={shlex.join(proxy)}"]
    return ["ssh", *found, "-p", str(ssh.port), "-l", ssh.user, address]


def known_hosts(keys: Mapping[str, str], ssh: Ssh) -> str:
    """Returns the text of a file of known hosts. `keys`: public host keys by address."""
    lines = [f"{_name(address, ssh.port)} {key.strip()}" for address, key in sorted(keys.items())]
    if jump := ssh.jump_host:
        lines.append(f"{_name(jump.host, jump.port)} {jump.host_key.strip()}")
    return "".join(f"{line}\n" for line in lines)


def _name(host: str, port: int) -> str:
    return host if port == 22 else f"[{host}]:{port}"
